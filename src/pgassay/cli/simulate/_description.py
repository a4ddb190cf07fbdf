"""What is simulated: tables `drive`, `input`, `run`, `timing` and `life` of a TOML file, with settings laid over them.

Keys of `drive`, `input` and the service times of `timing` are the model's own and checked by it; sizes may be written
as PostgreSQL writes them (`16GB`), shares as per cent.
"""

import math
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

from pgassay.cli.simulate import _messages
from pgassay.errors import UsageError
from pgassay.study.units import parse_memory

TABLES = ("drive", "input", "run", "timing", "life")
_BLOCK_BYTES = 4096
_USUAL_BYTES = 1 << 30
# One die, the model's default, says all about write amplification and nothing about latency.
_TIMED_SHAPE = {
    "channels": 4,
    "dies_per_channel": 2,
    "planes_per_die": 2,
    "flash_pages_per_block": 12,
    "flash_page_bytes": 16384,
}
_SHAPE = {"pages_per_block", *_TIMED_SHAPE}


@dataclass(frozen=True)
class Run:
    """How a drive is brought to its start state and what is measured then."""

    ageing: str = "overwrite"  # or "theory", "none"
    used_share: float = 1.0  # filled first, and how far a load reaches that gives no `blocks`
    tolerance: float = 0.01
    limit: float = 50.0
    drive_writes: float = 2.0  # at least; and a turn of the flash
    window: float = 0.1
    trace: str | None = None
    seed: int = 1


@dataclass(frozen=True)
class Requests:
    """Requests against the clock; a trace brings its own."""

    requests: int = 200_000
    read_share: float = 0.5
    per_second: float | None = None
    queue_depth: int = 32


@dataclass(frozen=True)
class Life:
    """What the flash is rated for."""

    rated_cycles: int = 3000
    years: float = 5.0


@dataclass(frozen=True)
class Description:
    """One drive under one load."""

    drive: Mapping[str, Any]
    input: Sequence[Mapping[str, Any]]
    run: Run
    requests: Requests | None
    service: Mapping[str, Any]
    life: Life


_Table = TypeVar("_Table", Run, Requests, Life)


def read(path: Path | None, settings: Sequence[str], *, timing: bool) -> dict[str, Any]:
    """The document: the file's tables with settings `table.key=value` laid over them."""
    document: dict[str, Any] = {}
    if path is not None:
        try:
            document = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise _messages.no_file(path) from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise _messages.not_toml(path, str(error)) from None
        _check_tables(document)
    if timing:
        document.setdefault("timing", {})
    for setting in settings:
        key, sign, value = setting.partition("=")
        if not sign or not key:
            raise _messages.not_an_assignment(setting, "KEY=VALUE")
        assign(document, key, value)
    return document


def _check_tables(document: Mapping[str, Any]) -> None:
    for name, value in document.items():
        if name not in TABLES:
            raise _messages.unknown_table(name, TABLES)
        parts = value if name == "input" and isinstance(value, list) else [value]
        if not all(isinstance(part, dict) for part in parts):
            raise _messages.not_a_table(name)


def assign(document: dict[str, Any], key: str, value: str) -> None:
    """Lay one setting over the document. The value is TOML if it can be, else text."""
    table, dot, name = key.partition(".")
    if not dot or table not in TABLES:
        raise _messages.unknown_table(table, TABLES)
    parsed = value
    with suppress(tomllib.TOMLDecodeError):  # A bare word, a size or a percentage stays text.
        parsed = tomllib.loads(f"value = {value}")["value"]
    tables = document.setdefault(table, {})
    for part in tables if isinstance(tables, list) else [tables]:
        part[name] = parsed


def describe(document: Mapping[str, Any]) -> Description:
    """The checked description; `UsageError` for what it cannot be."""
    run = _run(document.get("run", {}))
    given = document.get("drive", {})
    timing = document.get("timing")
    shape = _TIMED_SHAPE if timing is not None and _SHAPE.isdisjoint(given) else {}
    # A trace knows how large the drive was that it was recorded on.
    usual = {} if run.trace is not None else {"user_bytes": _USUAL_BYTES}
    drive = _readable("drive", {**usual, "seed": run.seed, **shape, **given})
    service, requests = _timing(timing) if timing is not None else ({}, None)
    given = document.get("input", {})
    components = [_component(part, drive) for part in (given if isinstance(given, list) else [given])]
    life = _values(Life(), "life", document.get("life", {}))
    _positive("life", {"rated_cycles": life.rated_cycles, "years": life.years})
    return Description(drive, components, run, requests, service, life)


def _run(table: Mapping[str, Any]) -> Run:
    run = _values(Run(), "run", table)
    if run.ageing not in ("overwrite", "theory", "none"):
        raise _messages.wrong_value("run.ageing", run.ageing, "must be overwrite, theory or none")
    names = ("window", "drive_writes", "limit", "tolerance", "used_share")
    _positive("run", {name: getattr(run, name) for name in names})
    if run.used_share > 1:
        raise _messages.wrong_value("run.used_share", run.used_share, "must be at most 1, the whole drive")
    if run.trace is not None and not Path(run.trace).is_file():
        raise _messages.no_file(Path(run.trace))
    return run


def _positive(table: str, values: Mapping[str, float]) -> None:
    for name, value in values.items():
        if not value > 0:
            raise _messages.wrong_value(f"{table}.{name}", value, "must be greater than 0")


def _timing(table: Mapping[str, Any]) -> tuple[dict[str, Any], Requests]:
    names = {field.name for field in fields(Requests)}
    mine = {key: value for key, value in table.items() if key in names}
    service = {key: value for key, value in table.items() if key not in names}
    requests = _values(Requests(), "timing", mine)
    _positive("timing", {"requests": requests.requests})
    return _readable("timing", service), requests


def _component(table: Mapping[str, Any], drive: Mapping[str, Any]) -> dict[str, Any]:
    part = _readable("input", table)
    share = part.pop("compressed_to", None)
    if share is not None:
        if drive.get("kind") != "compressing":
            raise _messages.does_not_compress()
        if "sizes" in part:
            raise _messages.wrong_value("input.compressed_to", share, "input.sizes is given too")
        left = _number("input.compressed_to", share)
        if not 0 <= left <= 1:
            raise _messages.wrong_value("input.compressed_to", share, "must be a share from 0 to 1, such as 40%")
        part["sizes"] = [{"bytes": round(left * _BLOCK_BYTES)}]
    return part


def _readable(table: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Sizes and percentages as numbers; all else as it is."""
    return {key: _plain(f"{table}.{key}", value) for key, value in values.items()}


def _plain(key: str, value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(key, part) for part in value]
    if isinstance(value, Mapping):
        return _readable(key, value)
    if not isinstance(value, str):
        return value
    if value.endswith("%"):
        return _number(key, value)
    if key.endswith("_bytes"):
        try:
            return parse_memory(value)
        except UsageError as error:
            raise _messages.wrong_value(key, value, error.message) from None
    return value


def _number(key: str, value: Any) -> float:
    text = str(value)
    try:
        number = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise _messages.wrong_value(key, value, "must be a number or a percentage") from None
    if not math.isfinite(number):
        raise _messages.wrong_value(key, value, "must be finite")
    return number


def _values(usual: _Table, table: str, given: Mapping[str, Any]) -> _Table:
    """`usual` with the given values in the types that its fields have."""
    known = get_type_hints(type(usual))
    changed: dict[str, Any] = {}
    for key, value in given.items():
        if key not in known:
            raise _messages.unknown_key(table, key, known)
        changed[key] = _typed(f"{table}.{key}", value, known[key])
    return replace(usual, **changed)


def _typed(key: str, value: Any, kind: Any) -> Any:
    if str in (kind, *get_args(kind)):
        return str(value)
    number = _number(key, value)
    if kind is int:
        if number != int(number):
            raise _messages.wrong_value(key, value, "must be a whole number")
        return int(number)
    return number
