"""Write-back: nothing of a written file is dirty afterwards, and a failure is reported."""

import tempfile
from pathlib import Path

import pytest

from pgassay import copying
from tests.drive.places import on_fakes


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


@pytest.mark.parametrize("wal_is_apart", [True, False])
def test_a_set_writes_back_each_of_its_file_systems_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wal_is_apart: bool
) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm" if wal_is_apart else tmp_path) as elsewhere:
        if wal_is_apart and Path(elsewhere).stat().st_dev == tmp_path.stat().st_dev:
            pytest.skip("temporary files are in memory, where the other file system should be")
        drive = on_fakes(tmp_path / "data", f"directory:{tmp_path}", f"directory:{elsewhere}")
        directory = drive.workspace("prepare")
        (directory / "pg_wal").mkdir()
        drive.lay_out(directory)
        written: list[Path] = []
        monkeypatch.setattr(copying, "sync_filesystem", written.append)
        drive.write_back(directory)
        places = [directory, (directory / "pg_wal").resolve()]
        assert written == (places if wal_is_apart else places[:1])
        drive.release()
