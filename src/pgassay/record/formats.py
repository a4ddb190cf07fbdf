"""The files of a run as bytes, and back: strict about types, tolerant of fields that a later version added.

The promise: every later pgassay reads every format from 1 on, and a file is never rewritten for it: older formats are
upgraded in memory (`migration`). Adding a field keeps the format; changing the meaning of one makes a new format.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from pgassay.record.errors import damaged, newer_format
from pgassay.record.migration import Plain, upgrade_header, upgrade_trial
from pgassay.record.values import FORMAT, TrialRecord
from pgassay.study.responses import Response

Value = TypeVar("Value")


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
    """Number of the rule by which the run was decided; 0 in records made before they told it, and where nothing was."""


class _Stamp(msgspec.Struct):
    """What every file says first; everything else may differ between formats."""

    format: int
    program_version: str = ""


_TRIAL = msgspec.json.Decoder(TrialRecord)


def encode(value: object) -> bytes:
    """Any of our values as indented JSON with a newline; NaN and infinities become null."""
    return msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"


def decode_trial(data: bytes, run: Path, where: str) -> TrialRecord:
    """A `trial.json`; raises `DamagedError` naming `where`, or `NewerFormatError`."""
    with suppress(msgspec.MsgspecError, UnicodeDecodeError):  # the usual case in one pass; the rest is told apart below
        record = _TRIAL.decode(data)
        if record.format == FORMAT and b'"format"' in data:
            return record
    found = written_format(data, run, where)
    if found == FORMAT:
        return _as(TrialRecord, data, run, where)
    return _upgraded(TrialRecord, upgrade_trial, data, found, run, where)


def decode_header(data: bytes, run: Path) -> RunHeader:
    """A `run.json`; raises as `decode_trial`."""
    found = written_format(data, run, "run.json")
    if found == FORMAT:
        return _as(RunHeader, data, run, "run.json")
    return _upgraded(RunHeader, upgrade_header, data, found, run, "run.json")


def encode_host(facts: Mapping[str, Any]) -> bytes:
    """`host.json`: the facts under their own key, beside the format."""
    return encode({"format": FORMAT, "facts": dict(facts)})


def decode_host(data: bytes, run: Path) -> dict[str, Any]:
    """The facts of a `host.json`."""
    written_format(data, run, "host.json")
    facts = _as(dict[str, Any], data, run, "host.json").get("facts")
    if not isinstance(facts, dict):
        raise damaged(run, "host.json holds no facts")
    return facts


def written_format(data: bytes, run: Path, where: str) -> int:
    """The format that a file says it has; raises `NewerFormatError`, or `DamagedError` where it says none."""
    stamp = _as(_Stamp, data, run, where)
    if stamp.format > FORMAT:
        raise newer_format(run, stamp.format, FORMAT, stamp.program_version)
    if stamp.format < 0:
        raise damaged(run, f"{where} has format {stamp.format}")
    return stamp.format


def _as(kind: type[Value], data: bytes, run: Path, where: str) -> Value:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as failure:
        raise damaged(run, f"{where}: {failure}") from failure


def _upgraded(
    kind: type[Value], upgrade: Callable[[Plain, int], Plain], data: bytes, found: int, run: Path, where: str
) -> Value:
    plain = _as(dict[str, Any], data, run, where)
    try:
        return msgspec.convert(upgrade(plain, found), kind)
    except (msgspec.ValidationError, TypeError, AttributeError, ValueError) as failure:  # steps trust the old types
        raise damaged(run, f"{where}: {failure}") from failure
