"""A drive that ran out of flash is named, whatever its file system says afterwards."""

import errno
from pathlib import Path

import pytest

from pgassay.bench.errors import ClusterError, SpaceError
from pgassay.lab.full_drives import named
from pgassay.testing.fakes.drive import FakeDrive

PLACE = Path("/drive/trial-1")
COUNTED = {"rejected_writes": 2.0, "host_bytes_written": 1e9}


def counting() -> tuple[FakeDrive, dict[str, float]]:
    """A drive, and what it has counted so far, to be changed."""
    drive, counted = FakeDrive(), dict(COUNTED)
    drive.counts = {"drive": lambda: dict(counted)}
    return drive, counted


@pytest.mark.parametrize(
    "failure",
    [OSError(errno.EROFS, "Read-only file system"), ClusterError("server did not start: read-only file system")],
)
def test_what_a_file_system_says_after_a_refused_write_is_no_space(failure: Exception) -> None:
    drive, counted = counting()

    def fails() -> None:
        counted["rejected_writes"] += 3
        raise failure

    with pytest.raises(SpaceError, match="refused 3 blocks") as caught, named(drive, PLACE):
        fails()
    assert "read-only" in caught.value.message
    assert caught.value.__cause__ is failure


def test_a_failure_of_which_the_drive_knows_nothing_stays_what_it_is() -> None:
    drive, _ = counting()
    with pytest.raises(OSError, match="Read-only"), named(drive, PLACE):
        raise OSError(errno.EROFS, "Read-only file system")
    with pytest.raises(ClusterError), named(FakeDrive(), PLACE):
        raise ClusterError("server did not start")
