"""The journal: one JSON line for everything that happened to a run, appended and fsynced before the next step.

A line carries its number, the time, a kind, its data and a CRC-32 of all that. The last line may be torn (the write was
under way when the machine stopped): it is cut off when the run is resumed. Damage anywhere else is an error.

A decision of the design is a line, too, so that replaying the journal gives the same schedule again. Its inputs are in
the record (study, seed, committed trials); their hash shows whether a replay saw the same.
"""

import hashlib
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import msgspec

from pgassay import untrusted
from pgassay.record.disk import Disk
from pgassay.record.errors import DamagedError, RecordError, as_record_error, damaged
from pgassay.record.values import Count, Moment, Seconds
from pgassay.study.units import BLOCKS_MAX

FILE = "journal.jsonl"
LINE_BYTES_MAX = 1 << 20
Blocks = Annotated[int, msgspec.Meta(ge=0, le=2 * BLOCKS_MAX)]
"""A run may be extended to twice the blocks of its study."""
_CHECKSUM = b',"crc32":"'


class Kind(StrEnum):
    """What a line says; readers pass over kinds that they do not know."""

    RUN_STARTED = "run_started"
    PREPARED = "prepared"
    DECISION = "decision"
    TRIAL_STARTED = "trial_started"
    BLOCK_SEALED = "block_sealed"
    TRIAL_COMMITTED = "trial_committed"
    HOSTS = "hosts"
    INTERRUPTED = "interrupted"
    RESUMED = "resumed"
    EXTENDED = "extended"
    FINISHED = "finished"


@dataclass(frozen=True)
class Entry:
    """One line: `seq` from 1 without gaps, `wall_ns` since the epoch, `kind`, and what belongs to it."""

    seq: int
    wall_ns: Moment
    kind: str
    data: Mapping[str, Any] = field(default_factory=dict)


_ENTRY = msgspec.json.Decoder(Entry)


class _Prepared(msgspec.Struct):
    key: str
    seconds: Seconds


class _Started(msgspec.Struct):
    number: Count
    block: Count = 0
    attempt: Count = 0
    arm: str = ""


class _Sealed(msgspec.Struct):
    trials: list[Count]


class _Committed(msgspec.Struct):
    number: Count
    sha256: str


class _Hosts(msgspec.Struct):
    within_reach: Count


class _Resumed(msgspec.Struct):
    rule: Count = 0
    remarks: dict[str, Any] | None = None


class _Ended(msgspec.Struct):
    reason: str = ""


_DATA: Mapping[str, type[msgspec.Struct]] = {
    Kind.PREPARED: _Prepared, Kind.TRIAL_STARTED: _Started, Kind.BLOCK_SEALED: _Sealed,
    Kind.TRIAL_COMMITTED: _Committed, Kind.HOSTS: _Hosts, Kind.RESUMED: _Resumed, Kind.INTERRUPTED: _Ended,
    Kind.FINISHED: _Ended,
}  # fmt: skip
"""What readers rely on in a line's data; of a decision that is `decisions.Decision`."""


@dataclass(frozen=True)
class Parsed:
    """A journal as read: its whole entries, the bytes that they fill, and the bytes of a torn last line."""

    entries: tuple[Entry, ...]
    good_bytes: int
    torn_bytes: int


def encode(entry: Entry) -> bytes:
    """The entry's line, with its checksum and newline."""
    body = msgspec.json.encode(entry)[:-1]
    return body + _CHECKSUM + b'%08x"}\n' % zlib.crc32(body)


def parse(data: bytes, run: Path) -> Parsed:
    """Read a whole journal; raises `DamagedError` naming the line unless only the last one is torn."""
    entries: list[Entry] = []
    start = 0
    while start < len(data):
        end = data.find(b"\n", start) + 1
        try:
            entry = _entry(data[start : end - 1]) if end else None
        except ValueError as failure:
            raise damaged(run, f"line {len(entries) + 1} of {FILE}: {failure}") from failure
        if entry is None:
            # More than a last line's worth: then a newline was lost, and with it a line that had been fsynced.
            more = data[start:].partition(_CHECKSUM)[2][len('00000000"}') :].strip(b"\n\0")
            if end in (0, len(data)) and not more:
                break
            raise damaged(run, f"line {len(entries) + 1} of {FILE} does not match its checksum")
        if entry.seq != len(entries) + 1:
            raise damaged(run, f"line {len(entries) + 1} of {FILE} is numbered {entry.seq}: lines are lost or doubled")
        entries.append(entry)
        start = end
    if not entries:
        raise damaged(run, f"{FILE} has no whole line")
    return Parsed(tuple(entries), start, len(data) - start)


def _entry(line: bytes) -> Entry | None:
    body, separator, checksum = line.rpartition(_CHECKSUM)
    if not separator or checksum != b'%08x"}' % zlib.crc32(body):
        return None
    entry = untrusted.decoded(_ENTRY.decode, body + b"}")
    untrusted.require_plain(entry.data)
    if entry.kind in _DATA:
        msgspec.convert(entry.data, _DATA[entry.kind])
    return entry


def committed_in(entries: tuple[Entry, ...], run: Path) -> dict[int, str]:
    """Trial number to the SHA-256 of its `trial.json`, as journalled; raises `DamagedError` for a doubled trial."""
    found: dict[int, str] = {}
    for entry in entries:
        if entry.kind == Kind.TRIAL_COMMITTED:
            number = entry.data["number"]
            if number in found:
                raise damaged(run, f"journal line {entry.seq} commits trial {number} a second time")
            found[number] = entry.data["sha256"]
    return found


def require_all(run: Path, journalled: dict[int, str], present: tuple[int, ...]) -> None:
    """Raise `DamagedError` unless every journalled trial has its directory."""
    lost = sorted(journalled.keys() - set(present))
    if lost:
        names = ", ".join(map(str, lost[:5])) + (" …" if len(lost) > 5 else "")
        raise damaged(run, f"trial {names} is in the journal but not under trials/")


class Journal:
    """The writing end; one for each runner, which holds the run's lock."""

    def __init__(
        self, disk: Disk, path: Path, entries: tuple[Entry, ...], size: int, wall_ns: Callable[[], int]
    ) -> None:
        self._disk = disk
        self._path = path
        self._entries = list(entries)
        self._size = size
        self._wall_ns = wall_ns
        self._usable = True

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(self._entries)

    def append(self, kind: Kind, data: Mapping[str, Any] | None = None) -> Entry:
        """Write one line and return when it is durable; raises `RecordError`, and the line then does not count."""
        if not self._usable:
            raise RecordError(
                f'no more lines are written to "{self._path}" after a failed write',
                "continue with: pgassay resume, which reads what is stored",
            )
        entry = Entry(len(self._entries) + 1, self._wall_ns(), kind.value, dict(data or {}))
        line = encode(entry)
        if len(line) > LINE_BYTES_MAX:
            raise RecordError(f"a journal line of {len(line)} bytes exceeds the limit of {LINE_BYTES_MAX} bytes")
        with as_record_error(self._path.parent, "write the journal"):
            try:
                self._disk.append(self._path, line)
            except BaseException:  # an interrupt in the middle of it as well
                self._usable = False
                with suppress(OSError):  # cut off what is left of it, so that the next line does not follow half a line
                    self._disk.truncate(self._path, self._size)
                    self._usable = True
                raise
        self._entries.append(entry)
        self._size += len(line)
        return entry


class Step(StrEnum):
    NEXT = "next"
    """Run a trial of an arm."""
    BLOCK = "block"
    """Run a block whose servers take turns."""
    DROP = "drop"
    """Leave an arm out from now on."""
    STOP = "stop"
    """End the run."""


@dataclass(frozen=True)
class Decision:
    """One decision. `clock_s` and `budget_used_s` count from the run's start, pauses between resumes left out.

    `arm` is the arm's label; `trial`, `block` and `attempt` are 0 where the step names none. `arms` are the labels of
    a block whose servers take turns, in the order of their trials; `trial` is the first of these.
    """

    step: Step
    inputs_sha256: str
    clock_s: Seconds
    budget_used_s: Seconds
    arm: str = ""
    trial: Count = 0
    block: Count = 0
    attempt: Count = 0
    reason: str = ""
    stage: Blocks = 0
    horizon: Blocks = 0
    """Blocks of the first stage of looks and of both, at the decision that fixes them; 0 at all others."""
    arms: tuple[str, ...] = ()

    def as_data(self) -> dict[str, Any]:
        data = asdict(self)
        if not self.arms:
            del data["arms"]
        return data


def decision_of(entry: Entry) -> Decision:
    """The decision in a journal line; raises `DamagedError` where there is none."""
    try:
        return msgspec.convert(dict(entry.data), Decision)
    except msgspec.ValidationError as failure:
        what = f"is no decision: {failure}"
        raise DamagedError(f"line {entry.seq} of {FILE} {what}", what=what) from failure


def decisions_in(entries: tuple[Entry, ...]) -> tuple[Decision, ...]:
    return tuple(decision_of(entry) for entry in entries if entry.kind == Kind.DECISION)


def horizon_in(entries: Iterable[Entry]) -> tuple[int, int] | None:
    """The blocks that looks are planned for, of the first stage and of both; None where no decision fixed them."""
    fixed = (each for each in entries if each.kind == Kind.DECISION and each.data.get("horizon"))
    return next(((each.stage, each.horizon) for each in map(decision_of, fixed)), None)


@dataclass(frozen=True)
class Extended:
    """The data of an `extended` line: a run goes on to this number of blocks, or until this budget is used, whichever
    comes first. `budget_s` counts from the run's start as `Decision.budget_used_s` does, with what was prepared."""

    blocks_min: Blocks
    blocks_max: Blocks
    budget_s: Seconds | None


def extended_in(entries: Iterable[Entry]) -> Extended | None:
    """The last extension of a run; None where there is none. Raises `RecordError` for what is none."""
    found = [each for each in entries if each.kind == Kind.EXTENDED]
    if not found:
        return None
    try:
        return msgspec.convert(dict(found[-1].data), Extended)
    except msgspec.ValidationError as failure:
        raise RecordError(f"journal line {found[-1].seq} does not say how far the run goes on: {failure}") from failure


def inputs_sha256(*inputs: Any) -> str:
    """A hash of plain values, dataclasses and mappings that does not depend on the order of keys."""
    return hashlib.sha256(msgspec.json.encode(inputs, order="deterministic")).hexdigest()
