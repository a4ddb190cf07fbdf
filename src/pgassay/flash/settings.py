"""What is simulated: tables `drive`, `input`, `run`, `timing` and `life` of a TOML file, with settings laid over them.

Keys of `drive` and the service times of `timing` are those of every drive (`pgassay._core.DriveDescription`), those of
`input` the model's; sizes may be written as PostgreSQL writes them (`16GB`), shares as per cent.
"""

import math
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

from pgassay import untrusted
from pgassay._core import DescriptionError, DriveDescription
from pgassay.errors import UsageError
from pgassay.study.units import parse_memory

_KEYS = "docs/drives.md has every key, its default and what it means"
_AGAIN = "record it again, or copy it again from where it is whole"
_HINTS = {
    "past the end of the drive": "give a --capacity that holds it; with --trace and none, it is the recorded drive's",
    "did not finish": "record it again: a recorder that was killed leaves no index",
    "no trailer": "its end is missing: it was cut, or its recorder was killed; record it again",
    "of the trace": _AGAIN,
    "trace ends inside": _AGAIN,
    "damaged": _AGAIN,
    "of a trace at byte": "give a file that `pgassay drive record` has written",
    "data blocks": "for example smaller blocks: --set drive.pages_per_block=64",
    "reserve blocks": "for example --set drive.reserve_blocks=2, the default",
    "invalid over-provisioning": "it is relative to user capacity, for example --over-provisioning 7%",
    "superblock bytes": "a superblock is one block of each plane of each die: docs/drives.md has its shape",
    "pools have no timing": "leave out --timing, or the pools",
}
"""By words of the model's own message; the first that fits."""

TABLES = ("drive", "input", "run", "timing", "life", "emulation")
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


@dataclass(frozen=True)
class Run:
    """How a drive is brought to its start state and what is measured then; lengths in drive writes (capacities)."""

    ageing: str = "overwrite"  # or "theory", "none"
    used_share: float = 1.0  # filled first, and how far a load reaches that gives no `blocks`
    tolerance: float = 0.01  # change of write amplification that counts as none
    limit: float = 200.0  # after which ageing gives up, and then measuring
    accuracy: float = 0.005  # half of the interval over the mean: measured until it is no wider
    drive_writes: float = 2.0  # at least
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
    """What the flash is rated for: erases of each block, and the years over which they are spread."""

    rated_cycles: int = 3000
    years: float = 5.0


@dataclass(frozen=True)
class Description:
    """One drive under one load. `service` is the table of service times; `requests` None: latencies are not asked for.

    `input` has a table for each part of the load, with sizes in bytes; one that gives no `blocks` reaches as far as the
    drive is in use.
    """

    drive: DriveDescription
    input: Sequence[Mapping[str, Any]]
    run: Run
    requests: Requests | None
    service: Mapping[str, Any]
    life: Life


_Table = TypeVar("_Table", Run, Requests, Life)


def read(path: Path | None, settings: Sequence[str] = (), *, timing: bool = False) -> dict[str, Any]:
    """The tables of a TOML file (None: no file), with settings `table.key=value` laid over them.

    `timing` asks for latencies although the file has no such table. `UsageError` for what cannot be read.
    """
    document: dict[str, Any] = {}
    if path is not None:
        try:
            document = untrusted.toml(untrusted.read_text(path, pipes=True))
        except FileNotFoundError:
            raise _no_file(path) from None
        except ValueError as error:
            detail = str(error)
            raise UsageError(f'"{path}" is not valid TOML: {detail[:1].lower()}{detail[1:]}') from None
        _check_tables(document)
    if timing:
        document.setdefault("timing", {})
    for setting in settings:
        key, sign, value = setting.partition("=")
        if not sign or not key:
            raise not_an_assignment(setting, "KEY=VALUE")
        assign(document, key, value)
    return document


def _check_tables(document: Mapping[str, Any]) -> None:
    for name, value in document.items():
        if name not in TABLES:
            raise _unknown_table(name)
        parts = value if name == "input" and isinstance(value, list) else [value]
        if not all(isinstance(part, dict) for part in parts):
            form = "[input], or [[input]] for each of several" if name == "input" else f"[{name}]"
            raise UsageError(f'"{name}" must be a table', f"write {form} on a line of its own and its keys below")


def assign(document: dict[str, Any], key: str, value: str) -> None:
    """Lay one setting over the document. The value is TOML if it can be, else text."""
    table, dot, name = key.partition(".")
    if not dot or table not in TABLES:
        raise _unknown_table(table)
    parsed = value
    with suppress(tomllib.TOMLDecodeError):  # A bare word, a size or a percentage stays text.
        parsed = tomllib.loads(f"value = {value}")["value"]
    tables = document.setdefault(table, {})
    for part in tables if isinstance(tables, list) else [tables]:
        part[name] = parsed


def describe(document: Mapping[str, Any]) -> Description:
    """The checked description of a document's tables; `UsageError` names the key, what is wrong, what is accepted."""
    _check_tables(document)
    run = _run(document.get("run", {}))
    timing, service, requests = document.get("timing"), dict[str, Any](), None
    if timing is not None:  # the requests', and the drive's service times
        names = {field.name for field in fields(Requests)}
        service = {key: value for key, value in timing.items() if key not in names}
        requests = _values(Requests(), "timing", {key: value for key, value in timing.items() if key in names})
        _positive("timing", {"requests": requests.requests})
    try:
        drive = _drive(document, run, service if timing is not None else None)
    except DescriptionError as failure:
        raise refused(str(failure), failure.hint) from None
    given = document.get("input", {})
    components = [_component(part, drive) for part in (given if isinstance(given, list) else [given])]
    life = _values(Life(), "life", document.get("life", {}))
    _positive("life", {"rated_cycles": life.rated_cycles, "years": life.years})
    return Description(drive, components, run, requests, service, life)


def _drive(document: Mapping[str, Any], run: Run, service: Mapping[str, Any] | None) -> DriveDescription:
    """The drive with what simulations usually have: 1 GB, the run's seed, and with latencies more than one die."""
    tables = {"emulation": document.get("emulation", {}), **({} if service is None else {"timing": service})}
    given = document.get("drive", {})
    said = DriveDescription({"drive": given, **tables})
    usual: dict[str, Any] = {"seed": run.seed}
    # A trace knows how large the drive was that it was recorded on.
    if said.capacity_bytes is None and run.trace is None:
        usual["user_bytes"] = _USUAL_BYTES
    if service is not None and "profile" not in service and not said.has_shape:
        usual |= _TIMED_SHAPE
    return DriveDescription({"drive": {**usual, **given}, **tables})


def _run(table: Mapping[str, Any]) -> Run:
    run = _values(Run(), "run", table)
    if run.ageing not in ("overwrite", "theory", "none"):
        raise wrong_value("run.ageing", run.ageing, "must be overwrite, theory or none")
    names = ("window", "drive_writes", "limit", "tolerance", "accuracy", "used_share")
    _positive("run", {name: getattr(run, name) for name in names})
    if run.used_share > 1:
        raise wrong_value("run.used_share", run.used_share, "must be at most 1, the whole drive")
    if run.trace is not None and not Path(run.trace).is_file():
        raise _no_file(Path(run.trace))
    return run


def _positive(table: str, values: Mapping[str, float]) -> None:
    for name, value in values.items():
        if not value > 0:
            raise wrong_value(f"{table}.{name}", value, "must be greater than 0")


def _component(table: Mapping[str, Any], drive: DriveDescription) -> dict[str, Any]:
    part = _readable("input", table)
    share = part.pop("compressed_to", None)
    if share is not None:
        if drive.kind != "compressing":
            raise UsageError(
                "input.compressed_to has no effect on a page-mapped drive", "give --kind compressing, or leave it out"
            )
        if "sizes" in part:
            raise wrong_value("input.compressed_to", share, "input.sizes is given too")
        left = _number("input.compressed_to", share)
        if not 0 <= left <= 1:
            raise wrong_value("input.compressed_to", share, "must be a share from 0 to 1, such as 40%")
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
            raise wrong_value(key, value, error.message) from None
    return value


def _number(key: str, value: Any) -> float:
    text = str(value)
    try:
        number = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise wrong_value(key, value, "must be a number or a percentage") from None
    if not math.isfinite(number):
        raise wrong_value(key, value, "must be finite")
    return number


def _values(usual: _Table, table: str, given: Mapping[str, Any]) -> _Table:
    """`usual` with the given values in the types that its fields have."""
    known = get_type_hints(type(usual))
    changed: dict[str, Any] = {}
    for key, value in given.items():
        if key not in known:
            raise UsageError(f'unknown key "{table}.{key}"', f"the keys of {table} are {', '.join(sorted(known))}")
        kind: Any = known[key]
        if str in (kind, *get_args(kind)):
            changed[key] = str(value)
            continue
        number = _number(f"{table}.{key}", value)
        if kind is int and number != int(number):
            raise wrong_value(f"{table}.{key}", value, "must be a whole number")
        changed[key] = int(number) if kind is int else number
    return replace(usual, **changed)


def _no_file(path: Path) -> UsageError:
    return UsageError(f'file "{path}" does not exist')


def _unknown_table(table: str) -> UsageError:
    return UsageError(f'unknown table "{table}"', f"the tables are {', '.join(TABLES)}")


def not_an_assignment(text: str, form: str) -> UsageError:
    """`--set` or `--sweep` without a key or a value."""
    return UsageError(f'"{text}" is not of the form {form}', "for example drive.policy=fifo")


def wrong_value(key: str, value: object, reason: str) -> UsageError:
    """A value that a key cannot have."""
    return UsageError(f'invalid value "{value}" for {key}: {reason}', _KEYS)


def refused(detail: str, hint: str = "") -> UsageError:
    """The model refuses a description or an input; it says which value and why."""
    known = next((known for words, known in _HINTS.items() if words in detail), _KEYS)
    return UsageError(detail, hint or known)
