"""`drive.data`: parsed, asked for, read back from the server."""

from pathlib import Path
from typing import Any

import pytest

from pgassay.drive import options
from pgassay.drive.block import kernel
from pgassay.drive.options import FACTORS, DriveOptions
from pgassay.errors import UsageError
from pgassay.interfaces.factor import Readable, SetupDraft
from pgassay.interfaces.places import MountEntry
from tests.packages import Install

DRIVE = FACTORS["drive.data"]


class Server:
    """A server that only says where its data are."""

    def __init__(self, data_directory: str) -> None:
        self.data_directory = data_directory

    def query(self, sql: str, parameters: Any = ()) -> list[tuple[Any, ...]]:
        assert sql == "SHOW data_directory"
        return [(self.data_directory,)]


def read_back(typed: str, data_directory: str) -> str | None:
    server: Any = Server(data_directory)
    return DRIVE.read_back("drive.data", DRIVE.parse("drive.data", typed), Readable(server))


def test_the_path_is_made_absolute_and_typed_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    level = DRIVE.parse("drive.data", "directory:x")
    assert (level.typed, level.canonical) == ("directory:x", f"directory:{tmp_path}/x")
    assert Path(level.canonical.removeprefix("directory:")) == tmp_path / "x"


@pytest.mark.parametrize("typed", ["/mnt", "directory:", "ssd:/mnt"])
def test_anything_else_is_refused_with_what_would_do(typed: str) -> None:
    with pytest.raises(UsageError, match="is not a drive") as caught:
        DRIVE.parse("drive.data", typed)
    assert caught.value.hint is not None
    assert "directory:PATH" in caught.value.hint


def test_the_setup_asks_for_it(tmp_path: Path) -> None:
    setup = SetupDraft()
    DRIVE.prepare("drive.data", DRIVE.parse("drive.data", f"directory:{tmp_path}"), setup)
    assert setup.drive == {"data": f"directory:{tmp_path}"}


def test_the_server_tells_where_it_really_is() -> None:
    assert read_back("directory:/mnt", "/mnt/pgassay/sessions/lab-1/trial-1") == "directory:/mnt"
    assert read_back("directory:/mnt", "/srv/pgassay/sessions/lab-1/t") == "directory:/srv"


def test_a_codec_that_is_none_is_asked_for() -> None:
    """`none` is a codec here, not the level that asks for nothing."""
    setup, factor = SetupDraft(), FACTORS["drive.data.codec"]
    factor.prepare("drive.data.codec", factor.parse("drive.data.codec", "none"), setup)
    assert setup.drive == {"data.codec": "none"}
    assert factor.parse("drive.data.codec", "zstd-03").canonical == "zstd-3"


def test_levels_keep_their_canonical_text() -> None:
    """Records and the keys of snapshots hold it."""
    levels = {"data": "csd", "data.capacity": "1GB", "data.over_provisioning": "7%", "data.store_bytes": "1.5GB"}
    levels |= {"data.mkfs": " -b  1024", "data.mount_options": "noatime, discard", "check": "on", "live_share": "90%"}
    canonical = {name: FACTORS[f"drive.{name}"].parse(f"drive.{name}", text).canonical for name, text in levels.items()}
    assert canonical == {
        "data": "csd",
        "data.capacity": "1073741824B",
        "data.over_provisioning": "0.07",
        "data.store_bytes": "1610612736B",
        "data.mkfs": "-b 1024",
        "data.mount_options": "discard,noatime",
        "check": "on",
        "live_share": "0.9",
    }
    assert DriveOptions.from_levels(canonical) == DriveOptions.from_levels(levels)


@pytest.mark.parametrize(
    ("levels", "hint"),
    [
        ({}, "drive.state=fresh"),
        ({"data": "image"}, "drive.state=fresh"),
        ({"data": "csd", "wal": "directory:/mnt"}, "drive.state=fresh"),
        ({"data": "device:/dev/nvme9n1"}, "drive.state=fresh"),
        ({"data": "csd", "wal": "device:/dev/nvme9n1"}, "drive.state=fresh"),
    ],
)
def test_what_cannot_be_aged_is_refused_and_not_ignored(levels: dict[str, str], hint: str) -> None:
    DriveOptions.from_levels(levels)
    with pytest.raises(UsageError, match="cannot be") as caught:
        DriveOptions.from_levels({**levels, "state": "aged"})
    assert caught.value.hint is not None
    assert hint in caught.value.hint


@pytest.mark.parametrize("owner", ["data", "wal"])
@pytest.mark.parametrize(("option", "value"), [("cache", "volatile"), ("flush", "lies"), ("timing", "sata-ssd")])
def test_what_only_emulated_drives_do_names_the_drive_that_is_none_and_its_remedy(
    owner: str, option: str, value: str
) -> None:
    """It once named neither: `drive.wal=directory` under `pgassay drive cut` looked like a fault of the data's."""
    levels = {"data": "ssd", owner: "image", option: value}
    with pytest.raises(UsageError, match=f'kind image, as "drive.{owner}" is') as caught:
        DriveOptions.from_levels(levels)
    assert f"set drive.{owner}=ssd" in (caught.value.hint or "")
    assert DriveOptions.from_levels({**levels, owner: "ssd"}).drives
    assert ("drive.wal=beside" in (caught.value.hint or "")) is (owner == "wal")
    assert DriveOptions.from_levels({**levels, "data": "ssd", "wal": "beside"}).wal is None


def test_a_real_drive_may_be_declared(tmp_path: Path) -> None:
    level = DRIVE.parse("drive.data", f"compressing = directory:{tmp_path}")
    assert level.canonical == f"compressing=directory:{tmp_path}"
    assert DriveOptions.from_levels({"data": level.canonical}).data.path == tmp_path
    where = f"{tmp_path}/pgassay/sessions/lab-1/t"
    assert read_back(f"compressing=directory:{tmp_path}", where) == level.canonical
    assert read_back("normal=directory:/mnt", where) == f"normal=directory:{tmp_path}"


def test_a_package_adds_a_disk_by_its_name(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match='no installed package adds a drive "thick"') as caught:
        DRIVE.parse("drive.data", "plugin:thick")
    assert "none" in str(caught.value.hint)
    code = "from pgassay.drive.block.image import *\nTHICK = PluginDrive(ImageVolume, 'allocated before')"
    install("pg-sample", "[pgassay.drives]\nthick = sample_thick:THICK\n", code, "sample_thick")
    assert DRIVE.parse("drive.data", " plugin:thick").canonical == "plugin:thick"
    asked = DriveOptions.from_levels({"data": "compressing=plugin:thick", "data.capacity": "1GB"}).data
    assert (asked.label, str(asked.place), asked.capacity_bytes) == (
        "plugin:thick",
        "compressing=plugin:thick",
        1 << 30,
    )
    install("pg-odd", "[pgassay.drives]\na/b = sample_thick:THICK\n")
    for wrong in ("plugin:", "plugin:thin", "plugin", "plugin:a/b"):
        with pytest.raises(UsageError, match="drive") as caught:
            DRIVE.parse("drive.data", wrong)
    with pytest.raises(UsageError, match=r'"drive\.data\.codec" does not apply'):
        DriveOptions.from_levels({"data": "plugin:thick", "data.codec": "lz4"})


@pytest.mark.parametrize(
    ("file", "found"), [("disk.img", "image"), ("plugin:thick.img", "plugin:thick"), ("else.img", None)]
)
def test_a_disk_in_a_file_is_read_back_by_the_file(
    file: str, found: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of whatever was asked."""
    entry = MountEntry(tmp_path / "mnt", "ext4", "/dev/loop7", ("rw",), "7:7")
    monkeypatch.setattr(kernel, "mount_over", lambda place: entry)
    monkeypatch.setattr(kernel, "backing_file", lambda device: tmp_path / file)
    assert options.drive_at(tmp_path / "mnt" / "data", "image") == (found or f"directory:{tmp_path}/mnt/data")


@pytest.mark.parametrize("typed", ["normal=csd", "compressing=image", "normal=beside", "normal=normal=directory"])
def test_what_is_known_is_not_declared(typed: str) -> None:
    with pytest.raises(UsageError):
        DRIVE.parse("drive.data", typed)


def test_a_wal_beside_the_data_has_no_drive_of_its_own() -> None:
    wal = FACTORS["drive.wal"]
    assert wal.parse("drive.wal", "beside").canonical == "beside"
    assert DriveOptions.from_levels({"data": "csd", "wal": "beside"}) == DriveOptions.from_levels({"data": "csd"})
    with pytest.raises(UsageError, match="is not a drive"):
        DRIVE.parse("drive.data", "beside")
    with pytest.raises(UsageError, match="needs"):
        DriveOptions.from_levels({"data": "csd", "wal": "beside", "wal.filesystem": "xfs"})
    server: Any = Server("/no/such/place")
    assert wal.read_back("drive.wal", wal.parse("drive.wal", "beside"), Readable(server)) == "beside"


@pytest.mark.parametrize("place", ["directory:/mnt", "normal=device:/dev/nvme9n1"])
def test_a_real_drive_is_as_large_as_it_is(place: str) -> None:
    """Studies that fit emulated drives to the data run on real ones, too."""
    assert DriveOptions.from_levels({"data": place, "data.capacity": "auto"}).data.capacity_bytes is None
    with pytest.raises(UsageError, match="does not apply"):
        DriveOptions.from_levels({"data": place, "data.capacity": "1GB"})


PAGE_MAPPED, COMPRESSING = '[drive]\nkind = "page-mapped"\n', '[drive]\nkind = "compressing"\n'


@pytest.mark.parametrize(
    ("text", "more", "role"),
    [
        (PAGE_MAPPED, {}, "normal"),
        (COMPRESSING, {}, "compressing"),
        (COMPRESSING, {"data.codec": "none"}, "normal"),
        (PAGE_MAPPED, {"data.codec": "lz4"}, "normal"),  # the host's program compresses, the flash does not
    ],
)
def test_a_described_drive_is_declared_as_what_it_is(
    tmp_path: Path, text: str, more: dict[str, str], role: str
) -> None:
    """A record is judged without the description's file, so the word has to be in the level."""
    file = tmp_path / "mine.toml"
    file.write_text(text)
    level = DRIVE.parse("drive.data", f"{role}={file}")
    assert level.canonical.startswith(f"{role}=description:{file}#")
    assert DriveOptions.from_levels({"data": level.canonical, **more}).data.label == "mine"
    other = {"normal": "compressing", "compressing": "normal"}[role]
    with pytest.raises(UsageError, match=f"what its description says: a drive that is {role}"):
        DriveOptions.from_levels({"data": f"{other}={file}", **more})


@pytest.mark.parametrize(
    "options",
    [
        "/dev/sda", "-d/root", "-d root", "-b 4096 -d ../root", "-d name=disk", "-d file=1,name=disk", "-J device=sda",
        "-J size=64,device=sda", "-l logdev=/dev/sda,size=100m", "-l logdev=sda", "-l bad", "-r rtdev=sda", "-r root",
        "-p prototype", "-cprototype", "--rootdir=root", "--rootdir root", "-z undo", "-K sda", "-b 4096 sda", "-b",
        "-O -d",
    ],
)  # fmt: skip
def test_mkfs_is_given_no_file_and_no_device(options: str) -> None:
    """It runs as root, whoever wrote the study: it wrote on other devices, and copied closed directories."""
    with pytest.raises(UsageError, match="is not an option of mkfs that can be given here"):
        FACTORS["drive.data.mkfs"].parse("drive.data.mkfs", options)


@pytest.mark.parametrize(
    "options",
    [
        "-b 4096 -O ^has_journal", "-b4096", "-b size=4096", "-J size=64", "-m reflink=0 -i size=512", "-d agcount=4",
        "-d su=64k,sw=4 -l size=64m", "-d single -m dup --nodesize 16384 --csum=xxhash", "-O bigalloc -C 16384",
        "-E stride=4,stripe_width=16 -I 256 -N 1000",
    ],
)  # fmt: skip
def test_mkfs_is_given_what_says_how_a_file_system_is(options: str) -> None:
    assert FACTORS["drive.data.mkfs"].parse("drive.data.mkfs", options).canonical == options
