"""The parts of block drives that need no root: levels, file system answers, mountinfo, memory groups, sizes."""

from pathlib import Path

import pytest

from pgassay.drive.block import daemon, kernel
from pgassay.drive.block.filesystems import KINDS, Filesystem, confirmed
from pgassay.drive.block.image import copy_image
from pgassay.drive.options import (
    FACTORS,
    DriveOptions,
    dilation_in_stats,
    drive_at,
    in_stats,
    options_held,
    timing_in_stats,
)
from pgassay.errors import UsageError
from pgassay.interfaces.errors import DriveError, SpaceError
from pgassay.interfaces.places import MountEntry, parse_mountinfo
from tests.drive.places import on_fakes
from tests.fakes.runner import FakeRunner

DUMPE2FS = """Filesystem volume name:   pgassay-ab12
Filesystem features:      has_journal ext_attr resize_inode
Block size:               4096
Inode size:\t          256
Total journal size:       64M
"""
XFS_INFO = """meta-data=/dev/loop1             isize=512    agcount=4, agsize=32768 blks
         =                       reflink=1    bigtime=1 inobtcount=1 nrext64=0
data     =                       bsize=4096   blocks=131072, imaxpct=25
naming   =version 2              bsize=8192   ascii-ci=0, ftype=1
"""
MOUNTINFO = """22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
30 22 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
41 22 7:3 / /data/a\\040b/mnt rw,noatime - xfs /dev/loop3 rw,nouuid
"""


@pytest.mark.parametrize(
    ("kind", "said", "options", "holds"),
    [
        ("ext4", DUMPE2FS, "-b 4096 -J size=64", True),
        ("ext4", DUMPE2FS, "-b 4k", True),
        ("ext4", DUMPE2FS, "-b 1024", False),
        ("ext4", DUMPE2FS, "-O ^has_journal", False),
        ("ext4", DUMPE2FS, "-O ^dir_index", True),
        ("ext4", DUMPE2FS, "-O has_journal", True),
        ("ext4", DUMPE2FS, "-O bigalloc -C 16384", False),
        ("ext4", f"{DUMPE2FS}Cluster size:             16384\n", "-C 16384", True),
        ("ext4", DUMPE2FS, "-m 0", None),
        ("xfs", XFS_INFO, "-b size=4096 -i size=512", True),
        ("xfs", XFS_INFO, "-m reflink=0", False),
        ("xfs", "", "-b size=4096", None),
    ],
)
def test_what_a_file_system_says_of_itself_confirms_options(
    kind: str, said: str, options: str, holds: bool | None
) -> None:
    assert confirmed(KINDS[kind], options.split(), said) is holds


@pytest.mark.parametrize("mounted_as", ["by-id", "disk"])
def test_a_device_is_read_back_as_asked_whichever_of_its_names_is_mounted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mounted_as: str
) -> None:
    """The system call keeps a link's name, mount(8) does not, and two treatments may name one device in two ways."""
    stable = tmp_path / "by-id"
    stable.symlink_to(tmp_path / "disk")
    entry = MountEntry(Path("/x/mnt"), "ext4", str(tmp_path / mounted_as), ("rw",), "7:1")
    monkeypatch.setattr(kernel, "mount_over", lambda path: entry)
    for level in (f"device:{stable}", f"device:{tmp_path / 'disk'}", f"normal=device:{stable}"):
        assert drive_at(Path("/x/mnt/pgassay"), level) == level
    found = drive_at(Path("/x/mnt/pgassay"), "device:/dev/other")
    assert found == f"device:{entry.source}", "another device is told"


@pytest.mark.parametrize(
    ("name", "options", "shares"),
    [
        ("ext4", "", False),
        ("btrfs", "", True),
        ("xfs", "", True),
        ("xfs", "-i size=1024 -m reflink=1", True),
        ("xfs", "-m rmapbt=0,reflink=0", False),
        ("xfs", "-m crc=0", False),
    ],
)
def test_clones_share_their_blocks_as_a_file_system_is_made(name: str, options: str, shares: bool) -> None:
    assert Filesystem(name, tuple(options.split())).shares_blocks is shares


@pytest.mark.parametrize(
    ("level", "options", "found"),
    [
        ("discard,noatime", ("rw", "noatime", "discard"), "discard,noatime"),
        ("nodiscard", ("rw", "relatime"), "nodiscard"),
        ("nodiscard", ("rw", "discard"), "discard,rw"),
        ("noatime", ("rw", "relatime"), "relatime,rw"),
        ("commit=5", ("rw",), None),
        ("commit=5", ("rw", "commit=60"), "commit=60,rw"),
    ],
)
def test_mount_options_are_compared_with_the_kernels(level: str, options: tuple[str, ...], found: str | None) -> None:
    assert options_held(options, level) == found


def test_a_drives_own_answer_is_compared_in_the_levels_form() -> None:
    stats = {
        "codec": "lz4",
        "policy": "cost_benefit",
        "flash": {"over_provisioning": 0.28},
        "store_bytes": (1 << 30) + 4096,
    }
    assert in_stats(stats, "codec", "zstd-1") == "lz4"
    assert in_stats(stats, "policy", "cost-benefit") == "cost-benefit"
    assert in_stats(stats, "over_provisioning", "0.28") == "0.28"
    assert in_stats(stats, "store_bytes", "1073741824B") == "1073741824B", "whole segments"
    assert in_stats(stats, "store_bytes", "536870912B") == "1073745920B"
    assert in_stats({}, "codec", "lz4") is None
    rounded = {"over_provisioning": 0.0698, "superblock_bytes": 1 << 20, "user_bytes": 1 << 30}
    assert in_stats(rounded, "over_provisioning", "0.07") == "0.07", "whole superblocks"
    assert in_stats(rounded, "over_provisioning", "0.08") == "0.0698"


def test_mountinfo_is_read_with_its_escapes() -> None:
    last = parse_mountinfo(MOUNTINFO)[-1]
    assert (last.point, last.filesystem, last.source) == (Path("/data/a b/mnt"), "xfs", "/dev/loop3")
    assert {"noatime", "nouuid"} <= set(last.options)


def test_a_file_that_a_process_closes_meanwhile_hides_none_of_its_others(tmp_path: Path) -> None:
    """Asked of our own process, the listing of its files is one that is closed by then."""
    for pid in ("7", "8"):
        (tmp_path / pid / "fd").mkdir(parents=True)
        (tmp_path / pid / "comm").write_text("worker\n")
        (tmp_path / pid / "cwd").symlink_to("/")
        (tmp_path / pid / "root").symlink_to("/")
        (tmp_path / pid / "fd" / "3").touch()  # a descriptor that is gone can be read as little as this
    (tmp_path / "8" / "fd" / "4").symlink_to("/data/mnt/held")
    assert kernel.holders(Path("/data/mnt"), tmp_path) == ["worker (process 8)"]


@pytest.mark.parametrize(("text", "limit"), [("9223372036854771712\n", None), ("1073741824\n", 1 << 30)])
def test_the_root_memory_group_is_found_with_its_limit(tmp_path: Path, text: str, limit: int | None) -> None:
    (tmp_path / "memory.limit_in_bytes").write_text(text)
    entry = MountEntry(tmp_path, "cgroup", "cgroup", ("rw", "memory"), "0:26")
    found = daemon.root_group([entry])
    assert found is not None
    assert (found.processes, found.limit_bytes) == (tmp_path / "cgroup.procs", limit)
    assert daemon.root_group([]) is None


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ({"wal.filesystem": "ext4"}, "needs"),
        ({"data": "directory:/x", "data.mkfs": "-b 4096"}, "does not apply to a directory"),
        ({"data": "image", "data.codec": "lz4"}, "kind image"),
        ({"data": "device:/dev/x", "data.capacity": "1GB"}, "kind device"),
        ({"data": "image", "timing": "tlc-nvme"}, "kind image"),
        ({"timing": "on"}, "kind directory"),
        ({"data": "csd", "wal": "image", "timing": "sata-ssd"}, "kind image"),
        ({"data": "csd", "timing": "volume-3000-iops"}, "disks and volumes do not"),
        ({"data": "directory", "timing": "volume-3000-iops"}, "kind directory"),
        ({"data": "csd", "timing": "hdd-7200"}, "disks and volumes do not"),
        ({"data": "csd", "dilation": "4"}, "drive.timing is off"),
        ({"dilation": "4"}, "drive.timing is off"),
        ({"data": "ssd", "wal": "csd", "timing": "hdd-7200"}, "disks and volumes do not"),
    ],
)
def test_levels_that_do_not_go_together_are_refused(wanted: dict[str, str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        DriveOptions.from_levels(wanted)


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("drive.data.filesystem", "vfat"),
        ("drive.data.mkfs", "/dev/sda"),
        ("drive.data.mkfs", "-F /dev/sda"),
        ("drive.data.mkfs", "ext4"),
        ("drive.data.mount_options", "ro"),
        ("drive.data.mount_options", "noatime,../x"),
        ("drive.data.capacity", "12"),
        ("drive.data.codec", "gzip"),
        ("drive.data.over_provisioning", "x%"),
        ("drive.data.over_provisioning", "-1"),
        ("drive.state", "old"),
        ("drive.timing", "fast"),
        ("drive.wal", "device:sda"),
        ("drive.wal", "missing.toml"),
    ],
)
def test_bad_levels_are_refused_with_what_would_do(name: str, typed: str) -> None:
    with pytest.raises(UsageError) as caught:
        FACTORS[name].parse(name, typed)
    assert caught.value.hint


@pytest.mark.parametrize("typed", ["0", "101", "1.5", "-2"])
def test_a_clock_is_slowed_by_a_whole_number(typed: str) -> None:
    with pytest.raises(UsageError, match="a whole number from 1 to 100"):
        FACTORS["drive.dilation"].parse("drive.dilation", typed)


@pytest.mark.parametrize(
    ("told", "level", "found"),
    [
        ({"timing": {"profile": "sata-ssd"}}, "sata-ssd", "sata-ssd"),
        ({"timing": {"profile": "sata-ssd"}}, "tlc-nvme", "sata-ssd"),
        ({"timing": {"profile": "sata-ssd"}}, "on", "on"),
        ({"timing": {"profile": "sata-ssd"}}, "off", "sata-ssd"),
        ({"timing": None}, "on", "off"),
        ({}, "off", "off"),
    ],
)
def test_the_drive_tells_which_service_times_it_has(told: dict[str, object], level: str, found: str) -> None:
    assert timing_in_stats(told, "timing", level) == found


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ({"timing": {"profile": "sata-ssd", "dilation": 4}}, "4"),
        ({"timing": {}}, "1"),
        ({"timing": None}, "1"),
        ({}, "1"),
    ],
)
def test_the_drive_tells_how_slow_its_clock_is(told: dict[str, object], found: str) -> None:
    assert dilation_in_stats(told, "dilation", "1") == found


def test_a_sparse_image_is_copied_without_its_holes(tmp_path: Path) -> None:
    image, copy = tmp_path / "image", tmp_path / "copy"
    with image.open("wb") as file:
        file.truncate(1 << 30)
        for place in (0, 4096 * 1000, (1 << 30) - 4096):
            file.seek(place)
            file.write(b"x" * 4096)
    copy_image(image, copy, share=False)
    assert copy.stat().st_blocks * 512 < 1 << 20
    with image.open("rb") as one, copy.open("rb") as other:
        for place in (0, 4096 * 999, 4096 * 1000, (1 << 30) - 4096):
            one.seek(place)
            other.seek(place)
            assert one.read(8192) == other.read(8192)
    with pytest.raises(FileExistsError):
        copy_image(image, copy, share=False)


def test_stores_that_do_not_fit_in_memory_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SpaceError, match="of memory"):
        on_fakes(tmp_path / "data", "csd", store_bytes=1 << 50)


def test_a_drive_too_small_for_its_file_system_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="too small"):
        on_fakes(tmp_path / "data", "image", data_filesystem="xfs", data_capacity="100MB")


def test_an_image_of_another_size_is_another_snapshot(tmp_path: Path) -> None:
    small = on_fakes(tmp_path / "data", "image", data_capacity="1GB")
    small.take_snapshot("k", small.workspace("prepare"))
    small.release()
    large = on_fakes(tmp_path / "data", "image", data_capacity="2GB")
    assert not large.has_snapshot("k"), "its treatments would run on drives of two sizes"
    large.release()
    again = on_fakes(tmp_path / "data", "image", data_capacity="1GB")
    assert again.has_snapshot("k")
    again.release()


def test_a_device_is_not_touched_unless_owned(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--i-own does not name it") as caught:
        on_fakes(tmp_path / "data", "device:/dev/null")
    assert caught.value.hint is not None
    assert "--i-own /dev/null" in caught.value.hint


def test_an_aged_drive_says_so_and_keeps_its_snapshot(tmp_path: Path) -> None:
    drive = on_fakes(tmp_path / "data", "csd", wal="ssd", state="aged")
    directory = drive.workspace("prepare")
    (directory / "file").write_text("golden")
    drive.take_snapshot("k", directory)
    clone = drive.clone("k", "wear")
    ageing = drive.ageing()
    assert ageing is not None
    ageing.begin()
    (clone / "file").write_text("worn")
    drive.discard(clone)
    ageing.finish("k")
    clone = drive.clone("k", "trial-1")
    assert (clone / "file").read_text() == "golden"
    assert drive.how_cloned().count("copy-on-write; aged") == 1
    told = drive.traits(clone)
    for source in ("drive", "drive_wal"):
        assert told[f"{source}.start"].found == "aged"
        assert told[f"{source}.settled_write_amplification"].found == 1.5
    assert all(trait.holds for trait in told.values())
    assert (told["drive.model"].asked, told["drive_wal.model"].asked) == ("compressing", "page-mapped")
    drive.discard(clone)
    drive.release()
    assert on_fakes(tmp_path / "data", "csd").ageing() is None


def test_a_missing_program_is_named_with_its_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(daemon.VARIABLE, str(tmp_path / "nothing"))
    with pytest.raises(DriveError, match="pgassay-drive, which emulates drives, is not installed"):
        daemon.find()


def test_mkfs_gets_our_options_first_and_the_users_last() -> None:
    runner = FakeRunner({"mkfs.xfs": lambda arguments, given: (0, "", "")})
    kernel.LinuxKernel(runner).make(Path("/dev/loop7"), Filesystem("xfs", ("-i", "size=1024")), "pgassay-test")
    assert list(runner.calls[0]) == [
        "mkfs.xfs",
        "-q",
        "-f",
        "-K",
        "-L",
        "pgassay-test",
        "-i",
        "size=1024",
        "/dev/loop7",
    ]


def test_a_daemon_is_not_taken_to_be_ready_because_an_earlier_one_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho 'pgassay-drive: there is no room' >&2\nexit 2\n")
    program.chmod(0o755)
    (tmp_path / daemon.LOG).write_text("ready\n")
    monkeypatch.setattr(daemon, "root_group", lambda: None)
    monkeypatch.setenv(daemon.VARIABLE, str(program))
    with pytest.raises(DriveError, match="there is no room"):
        daemon.RealDaemon().start(tmp_path, {})
