"""What travels in a fleet: files of the user's that a study names, to the hosts; blocks on their way home.

A trial is one archive of its record, series and raw outputs, named by its SHA-256.

The same trial always gives the same bytes (sorted names, no dates), and what comes home is looked at as something that
a stranger sent: names that lead out of the trial's directory, links and files of ours are refused.

The head commits blocks in the order of their numbers and trial by trial; killed in the middle, it must go on with the
rest of the very same block. So a block is kept whole and fsynced before its first trial is committed, and removed when
the design has gone on to the next one. `inbox/000007/` holds `block.json` and a file for each parcel.

The head reads the user's files once, and they travel with every order. Which levels name files is said by their factors
(`Factor.moved`). On a host each lies in a private folder for as long as its bench lives, under a number of ours and its
own name; no path of the head is a path there. The study keeps the paths that the user wrote, so snapshots, treatments
and the record are named as on one machine.
"""

import hashlib
import io
import os
import stat
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import msgspec

from pgassay import scratch
from pgassay.bench.counters import Sample
from pgassay.bench.places import OwnFiles
from pgassay.design.schedule import DRIVES
from pgassay.errors import UsageError
from pgassay.files import Directory
from pgassay.fleet import FleetError
from pgassay.host import accounts
from pgassay.lab.named_files import bounds_of, paths_of
from pgassay.load.pgbench.data import reads_files
from pgassay.record import formats
from pgassay.record.disk import Disk, files_below
from pgassay.record.trials import OURS, SERIES_FILE, TRIAL_FILE
from pgassay.record.values import TrialRecord
from pgassay.study import document as documents


@dataclass(frozen=True)
class Parcel:
    """A packed trial: which it is, its content's SHA-256, the content."""

    arm: str
    attempt: int
    sha256: str
    data: bytes


@dataclass(frozen=True)
class Arrived:
    """A block that came home whole: where it ran, and every trial of it in the order in which they ran."""

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
    disk: Disk, staging: Path, record: TrialRecord, series: Iterable[Sample], own: OwnFiles | None = None
) -> Parcel:
    """Pack a trial whose tools wrote below `staging`; where they name copies of `own` files, it names the files."""
    own = own or OwnFiles()
    from pgassay.record.series import frame, parquet

    files = {str(path.relative_to(staging)): disk.read(path) for path in files_below(disk, staging)}
    files = {name: own.told_bytes(data) for name, data in files.items() if name not in OURS}
    files[TRIAL_FILE] = own.told_bytes(formats.encode(record))
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
                read = archive.extractfile(member) if member.isreg() and _inside(member.name) else None
                if read is None or member.name in files:
                    raise damaged_parcel(block, f'"{member.name}" may not be in it')
                files[member.name] = read.read()
        trial, series = files.pop(TRIAL_FILE), files.pop(SERIES_FILE)
    except (tarfile.TarError, KeyError) as error:
        raise damaged_parcel(block, f"{parcel.arm} is no whole trial: {error}") from None
    if OURS & files.keys():
        raise damaged_parcel(block, "it holds a file of the record's own name")
    record = formats.decode_trial(trial, Path(parcel.arm), TRIAL_FILE)
    if (record.block, record.arm, record.attempt) != (block, parcel.arm, parcel.attempt):
        raise damaged_parcel(block, f"it holds {record.arm} of block {record.block}")
    return Unpacked(record, _samples(block, series), files)


def _inside(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and "\\" not in name


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
    return FleetError(f"block {block} failed: {reason}", "resume the run when the hosts are well again")


def damaged_parcel(block: int, reason: str) -> FleetError:
    return FleetError(f"block {block} came home damaged: {reason}", "resume the run: the block is run again")


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
    """Read a block, every checksum looked at; raises `FleetError`."""
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
    """The inbox of a run directory."""

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
        """Numbers of the blocks that are here."""
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


FILES_BYTES_MAX = 16 << 20
"""Of all files of a study together: the scheduler holds them once for each block under way."""
FILES_FACT = "files"
"""In host.json: the SHA-256 of each file that was sent when the run began, by its path."""
_INIT = "load.init"
_NAME_BYTES_MAX = 255


class OwnFile(msgspec.Struct, frozen=True):
    """A file as it travels: its path where the study was written, its SHA-256, its packed content."""

    path: str
    sha256: str
    packed: bytes


def read_own_files(name: str, document: str, known: Mapping[str, str] | None = None) -> tuple[OwnFile, ...]:
    """The files that a recorded study names; raises `UsageError`, with their names, for those that cannot travel.

    `known` has the SHA-256 of each when the run began: what has changed since is refused.
    """
    refused: dict[str, str] = {}
    contents: dict[str, bytes] = {}
    recorded = documents.read(name, document)
    for bound in bounds_of(name, recorded):
        for path in () if bound.name.startswith(DRIVES) else paths_of(bound.factor, bound.name, bound.level):
            text = str(path)
            if text in contents or text in refused:
                continue
            left = FILES_BYTES_MAX - sum(map(len, contents.values()))
            found = (
                _content(path, left)
                if text in bound.level.typed
                else "is named by a path that does not begin at the root"
            )
            if isinstance(found, bytes):
                contents[text] = found
                line = reads_files(found) if bound.name == _INIT else None
                found = found if line is None else f"has psql read another file: {line}"
            if isinstance(found, str):
                refused[text] = found
    for text in documents.texts(recorded):
        if "/" in text and text not in contents and text not in refused and _is_file(text):
            refused[text] = "is named for something that only a file of the host itself can be"
    if refused:
        listed = "; ".join(f'"{name}" {why}' for name, why in refused.items())
        raise UsageError(
            f"the study names files that cannot be sent to the hosts: {listed}",
            "run the study on one machine, without --on",
        )
    files = tuple(
        OwnFile(path, hashlib.sha256(content).hexdigest(), zlib.compress(content, 1))
        for path, content in contents.items()
    )
    changed = [each.path for each in files if known and known.get(each.path, each.sha256) != each.sha256]
    if changed:
        listed = ", ".join(f'"{name}"' for name in changed)
        raise UsageError(
            f"files of the study have changed since the run began: {listed}",
            "put back what they held then, or start a new run",
        )
    return files


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except OSError:  # a long text with a slash in it, as SQL is
        return False


def _content(path: Path, left: int) -> bytes | str:
    if any(letter in '"\\' or not letter.isprintable() for letter in str(path)):
        return "has a quote, a backslash or a control character in its path"
    try:
        found = path.stat()
        if stat.S_ISDIR(found.st_mode):
            return "is a directory"
        if not stat.S_ISREG(found.st_mode):
            return "is no plain file"
        if found.st_size > left:
            return _too_large(found.st_size)
        with path.open("rb") as file:
            content = file.read(left + 1)
    except OSError as error:
        return f"cannot be read: {(error.strerror or str(error)).lower()}"
    return content if len(content) <= left else _too_large(len(content))


@contextmanager
def laid_out(files: Sequence[OwnFile]) -> Iterator[OwnFiles]:
    """On a host: the files in a private folder until the `with` ends; raises `FleetError` for what is damaged.

    Nobody but the account of the servers, which plays scripts, can read them, and where we are root not even it can
    write to them.
    """
    if not files:
        yield OwnFiles()
        return
    contents: dict[str, bytes] = {}
    for file in files:
        contents[file.path] = _unpacked(file)
        if sum(map(len, contents.values())) > FILES_BYTES_MAX:
            raise _damaged_file(file.path)
    with scratch.folder("files") as place, Directory.open(place) as folder:
        account = accounts.choose(os.environ)
        owner = None
        if os.geteuid() == 0:
            owner = (0, account.gid)
            folder.give_self(None, 0o711)
            accounts.require_reach(place, account)
        places: dict[Path, Path] = {}
        for number, (path, content) in enumerate(contents.items(), start=1):
            name = PurePosixPath(path).name
            folder.mkdir(str(number), 0o750 if owner else 0o700, owner)
            with folder.inner(str(number)) as own:
                own.replace(name, content, owner, 0o440 if owner else 0o400)
            places[Path(path)] = place / str(number) / name
        yield OwnFiles(places)


def _unpacked(file: OwnFile) -> bytes:
    """Its content, when name, size and hash have been looked at: what a head sends is not believed."""
    path = PurePosixPath(file.path)
    if not path.is_absolute() or path.name in ("", "..") or not file.path.isprintable():
        raise _damaged_file(file.path)
    if len(path.name.encode()) > _NAME_BYTES_MAX:
        raise _damaged_file(file.path)
    unpacking = zlib.decompressobj()
    try:
        content = unpacking.decompress(file.packed, FILES_BYTES_MAX + 1)
    except zlib.error:
        raise _damaged_file(file.path) from None
    if len(content) > FILES_BYTES_MAX or hashlib.sha256(content).hexdigest() != file.sha256:
        raise _damaged_file(file.path)
    return content


def _too_large(size: int) -> str:
    mib = 1 << 20
    return f"is too large: it has {size / mib:.1f} MiB, and all files together may have {FILES_BYTES_MAX / mib:.0f} MiB"


class DamagedError(FleetError):
    """What came is not what was sent; sent again it may be."""


def _damaged_file(path: str) -> DamagedError:
    return DamagedError(f'the file "{path}" came damaged, or its name cannot be used')
