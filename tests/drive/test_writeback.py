"""Write-back: nothing of a written file is dirty afterwards, and a failure is reported."""

from pathlib import Path

import pytest

from pgassay.drive import copying


def test_a_file_system_is_written_back_wherever_it_is_asked(tmp_path: Path) -> None:
    file = tmp_path / "file"
    with file.open("wb") as opened:
        opened.write(bytes(1 << 20))
        opened.flush()
        copying.begin(opened.fileno())
    copying.sync_filesystem(tmp_path)
    assert file.stat().st_blocks * 512 >= 1 << 20, "delayed allocation has happened"


def test_a_path_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        copying.sync_filesystem(tmp_path / "gone")


def test_beginning_is_only_a_hint() -> None:
    copying.begin(-1)
