"""A trial on its way home: one archive of its record, its series and every raw output, named by its SHA-256.

The same trial always gives the same bytes (sorted names, no dates), and what comes home is looked at as something that
a stranger sent: names that lead out of the trial's directory, links and files of ours are refused.
"""

import hashlib
import io
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pgassay.bench.counters import Sample
from pgassay.bench.places import OwnFiles
from pgassay.fleet.errors import FleetError
from pgassay.record import formats
from pgassay.record.disk import Disk, files_below
from pgassay.record.trials import OURS, SERIES_FILE, TRIAL_FILE
from pgassay.record.values import TrialRecord

UNNUMBERED = 0
"""The number of a trial until the head gives it one."""


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
    """A block that no host could bring to its end."""
    return FleetError(f"block {block} failed: {reason}", "resume the run when the hosts are well again")


def damaged_parcel(block: int, reason: str) -> FleetError:
    """What came home is not what was sent."""
    return FleetError(f"block {block} came home damaged: {reason}", "resume the run: the block is run again")
