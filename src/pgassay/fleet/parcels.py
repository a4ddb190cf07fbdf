"""Blocks on their way home: a trial is one archive of its record, series and raw outputs, named by its SHA-256.

The same trial always gives the same bytes (sorted names, no dates), and what comes home is looked at as something that
a stranger sent: names that lead out of the trial's directory, links and files of ours are refused.

The head commits blocks in the order of their numbers and trial by trial; killed in the middle, it must go on with the
rest of the very same block. So a block is kept whole and fsynced before its first trial is committed, and removed when
the design has gone on to the next one. `inbox/000007/` holds `block.json` and a file for each parcel.
"""

import hashlib
import io
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import msgspec

from pgassay.fleet import FleetError
from pgassay.interfaces.places import UserFiles
from pgassay.interfaces.probe import Sample
from pgassay.record import formats
from pgassay.record.disk import Disk, files_below
from pgassay.record.trials import OURS, SERIES_FILE, TRIAL_FILE
from pgassay.record.values import TrialRecord


@dataclass(frozen=True)
class Parcel:
    """A packed trial: which it is, its content's SHA-256, the content."""

    arm: str
    attempt: int
    sha256: str
    data: bytes


@dataclass(frozen=True)
class Arrived:
    block: int
    host: str
    parcels: tuple[Parcel, ...]

    def find(self, arm: str, attempt: int) -> Parcel:
        """The trial that the design asks for; raises `FleetError` where the block has none."""
        for each in self.parcels:
            if (each.arm, each.attempt) == (arm, attempt):
                return each
        raise host_failed(self.block, f"attempt {attempt} of {arm} is missing")


@dataclass(frozen=True)
class Unpacked:
    """A trial out of its parcel: its record without a number, its series, its raw outputs by relative name."""

    record: TrialRecord
    series: tuple[Sample, ...]
    files: Mapping[str, bytes]


def pack(
    disk: Disk, staging: Path, record: TrialRecord, series: Iterable[Sample], own: UserFiles | None = None
) -> Parcel:
    """Pack a trial whose tools wrote below `staging`; where they name copies of `own` files, it names the files."""
    own = own or UserFiles()
    from pgassay.record.series import frame, parquet

    files = {str(path.relative_to(staging)): disk.read(path) for path in files_below(disk, staging)}
    files = {name: own.with_user_paths_bytes(data) for name, data in files.items() if name not in OURS}
    files[TRIAL_FILE] = own.with_user_paths_bytes(formats.encode(record))
    files[SERIES_FILE] = parquet(frame(record.number, series))
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(files):
            member = tarfile.TarInfo(name)
            member.size = len(files[name])
            archive.addfile(member, io.BytesIO(files[name]))
    data = buffer.getvalue()
    return Parcel(record.arm, record.attempt, hashlib.sha256(data).hexdigest(), data)


def check(block: int, parcels: Sequence[Parcel]) -> None:
    """Raise `FleetError` unless each parcel is what its name says."""
    for each in parcels:
        if hashlib.sha256(each.data).hexdigest() != each.sha256:
            raise damaged_parcel(block, f"the content of {each.arm} is not {each.sha256[:12]}")


def unpack(block: int, parcel: Parcel) -> Unpacked:
    """Open a parcel; raises `FleetError` for what is no trial of this block and arm."""
    check(block, [parcel])
    files: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(parcel.data), mode="r:") as archive:
            for member in archive:
                path = PurePosixPath(member.name)
                inside = path.parts and not path.is_absolute() and ".." not in path.parts and "\\" not in member.name
                read = archive.extractfile(member) if member.isreg() and inside else None
                if read is None or member.name in files:
                    raise damaged_parcel(block, f'"{member.name}" may not be in it')
                files[member.name] = read.read()
        trial, series = files.pop(TRIAL_FILE), files.pop(SERIES_FILE)
    except (tarfile.TarError, KeyError) as error:
        raise damaged_parcel(block, f"{parcel.arm} is not a whole trial: {error}") from None
    if OURS & files.keys():
        raise damaged_parcel(block, "it holds a file of the record's own name")
    record = formats.decode_trial(trial, Path(parcel.arm), TRIAL_FILE)
    if (record.block, record.arm, record.attempt) != (block, parcel.arm, parcel.attempt):
        raise damaged_parcel(block, f"it holds {record.arm} of block {record.block}")
    return Unpacked(record, _samples(block, series), files)


def _samples(block: int, data: bytes) -> tuple[Sample, ...]:
    import polars as pl

    from pgassay.record.series import SCHEMA, unpanicked

    try:
        with unpanicked():
            table = pl.read_parquet(io.BytesIO(data))
        rows = table.select([name for name in SCHEMA.names() if name != "trial"]).rows()
    except pl.exceptions.PolarsError as error:
        raise damaged_parcel(block, f"its series cannot be read: {str(error).splitlines()[0]}") from None
    return tuple(Sample(*row) for row in rows)


def host_failed(block: int, reason: str) -> FleetError:
    return FleetError(f"block {block} failed: {reason}", "resume the run when the hosts work again")


def damaged_parcel(block: int, reason: str) -> FleetError:
    return FleetError(f"block {block} arrived damaged: {reason}", "resume the run: the block is run again")


DIRECTORY = "inbox"
BLOCK_FILE = "block.json"
FORMAT = 1


class _Listed(msgspec.Struct, frozen=True):
    arm: str
    attempt: int
    sha256: str


class _Block(msgspec.Struct, frozen=True):
    block: int
    host: str
    parcels: tuple[_Listed, ...]
    format: int = FORMAT


def write(disk: Disk, folder: Path, arrived: Arrived) -> None:
    """Write a block into a new directory; durable when it returns, but for the directory's own name."""
    disk.mkdir(folder)
    for each in {parcel.sha256: parcel for parcel in arrived.parcels}.values():
        disk.write_file(folder / f"{each.sha256}.tar", each.data)
    listed = tuple(_Listed(each.arm, each.attempt, each.sha256) for each in arrived.parcels)
    disk.write_file(folder / BLOCK_FILE, msgspec.json.encode(_Block(arrived.block, arrived.host, listed)))
    disk.sync_tree(folder)


def read(disk: Disk, folder: Path, block: int) -> Arrived:
    try:
        found = msgspec.json.decode(disk.read(folder / BLOCK_FILE), type=_Block)
        contents = {
            each.sha256: disk.read(folder / f"{each.sha256}.tar")
            for each in found.parcels
            if (len(each.sha256) == 64 and set(each.sha256) <= set("0123456789abcdef"))
        }
        came = tuple(Parcel(each.arm, each.attempt, each.sha256, contents[each.sha256]) for each in found.parcels)
    except (OSError, KeyError, msgspec.MsgspecError) as error:
        raise damaged_parcel(block, str(error)) from None
    if found.block != block:
        raise damaged_parcel(block, f"it is block {found.block}")
    check(block, came)
    return Arrived(block, found.host, came)


class Inbox:
    def __init__(self, disk: Disk, run: Path) -> None:
        self._disk = disk
        self._path = run / DIRECTORY
        if not disk.exists(self._path):
            disk.mkdir(self._path)
            disk.sync_directory(run)
        for name in disk.list(self._path):
            if name.startswith("."):  # torn by a crash: the block counts as not arrived
                disk.remove_tree(self._path / name)

    def blocks(self) -> frozenset[int]:
        return frozenset(int(name) for name in self._disk.list(self._path) if name.isdigit())

    def keep(self, arrived: Arrived) -> None:
        """Keep a block that came home; one that is here already stays, for a trial of it may be committed."""
        check(arrived.block, arrived.parcels)
        if arrived.block in self.blocks():
            return
        torn = self._path / f".{arrived.block:06d}"
        write(self._disk, torn, arrived)
        self._disk.rename(torn, self._path / f"{arrived.block:06d}")

    def take(self, block: int) -> Arrived:
        return read(self._disk, self._path / f"{block:06d}", block)

    def forget_before(self, block: int) -> None:
        """The design has gone on to `block`: what is before it is committed or not wanted."""
        for number in self.blocks():
            if number < block:
                self._disk.remove_tree(self._path / f"{number:06d}")

    def close(self) -> None:
        """The run is over: nothing waits any more."""
        self._disk.remove_tree(self._path)
