"""Discards and trims of a device, and where there are none."""

from pathlib import Path

import pytest

from pgassay.drive.block.preparation import discard, require_trimmable
from pgassay.errors import UsageError
from tests.fakes.runner import FakeRunner


def test_a_device_that_takes_no_discard_says_why() -> None:
    refusing = FakeRunner({"blkdiscard": lambda arguments, given: (1, "", "Operation not supported\n")})
    assert discard(Path("/dev/nvme7n1"), refusing) == "Operation not supported"


@pytest.mark.parametrize(("limit", "refused"), [("0", True), ("4294966784", False)])
def test_a_device_that_takes_no_discards_is_not_trimmed(tmp_path: Path, limit: str, refused: bool) -> None:
    for name in ("nvme7n1", "nvme7n1/nvme7n1p1"):
        (tmp_path / name).mkdir()
    (tmp_path / "nvme7n1p1").symlink_to(tmp_path / "nvme7n1" / "nvme7n1p1")
    (tmp_path / "nvme7n1" / "queue").mkdir()
    (tmp_path / "nvme7n1" / "queue" / "discard_max_bytes").write_text(limit + "\n")
    for name in ("nvme7n1", "nvme7n1p1"):
        if refused:
            with pytest.raises(UsageError, match="takes no discards"):
                require_trimmable(Path("/dev") / name, "--trim", tmp_path)
        else:
            require_trimmable(Path("/dev") / name, "--trim", tmp_path)
