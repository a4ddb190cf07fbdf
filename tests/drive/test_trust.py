"""Which drive it is that was proven, and what is left out of the counters of one that is not trusted."""

from pathlib import Path

import pytest

from pgassay.drive.smart import BelievedMounts, identity_of
from pgassay.interfaces.drive_counters import SMART, Counted, DriveCounters, Trust
from pgassay.interfaces.places import Mount

COUNTED = {"host_bytes_written": 5.0, "nand_bytes_written": 7.0, "physical_bytes": 3.0}
FAILED = Trust(16 << 30, "2026-01-02", "nand_bytes_written moved by 0B while 8GB of random data were written")


@pytest.mark.parametrize(
    ("device", "files", "found"),
    [
        ("nvme7n1", {"device/model": "Some  SSD \n", "device/serial": " 123\n", "wwid": "eui.1"}, "Some SSD 123"),
        ("nvme7n1", {"device/model": "Some SSD", "wwid": "eui.1\n"}, "eui.1"),
        ("sdz", {"device/model": "Disk", "device/wwid": "naa.5\n"}, "naa.5"),
        ("vdz", {"serial": "abc\n"}, "abc"),
        ("loop77", {"loop/backing_file": "/var/disk\n"}, "loop device over /var/disk"),
        ("nvme7n1", {"device/model": "Some SSD"}, ""),
        ("absent", {}, ""),
    ],
)
def test_a_drive_is_known_by_what_it_says_of_itself(
    tmp_path: Path, device: str, files: dict[str, str], found: str
) -> None:
    for name, text in files.items():
        (tmp_path / device / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / device / name).write_text(text)
    assert identity_of(Path("/dev") / device, tmp_path) == found


def test_a_partition_is_its_drive(tmp_path: Path) -> None:
    part = tmp_path / "devices" / "sdz" / "sdz1"
    part.mkdir(parents=True)
    (part / "partition").write_text("1")
    (part.parent / "serial").write_text("123")
    (tmp_path / "sdz1").symlink_to(part)
    assert identity_of(Path("/dev/sdz1"), tmp_path) == "123"


class Counting:
    """Two drives, of which the first has two partitions."""

    def __init__(self) -> None:
        self._drives: dict[str, DriveCounters] = {"/dev/a": lambda: COUNTED, "/dev/b": lambda: COUNTED}

    def of(self, device: str) -> DriveCounters | None:
        return self._drives.get(device[:6])


def believed(device: str, **known: Trust) -> tuple[str, Counted]:
    mounts = BelievedMounts(Counting(), lambda drive: known.get(drive), lambda path: path.name[0])
    found = mounts.of(device)
    assert found is not None
    return found.words, found()


def test_nand_writes_of_a_drive_that_is_not_trusted_are_left_out() -> None:
    words, counted = believed("/dev/a1", a=FAILED)
    assert words == (
        "not trusted, because nand_bytes_written moved by 0B while 8GB of random data were written"
        " (proof of 2026-01-02)"
    )
    assert counted == {"host_bytes_written": 5.0, "physical_bytes": 3.0}


def test_a_drive_that_was_proven_or_never_tried_is_taken_as_it_is() -> None:
    assert believed("/dev/a1", a=Trust(16 << 30, "2026-01-02"), b=FAILED) == ("proven by 16GB on 2026-01-02", COUNTED)
    assert believed("/dev/a1", b=FAILED) == ("not proven", COUNTED)


def test_partitions_of_a_drive_are_one_and_what_counts_nothing_is_nothing() -> None:
    mounts = BelievedMounts(Counting(), identity=lambda path: "")

    def mounted(device: str) -> dict[str, DriveCounters]:
        return dict(mounts(Mount(Path("/d"), Path("/"), "ext4", device, "rw", 1, 1, reflink=False)))

    assert mounted("/dev/a1")[SMART] is mounted("/dev/a2")[SMART]
    assert mounted("/dev/a1")[SMART] is not mounted("/dev/b1")[SMART]
    assert mounted("/dev/c1") == {}
