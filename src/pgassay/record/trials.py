"""A trial's directory: staged, sealed with checksums, committed by one rename, and never touched again.

`trials/.staging-000017/` takes the raw output of every tool; `seal` adds `trial.json`, `series.parquet` and
`SHA256SUMS` (for `sha256sum -c`), fsyncs all of it and renames it to `trials/000017`. So a directory with a number for
a name is always whole, whatever happened to the machine.
"""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from pgassay.record import formats, live_sample
from pgassay.record.disk import Disk, files_below, sha256_of
from pgassay.record.errors import RecordError, damaged
from pgassay.record.values import TrialRecord

DIRECTORY = "trials"
TRIAL_FILE = "trial.json"
SERIES_FILE = "series.parquet"
SUMS_FILE = "SHA256SUMS"
OURS = frozenset({TRIAL_FILE, SERIES_FILE, SUMS_FILE})
LEFT_OUT_FILE = "left_out.json"
"""Of a record from a capsule: the files of trials, by their paths in the run, that were left out since they hold a
user's values: copies of scripts, and what `quotes_rows`. Results are never left out."""
NUMBER_MAX = 999_999

_COMMITTED = re.compile(r"[0-9]{6}")
_SCRIPT_COPY = re.compile(r"script_[0-9]+_.+")
_STAGING = re.compile(r"\.staging-[0-9]{6}")


@dataclass(frozen=True)
class Staging:
    """A trial under way: tools write their raw output below `path`."""

    number: int
    path: Path


@dataclass(frozen=True)
class TrialNames:
    """The entries of `trials/`: numbers of committed trials in order, names of staging and of unknown directories."""

    committed: tuple[int, ...]
    staging: tuple[str, ...]
    foreign: tuple[str, ...]


def trial_path(run: Path, number: int) -> Path:
    return run / DIRECTORY / f"{number:06d}"


def _staged(run: Path, number: int) -> Path:
    return run / DIRECTORY / f".staging-{number:06d}"


def _require_new(disk: Disk, run: Path, number: int) -> None:
    if disk.exists(trial_path(run, number)):
        raise RecordError(f"trial {number} is committed already and is never written again")


def scan(disk: Disk, run: Path) -> TrialNames:
    """The names under `trials/`, sorted by kind, from one listing."""
    names = disk.list(run / DIRECTORY)
    committed = tuple(int(name) for name in names if _COMMITTED.fullmatch(name))
    staging = tuple(name for name in names if _STAGING.fullmatch(name))
    known = {f"{number:06d}" for number in committed} | {*staging}
    foreign = tuple(name for name in names if name not in known and not name.startswith(".abandoned-"))
    return TrialNames(committed, staging, foreign)


def begin(disk: Disk, run: Path, number: int) -> Staging:
    if not 0 <= number <= NUMBER_MAX:
        raise RecordError(f"trial number {number} is outside 0 … {NUMBER_MAX}")
    _require_new(disk, run, number)
    staging = Staging(number, _staged(run, number))
    disk.mkdir(staging.path)
    return staging


def seal(disk: Disk, run: Path, staging: Staging, record: TrialRecord, series: bytes) -> dict[str, str]:
    """Complete the staged trial; returns the hashes for its journal line. Durable when it returns; `place` follows."""
    if record.number != staging.number:
        raise RecordError(f"trial {record.number} cannot be committed from the staging directory of {staging.number}")
    _require_new(disk, run, staging.number)
    if disk.exists(staging.path / live_sample.FILE):
        disk.remove(staging.path / live_sample.FILE)
    for name in OURS:
        if disk.exists(staging.path / name):
            raise RecordError(f'a tool wrote "{name}" into the staging directory, which is our own file\'s name')
    trial = formats.encode(record)
    disk.write_file(staging.path / TRIAL_FILE, trial)
    disk.write_file(staging.path / SERIES_FILE, series)
    found = files_below(disk, staging.path)
    sums = "".join(f"{sha256_of(disk, path)}  {path.relative_to(staging.path)}\n" for path in found).encode()
    disk.write_file(staging.path / SUMS_FILE, sums)
    disk.sync_tree(staging.path)
    return _hashes(trial, sums)


def place(disk: Disk, run: Path, number: int) -> None:
    """Commit a trial that was sealed, by one rename; harmless where that is done."""
    final = trial_path(run, number)
    if not disk.exists(final):
        disk.rename(_staged(run, number), final)


def hashes(disk: Disk, run: Path, number: int) -> dict[str, str]:
    """The hashes that the journal line of a committed trial must carry."""
    path = trial_path(run, number)
    return _hashes(disk.read(path / TRIAL_FILE), disk.read(path / SUMS_FILE))


def _hashes(trial: bytes, sums: bytes) -> dict[str, str]:
    return {"sha256": hashlib.sha256(trial).hexdigest(), "sums_sha256": hashlib.sha256(sums).hexdigest()}


def quotes_rows(name: str) -> bool:
    """Is it a log of a server or what a load wrote to standard error, where PostgreSQL quotes rows and statements?"""
    return name == "server.log" or name.endswith(".err")


def left_out(disk: Disk, run: Path) -> frozenset[str]:
    """The names in `LEFT_OUT_FILE`; empty where there is none. Raises `DamagedError`."""
    if not disk.exists(run / LEFT_OUT_FILE):
        return frozenset()
    return frozenset(formats.decode(list[str], disk.read(run / LEFT_OUT_FILE), run, LEFT_OUT_FILE))


def mismatches(disk: Disk, run: Path, number: int) -> list[str]:
    """Files of a committed trial that are missing, changed, or not in its `SHA256SUMS`; empty when all is well.

    What a capsule left out is not missing, where it is of a kind that a capsule leaves out.
    """
    directory = trial_path(run, number)
    if not disk.exists(directory / SUMS_FILE):
        return [f"{SUMS_FILE} is missing"]
    named = {name.removeprefix(f"{DIRECTORY}/{number:06d}/") for name in left_out(disk, run)}
    gone = {name for name in named if quotes_rows(Path(name).name) or _SCRIPT_COPY.fullmatch(name)}
    lines = disk.read(directory / SUMS_FILE).decode(errors="replace").split("\n")
    pairs = [line.partition("  ") for line in lines if line]
    if any(len(digest) != 64 or not name for digest, _, name in pairs):
        raise damaged(run, f"{SUMS_FILE} of trial {number} is not a list of checksums")
    expected = {name: digest for digest, _, name in pairs}
    found: list[str] = []
    for path in files_below(disk, directory):
        name = str(path.relative_to(directory))
        if name == SUMS_FILE:
            continue
        digest = expected.pop(name, None)
        if digest is None:
            found.append(f"{name} was added")
        elif digest != sha256_of(disk, path):
            found.append(f"{name} was changed")
    return found + [f"{name} is missing" for name in expected if name not in gone]


def set_aside(disk: Disk, run: Path, staging_name: str) -> str:
    """Move an interrupted trial's staging directory out of the way, raw output kept; returns its new name."""
    number = staging_name.removeprefix(".staging-")
    parent = run / DIRECTORY
    count = 1
    while disk.exists(parent / f".abandoned-{number}-{count}"):
        count += 1
    name = f".abandoned-{number}-{count}"
    disk.rename(parent / staging_name, parent / name)
    return name
