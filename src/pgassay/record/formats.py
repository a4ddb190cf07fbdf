"""The files of a run as bytes, and back: strict about types, tolerant of fields that a later version added.

The promise: every later pgassay reads every format from 0 on, and a file is never rewritten for it: older formats are
upgraded in memory, one step at a time. Adding a field keeps the format; changing the meaning of one makes a new format,
with one more step here and one more specimen under tests/record/specimens; neither is ever removed.

Format 0 is a draft that no release wrote: it had no attempts, kept reasons as `code: detail` strings, and kept times in
seconds. It stays so that the upgrade has been used before it is needed.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from pgassay import untrusted
from pgassay.record.disk import Disk
from pgassay.record.errors import damaged, newer_format
from pgassay.record.values import FORMAT, Amount, Count, LevelRecord, Moment, Reason, Seconds, TrialRecord
from pgassay.study.responses import Response, Status
from pgassay.study.work import Work

Plain = dict[str, Any]
Step = Callable[[Plain], Plain]

_NS = 1_000_000_000

Value = TypeVar("Value")


class Versioned(Protocol):
    """What a file holds that says its format."""

    @property
    def format(self) -> int:
        """Its number."""


Content = TypeVar("Content", bound=Versioned)


IMPORTED = "imported"
"""The key of `host.json` under which the source of others' results is described; it marks a run as imported."""


@dataclass(frozen=True)
class RunHeader:
    """`run.json`: what a reader must know before anything else. `started_utc` is ISO 8601 with a Z."""

    study: str
    started_utc: str
    seed: int
    responses: tuple[Response, ...]
    command: tuple[str, ...]
    program_version: str
    program: str = "pgassay"
    format: int = FORMAT
    rule: int = 0
    """Number of the rule by which the run was decided; 0 where nothing was decided, and in records without it."""
    work: Work | None = None
    """What costs are costs of; None in older records."""
    scales: tuple[str, ...] | None = None
    """Covariates that are an amount of clients, threads or processors; None in older records."""


class Stamp(msgspec.Struct):
    """What every file says first; everything else may differ between formats."""

    format: int
    program_version: str = ""


_TRIAL = msgspec.json.Decoder(TrialRecord)


def encode(value: object) -> bytes:
    """Any of our values as indented JSON with a newline; NaN and infinities become null."""
    return msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"


def decode_trial(data: bytes, run: Path, where: str) -> TrialRecord:
    """A `trial.json`; raises `DamagedError` naming `where`, or `NewerFormatError`."""
    with suppress(ValueError, RecursionError):  # the usual case in one pass; errors are named below
        record = _TRIAL.decode(data)
        if record.format == FORMAT and b'"format"' in data:
            return record
    return _decoded(TrialRecord, _TRIAL_STEPS, data, run, where)


def decode_header(data: bytes, run: Path) -> RunHeader:
    return _decoded(RunHeader, _HEADER_STEPS, data, run, "run.json")


def decode_host(data: bytes, run: Path) -> dict[str, Any]:
    written_format(data, run, "host.json")
    facts = decode(dict[str, Any], data, run, "host.json").get("facts")
    if not isinstance(facts, dict):
        raise damaged(run, "host.json holds no facts")
    try:
        msgspec.convert(facts, _Facts)
    except msgspec.ValidationError as failure:
        raise damaged(run, f"host.json: {failure}") from failure
    return facts


class _Facts(msgspec.Struct):
    """The shapes that readers of `host.json` rely on, of the facts that have one; all else is shown as it is."""

    cpu: dict[str, Any] | None = None
    memory: dict[str, Any] | None = None
    postgres: list[dict[str, Any]] | None = None
    place: dict[str, Any] | None = None
    capacities: dict[str, Any] | None = None
    fleet: dict[str, Any] | None = None
    builds: list[dict[str, Any]] = []
    golden: list[dict[str, Any]] = []
    remarks: dict[str, Any] | None = None


def written_format(data: bytes, run: Path, where: str) -> int:
    """The format that a file says it has; raises `NewerFormatError`, or `DamagedError` where it says none."""
    stamp = decode(Stamp, data, run, where)
    if stamp.format > FORMAT:
        raise newer_format(run, stamp.format, FORMAT, stamp.program_version)
    if stamp.format < 0:
        raise damaged(run, f"{where} has format {stamp.format}")
    return stamp.format


def decode(kind: type[Value], data: bytes, run: Path, where: str) -> Value:
    try:
        found: Value = untrusted.json(data, kind)
    except ValueError as failure:
        raise damaged(run, f"{where}: {failure}") from failure
    return found


def read_or(disk: Disk, path: Path, empty: Content) -> Content:
    """A file that is no part of a run; `empty` where there is none, it cannot be read, or another version wrote it."""
    try:
        found = msgspec.json.decode(disk.read(path), type=type(empty))
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return empty
    return found if found.format == empty.format else empty


def _decoded(kind: type[Value], steps: Sequence[Step], data: bytes, run: Path, where: str) -> Value:
    """A file of today's format, or of an older one upgraded by these steps."""
    found = written_format(data, run, where)
    if found == FORMAT:
        return decode(kind, data, run, where)
    plain = decode(dict[str, Any], data, run, where)
    try:
        for step in steps[found:]:
            plain = step(plain)
        return msgspec.convert(plain, kind)
    except (TypeError, AttributeError, ValueError, OverflowError) as failure:  # steps trust the old types
        raise damaged(run, f"{where}: {failure}") from failure


def _trial_0_to_1(trial: Plain) -> Plain:
    upgraded = {key: value for key, value in trial.items() if key not in ("started_s", "finished_s")}
    for name in ("started", "finished"):
        seconds = trial.get(f"{name}_s")
        if isinstance(seconds, int | float):
            upgraded[f"{name}_wall_ns"] = round(seconds * _NS)
    upgraded.setdefault("attempt", 1)
    parts = [each.partition(": ") if isinstance(each, str) else each for each in trial.get("reasons", [])]
    upgraded["reasons"] = [{"code": at[0], "detail": at[2]} if isinstance(at, tuple) else at for at in parts]
    upgraded["levels"] = {
        name: level if isinstance(level, Mapping) else {"typed": level, "canonical": level}
        for name, level in trial.get("levels", {}).items()
    }
    upgraded["format"] = 1
    return upgraded


def _header_0_to_1(header: Plain) -> Plain:
    upgraded = dict(header)
    command = header.get("command", "")
    upgraded["command"] = command.split() if isinstance(command, str) else command
    upgraded["format"] = 1
    return upgraded


_TRIAL_STEPS: tuple[Step, ...] = (_trial_0_to_1,)
_HEADER_STEPS: tuple[Step, ...] = (_header_0_to_1,)


_EMPTY = msgspec.Raw(b"{}")


class _Wire(msgspec.Struct, gc=False):
    """`TrialRecord`, field by field and in its order, with the shared parts as they were written."""

    number: Count
    block: Count
    attempt: Count
    treatment: str
    condition: str
    covariate: str
    levels: msgspec.Raw
    status: Status
    started_wall_ns: Moment
    finished_wall_ns: Moment
    responses: dict[str, Amount | None]
    reasons: tuple[Reason, ...] = ()
    counters: dict[str, Amount | None] = {}
    settings: msgspec.Raw = _EMPTY
    regime: dict[str, str | Amount | None] = {}
    timings_s: dict[str, Seconds] = {}
    seed: int = 0
    host: str = ""
    format: int = FORMAT


_WIRE = msgspec.json.Decoder(_Wire)
_LEVELS = msgspec.json.Decoder(dict[str, LevelRecord])
_SETTINGS = msgspec.json.Decoder(dict[str, str])


class TrialDecoder:
    """Decodes the trials of one run, thousands of them: what they share is decoded once; raises as `decode_trial`.

    Levels and settings are the same text in every trial of an arm, and half of a `trial.json`. msgspec leaves them
    undecoded (`Raw`), and equal texts get one mapping. What is not plainly of today's format takes the slow way.
    """

    def __init__(self) -> None:
        self._levels: dict[bytes, dict[str, LevelRecord]] = {}
        self._settings: dict[bytes, dict[str, str]] = {}

    def decode(self, data: bytes, run: Path, where: str) -> TrialRecord:
        """The trial in the bytes of a `trial.json`; raises as `decode_trial`."""
        with suppress(ValueError, RecursionError):  # errors are named below
            found = _WIRE.decode(data)
            if found.format == FORMAT and b'"format"' in data:
                levels = _once(self._levels, found.levels, _LEVELS)
                settings = _once(self._settings, found.settings, _SETTINGS)
                return TrialRecord(
                    found.number, found.block, found.attempt, found.treatment, found.condition, found.covariate,
                    levels, found.status, found.started_wall_ns, found.finished_wall_ns, found.responses,
                    found.reasons, found.counters, settings, found.regime, found.timings_s, found.seed, found.host,
                    FORMAT,
                )  # fmt: skip
        return decode_trial(data, run, where)


def _once(known: dict[bytes, Value], text: msgspec.Raw, decoder: "msgspec.json.Decoder[Value]") -> Value:
    key = bytes(text)
    value = known.get(key)
    if value is None:
        value = known[key] = decoder.decode(key)
    return value
