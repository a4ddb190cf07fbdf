"""One simulation: age a drive, write a load window by window, read what the drive says, and time it if asked.

The curve of write amplification over drive writes starts at the fresh drive, so that one sees where it settles. Ageing
and measuring end where the flash model says that the mean stands still (`_core.flash_is_steady`, for simulated and
emulated drives alike) and where it is known well enough, or at a limit.

The formulas hold for independent writes over all that is in use. Their alpha is usable flash over what is in use: a
drive that is half empty has more to spare than it was sold with.

Several are simulated at a time, as many as there are cores and memory for: the model's tables grow with the drive, and
a machine that runs out of memory ends programs that others may need more, so what does not fit is refused before.

What is simulated comes from tables `drive`, `input`, `run`, `timing` and `life` of a TOML file, with settings laid over
them. Keys of `drive` and the service times of `timing` are those of every drive (`pgassay._core.DriveDescription`),
those of `input` the model's; sizes may be written as PostgreSQL writes them (`16GB`), shares as per cent.
"""

from __future__ import annotations

import copy
import itertools
import math
import os
import tomllib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit  # type: ignore[import-untyped]

from pgassay import _core, untrusted
from pgassay._core import DescriptionError, DriveDescription
from pgassay.errors import UsageError
from pgassay.interfaces.places import available_memory_bytes
from pgassay.study.units import format_size, parse_memory

if TYPE_CHECKING:  # only in the stub: the module gives plain dicts
    from pgassay._core import FlashCounters, FlashHealth, FlashTimingReport


_KEYS = "docs/drives.md has every key, its default and what it means"
_HINTS = {
    "past the end of the drive": "give a --capacity that holds it",
    "data blocks": "for example smaller blocks: --set drive.pages_per_block=64",
    "reserve blocks": "for example --set drive.reserve_blocks=2, the default",
    "invalid over-provisioning": "it is relative to user capacity, for example --over-provisioning 7%",
    "superblock bytes": "a superblock is one block of each plane of each die: docs/drives.md has its shape",
    "pools have no timing": "leave out --timing, or the pools",
}
"""By words of the model's own message; the first that fits."""

_BLOCK_BYTES = 4096
TABLES = ("drive", "input", "run", "timing", "life", "emulation")
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
    seed: int = 1


@dataclass(frozen=True)
class Requests:
    """Requests against the clock."""

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
            raise UsageError(f'file "{path}" does not exist') from None
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
    if said.capacity_bytes is None:
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
    return run


def _positive(table: str, values: Mapping[str, float]) -> None:
    for name, value in values.items():
        if not value > 0:
            raise wrong_value(f"{table}.{name}", value, "must be greater than 0")


def _component(table: Mapping[str, Any], drive: DriveDescription) -> dict[str, Any]:
    part: dict[str, Any] = _plain("input", table)
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


def _plain(key: str, value: Any) -> Any:
    """Sizes and percentages as numbers, in tables and lists as well; all else as it is."""
    if isinstance(value, list):
        return [_plain(key, part) for part in value]
    if isinstance(value, Mapping):
        return {name: _plain(f"{key}.{name}", each) for name, each in value.items()}
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


Class = tuple[float, float, float]
"""Blocks, their share of the writes, their mean bytes on flash."""


def write_amplification(
    drive: _core.FlashDrive,
    described: Mapping[str, Any],
    load: _core.FlashInput,
    parts: Sequence[Mapping[str, Any]],
    run: Run,
) -> float | None:
    """By formula for a checked description; None where there is none. `parts` are the load's, with their lengths."""
    compressing = described.get("kind") == "compressing"
    classes = load.popularity(described.get("granularity_bytes", 64) if compressing else 1)
    if classes is None or (compressing and not described.get("straddling", True)):
        return None
    blocks = sum(count for count, _, _ in classes)
    filled = 0 if run.ageing == "none" else used_blocks(drive, run)
    last = max(filled, *(int(part.get("first_block", 0)) + int(part["blocks"]) for part in parts))
    if not math.isclose(blocks, last):  # the load leaves out blocks that are filled, or in between
        return None
    policy = described.get("policy", "greedy")
    if "pools" in described:
        alphas = _alphas_of_pools(drive, described["pools"], classes, parts)
        if alphas is None:
            return None
        return _core.flash_theory(policy, drive.alpha, drive.pages_per_block, classes, separated=alphas)
    live_bytes = sum(count * mean for count, _, mean in classes) if compressing else blocks * _BLOCK_BYTES
    if drive.usable_bytes <= live_bytes:
        return None
    return _core.flash_theory(
        policy,
        drive.usable_bytes / (blocks * _BLOCK_BYTES),
        drive.pages_per_block,
        classes,
        choices=described.get("choices", 2),
        compressing=compressing,
    )


def used_blocks(drive: _core.FlashDrive, run: Run) -> int:
    """Blocks that are filled first, rounded as the model rounds them."""
    return max(1, math.floor(drive.logical_blocks * run.used_share + 0.5))


def _alphas_of_pools(
    drive: _core.FlashDrive,
    pools: Sequence[Sequence[float]],
    classes: Sequence[Class],
    parts: Sequence[Mapping[str, Any]],
) -> list[float] | None:
    """The alpha of each pool if each class of blocks has one to itself, else None."""
    firsts = [part.get("first_block", 0) for part in parts]
    in_order = all(one < other for one, other in pairwise(firsts)) and not any(part.get("scattered") for part in parts)
    if not in_order or len(classes) != len(pools):
        return None
    sizes = [share * drive.logical_blocks for share, _ in pools]
    if any(abs(size - count) > 1 for size, (count, _, _) in zip(sizes, classes, strict=True)):
        return None
    return [1 + over_provisioning for _, over_provisioning in pools]


_NEXT_LOOK = 1.05
"""Times as many windows before it is looked again: frequent looks would find by chance what they look for."""
_POPULARITY = ("pattern", "exponent", "hot_blocks", "hot_writes", "blocks")
"""Keys of an input that say how often its blocks are written."""
_COLD_SHARE = 0.1
"""Of the blocks that are written: the coldest, which take longest to come round."""


@dataclass(frozen=True)
class Window:
    """A stretch of writes. `phase` is `fill`, `ageing` or `measured`; `drive_writes` counts from the start."""

    phase: str
    drive_writes: float
    write_amplification: float
    free_blocks: int
    counters: Mapping[str, int]
    """What was counted in it, by the names that nvme-cli prints."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON: the counters along with the other fields."""
        plain = {name: value for name, value in vars(self).items() if name != "counters"}
        return {**plain, **self.counters}


@dataclass(frozen=True)
class Simulation:
    """What one simulation found. Sizes in bytes; docs/drives.md says what each number means."""

    drive: Mapping[str, Any]
    """As it was described, in bytes, shares and words."""
    input: Sequence[Mapping[str, Any]]
    run: Run
    logical_bytes: int
    physical_bytes: int
    pages_per_block: int
    alpha: float
    """Usable flash over user capacity."""
    settled: bool | None
    """Whether the mean over whole waves stood still when ageing ended; None where that was not asked."""
    stopped: str | None
    """Why the simulation ended early; None if it did not."""
    write_amplification: float | None
    """Of what was measured; None if nothing was written."""
    write_amplification_interval: tuple[float, float] | None
    """95 % interval of its mean in the long run; None without a steady state or with too few waves to tell."""
    accuracy_reached: bool | None
    """Whether half of the interval is within `run.accuracy`; None without ageing, where there is nothing to reach."""
    theory: float | None
    """The same by formula, where one holds."""
    measured: Mapping[str, int]
    """Counters over what was measured."""
    windows: Sequence[Window]
    health: FlashHealth
    life: Life
    drive_writes_per_day: float | None
    """How many the flash bears over its years."""
    timing: FlashTimingReport | None
    """Latencies, where they were asked for."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values under stable names, for JSON."""
        plain = {name: value for name, value in vars(self).items() if name != "drive_writes_per_day"}
        return {
            **plain,
            "input": [dict(part) for part in self.input],
            "run": asdict(self.run),
            "windows": [window.as_dict() for window in self.windows],
            "life": {**asdict(self.life), "drive_writes_per_day": self.drive_writes_per_day},
        }


@dataclass
class _State:
    """A drive while it is written."""

    drive: _core.FlashDrive
    load: _core.FlashInput
    drive_writes: float = 0.0
    windows: list[Window] = field(default_factory=list)
    stopped: str | None = None

    def write(self, phase: str, drive_writes: float) -> None:
        """Write one window and note its counters."""
        before = self.drive.counters()
        try:
            self.drive.apply(self.load, max(1, round(drive_writes * self.drive.logical_blocks)))
        except _core.FlashOutOfSpaceError as error:
            self.stopped = str(error)
        self.note(phase, before)

    def note(self, phase: str, before: FlashCounters) -> None:
        """Add the difference of the counters as a window."""
        window = difference(self.drive.counters(), before)
        host = window["host_bytes_written"]
        if host == 0:
            self.stopped = self.stopped or "the input writes nothing"
            return
        self.drive_writes += host / (self.drive.logical_blocks * _BLOCK_BYTES)
        amplification = window["nand_bytes_written"] / host
        self.windows.append(Window(phase, self.drive_writes, amplification, self.drive.free_blocks, window))

    def amplifications(self, first: int) -> tuple[NDArray[np.float64], float]:
        """Write amplification of each window from the given one on, and the windows that a turn of the flash takes at
        their mean; infinite where nothing is programmed.
        """
        found = np.array([one.write_amplification for one in self.windows[first:]])
        programmed = float(found.mean()) * self.windows[-1].counters["host_bytes_written"] if len(found) else 0.0
        return found, self.drive.usable_bytes / programmed if programmed else math.inf


def difference(now: FlashCounters, before: FlashCounters) -> dict[str, int]:
    """What was counted in between."""
    later, earlier = dict(now), dict(before)
    return {name: int(str(later[name])) - int(str(earlier[name])) for name in later}


def simulate(description: Description | Mapping[str, Any]) -> Simulation:
    """Age a drive, write its load, and read what the drive says.

    `description` is checked already, or has the tables of docs/drives.md: `{"drive": {"user_bytes": "16GB"}}`.
    Takes seconds to minutes. `UsageError` for what cannot be, and for a drive whose tables do not fit into memory; a
    drive that runs out of space is a result (`stopped`).
    """
    checked = description if isinstance(description, Description) else describe(description)
    at_once([checked], 1)
    return simulate_described(checked)


def simulate_described(description: Description) -> Simulation:
    """The same for a checked description of which is known that it fits into memory, with others that run."""
    try:
        run = description.run
        fresh, service, requests = description.drive, description.service, description.requests
        described, has_profile = fresh.tables()["drive"], "profile" in service
        profile = _checked_by_model(service) if has_profile else None
        figures = None if has_profile else _checked_by_model(service)
        drive = _core.FlashDrive(_checked_by_model(described), profile)
        parts = [_within(part, drive, run) for part in description.input]
        load = _core.FlashInput(drive.logical_blocks, [_checked_by_model(part) for part in parts], run.seed)
        if requests is not None:  # What cannot be timed is refused before minutes of ageing.
            drive.time(load, service=figures, seed=run.seed, **asdict(replace(requests, requests=0)))
        state = _State(drive, load)
        settled = _age(state, description, parts)
        before = drive.counters()
        known = _measure(state, run)
        total = difference(drive.counters(), before)
        host = total["host_bytes_written"]
        measured = total["nand_bytes_written"] / host if host else None
        life, per_day = description.life, None
        if measured:
            per_day = drive.drive_writes_per_day(measured, rated_cycles=life.rated_cycles, years=life.years)
        timing: FlashTimingReport | None = None
        if state.stopped is None and requests is not None:
            timing = drive.time(load, service=figures, seed=run.seed, **asdict(requests))
        return Simulation(
            drive=described,
            input=description.input,
            run=run,
            logical_bytes=drive.logical_blocks * _BLOCK_BYTES,
            physical_bytes=drive.physical_bytes,
            pages_per_block=drive.pages_per_block,
            alpha=drive.alpha,
            settled=settled,
            stopped=state.stopped,
            write_amplification=measured,
            write_amplification_interval=None if known is None else (known.low, known.high),
            accuracy_reached=None if run.ageing == "none" else known is not None and known.reaches(run.accuracy),
            theory=write_amplification(drive, described, load, parts, run),
            measured=total,
            windows=state.windows,
            health=drive.health(life.rated_cycles),
            life=life,
            drive_writes_per_day=per_day,
            timing=timing,
        )
    except _core.DescriptionError as failure:
        raise refused(str(failure), failure.hint) from None
    except (ValueError, TypeError, OverflowError) as error:
        raise refused(str(error)) from None


def _measure(state: _State, run: Run) -> Estimate | None:
    """Write what was asked for, and from a steady state on until the mean is known as well as was asked for, or up to
    the limit. The mean with its interval; None where there is none, as on a drive that stopped."""
    began, first = state.drive_writes, len(state.windows)
    due = 0
    known: Estimate | None = None
    while state.stopped is None:
        written = state.drive_writes - began
        if written > run.drive_writes - run.window / 2:
            if run.ageing == "none":
                return None
            last = written > run.limit - run.window / 2
            if last or len(state.windows) - first >= due:
                windows, wave = state.amplifications(first)
                known = estimate(windows, wave)
                due = math.ceil(_NEXT_LOOK * len(windows))
            if last or (known is not None and known.reaches(run.accuracy)):
                return known
        state.write("measured", run.window)
    return None


def _age(state: _State, description: Description, parts: Sequence[Mapping[str, Any]]) -> bool | None:
    """Bring the drive to its start state; whether write amplification settled, None where that was not asked."""
    run = description.run
    if run.ageing == "none":
        return None
    before = state.drive.counters()
    try:
        if run.ageing == "theory":
            state.drive.age_by_theory(state.load, run.used_share, run.seed)
        else:
            state.drive.fill(state.load, run.used_share)
    except _core.FlashOutOfSpaceError as error:
        state.stopped = str(error)
    state.note("fill", before)
    if run.ageing == "theory":
        return None
    first, due = len(state.windows), 1
    stretch = max(1.0, _coldest_turn(state, parts))
    while state.stopped is None and state.drive_writes < run.limit:
        state.write("ageing", run.window)
        if len(state.windows) - first < due:
            continue
        windows, wave = state.amplifications(first)
        drive_writes = state.windows[-1].counters["host_bytes_written"] / (state.drive.logical_blocks * _BLOCK_BYTES)
        if _core.flash_is_steady(windows, wave, stretch / drive_writes, run.tolerance):
            return True
        due = math.ceil(_NEXT_LOOK * len(windows))
    return False


def _coldest_turn(state: _State, parts: Sequence[Mapping[str, Any]]) -> float:
    """Drive writes in which the coldest tenth of what is written is written once over; 0 where that is not known."""
    heats = []
    weights = sum(float(part.get("share_of_writes", 1.0)) for part in parts)
    for part in parts:
        weight, blocks = float(part.get("share_of_writes", 1.0)) / weights, int(part["blocks"])
        alone = {key: part[key] for key in _POPULARITY if key in part}
        classes = _core.FlashInput(blocks, [_checked_by_model(alone)], 0).popularity() or [(blocks, 1.0, 0.0)]
        heats += [(weight * share / count, count) for count, share, _ in classes if weight * share > 0]
    blocks_left = cold = _COLD_SHARE * sum(count for _, count in heats)
    writes = 0.0
    for heat, count in sorted(heats):
        taken = min(count, blocks_left)
        blocks_left -= taken
        writes += taken * heat
    return cold / writes / state.drive.logical_blocks if writes else 0.0


def _within(part: Mapping[str, Any], drive: _core.FlashDrive, run: Run) -> dict[str, Any]:
    """A part of the load with its length: one that gives none goes as far as the drive is in use, or to its end."""
    first = part.get("first_block", 0)
    if "blocks" in part or not isinstance(first, int) or first < 0:
        return {"blocks": drive.logical_blocks, **part}
    used = used_blocks(drive, run)
    return {**part, "blocks": max(1, (used if first < used else drive.logical_blocks) - first)}


def _checked_by_model(table: Mapping[str, Any]) -> Any:
    """A dict of which the model itself checks every key and value."""
    return dict(table)


MEMORY_SHARE_MAX = 0.9
"""Of the memory that the system calls available."""
_MAP_BYTES = 6
"""At most, for each block that a compressing drive promises beyond its user capacity."""
_SIZES_BYTES = 4
"""For each block of a compressing drive while it is filled: the size that the load gives it."""
_USER_BYTES_MAX = 1 << 44


def at_once(descriptions: Sequence[Description], wanted: int) -> int:
    """How many to simulate side by side, `wanted` at most; `UsageError` if the largest does not fit alone."""
    largest = max(map(forecast_bytes, descriptions))
    available = int(available_memory_bytes() * MEMORY_SHARE_MAX)
    if largest > available:
        raise too_large(largest, available)
    return max(1, min(wanted, available // max(1, largest)))


def forecast_bytes(description: Description) -> int:
    """About what the model of this drive takes; 0 for what cannot be a drive: the model will say why."""
    drive = description.drive
    if drive.user_bytes is None or not 0 < drive.user_bytes < _USER_BYTES_MAX:
        return 0
    compresses = drive.kind == "compressing"
    share = min(map(_mean_share, description.input)) if compresses else 1.0
    block_bytes, _ = drive.table_bytes_per_block(drive.user_bytes, share)
    more = 0
    if compresses:
        logical_bytes = drive.capacity_bytes or 0
        more = max(0, logical_bytes - drive.user_bytes) * _MAP_BYTES + logical_bytes * _SIZES_BYTES
    return int(drive.user_bytes / _BLOCK_BYTES * block_bytes) + more // _BLOCK_BYTES


def _mean_share(part: Mapping[str, Any]) -> float:
    """What is left of the blocks of an input on average, from what its `sizes` say; a hundredth at least."""
    total, before = 0.0, 0.0
    for sizes in part.get("sizes", [{"bytes": _BLOCK_BYTES}]):
        up_to = sizes.get("up_to", 1.0)
        total += (up_to - before) * _mean_bytes(sizes)
        before = up_to
    return max(0.01, min(1.0, total / _BLOCK_BYTES))


def _mean_bytes(sizes: Mapping[str, Any]) -> float:
    if "between" in sizes:
        return float(sum(sizes["between"]) / 2)
    if "weights" in sizes:
        weights = sizes["weights"]
        return float(sum(size * weight for size, weight in weights) / sum(weight for _, weight in weights))
    if "quantiles" in sizes:
        knots = pairwise(sizes["quantiles"])
        return float(sum((right[0] - left[0]) * (left[1] + right[1]) / 2 for left, right in knots))
    return float(sizes.get("bytes", _BLOCK_BYTES))


def too_large(needed_bytes: int, available_bytes: int, hint: str = "") -> UsageError:
    """A drive whose tables do not fit into memory."""
    return UsageError(
        f"the model needs about {format_size(needed_bytes)} of memory, {format_size(available_bytes)} are available",
        hint or "a smaller drive with blocks as large and the same over-provisioning stands for it: docs/drives.md",
    )


Windows = NDArray[np.float64]
"""Write amplification of successive windows, oldest first; all windows have as many host writes."""

CONFIDENCE = 0.95
_BATCHES = 10
"""At least, for an interval; up to twice as many."""
_CORRELATED = 0.05
"""Chance that means of independent batches are taken for correlated ones."""


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % interval; `independent` is False where the batches still depend on each other, so that the
    interval may be too narrow."""

    mean: float
    low: float
    high: float
    independent: bool

    def reaches(self, accuracy: float) -> bool:
        """Whether half of the interval is at most this share of the mean."""
        return self.independent and (self.high - self.low) / 2 <= accuracy * abs(self.mean)


def estimate(windows: Windows, wave: float) -> Estimate | None:
    """The mean and its interval by batch means; None for fewer than ten batches of one wave (in windows) or more.

    The windows are cut into 10 to 20 batches; the interval is Student's t over their means, around the mean of all
    windows. It holds as far as the batches are independent, so they are made longer until their lag-one correlation is
    one that chance gives. Method and number of batches: Conway, Management Science 10 (1963) 47-61; Law and Carson,
    Operations Research 27 (1979) 1011-1025, who let batches grow until the interval is narrow enough; Schmeiser,
    Operations Research 30 (1982) 556-568, for whom 10 to 30 batches are enough. Batches that end inside a wave only
    make the interval wider.
    """
    count = len(windows)
    longest = count // _BATCHES
    if longest < max(1.0, wave):
        return None
    shortest = max(math.ceil(wave), math.ceil(count / (2 * _BATCHES)))
    for length in dict.fromkeys((min(shortest, longest), longest)):
        batches = count // length  # what is left over at the start belongs to none
        means: Windows = windows[count - batches * length :].reshape(batches, length).mean(axis=1)
        independent = _independent(means)
        if independent:
            break
    mean = float(windows.mean())
    half = float(stdtrit(len(means) - 1, (1 + CONFIDENCE) / 2)) * (float(means.std(ddof=1)) / math.sqrt(len(means)))
    return Estimate(mean, mean - half, mean + half, independent)


def _independent(means: Windows) -> bool:
    """Whether the lag-one correlation is no higher than chance makes it (von Neumann's ratio; one-sided, because
    batches that cut waves alternate, which only widens the interval)."""
    deviations = means - means.mean()
    total = float(deviations @ deviations)
    if total <= len(means) * (1e-9 * float(means.mean())) ** 2:
        return True
    count = len(means)
    ratio = float(np.square(np.diff(means)).sum()) / total
    spread = math.sqrt(4 * (count - 2) / (count**2 - 1))
    return ratio >= 2 - float(ndtri(1 - _CORRELATED)) * spread


@dataclass(frozen=True)
class Point:
    """One combination: the levels by key, and what they describe."""

    levels: Mapping[str, str]
    description: Description


@dataclass(frozen=True)
class Outcome:
    """A point and what its simulation found."""

    levels: Mapping[str, str]
    simulation: Simulation


def points(document: Mapping[str, Any], sweeps: Sequence[str]) -> list[Point]:
    """The cross product of all sweeps `table.key=a,b,c` over a document's tables; one point without any.

    `UsageError` for a sweep of another form and for a level that cannot be.
    """
    factors: list[list[tuple[str, str]]] = []
    for sweep in sweeps:
        key, sign, values = sweep.partition("=")
        levels = [value.strip() for value in values.split(",") if value.strip()]
        if not sign or not key or not levels:
            raise not_an_assignment(sweep, "KEY=A,B,…")
        factors.append([(key, level) for level in levels])
    made = []
    for combination in itertools.product(*factors):
        changed = copy.deepcopy(dict(document))
        for key, level in combination:
            assign(changed, key, level)
        made.append(Point(dict(combination), describe(changed)))
    return made


def simulate_all(todo: Sequence[Point], jobs: int | None = None) -> list[Outcome]:
    """Simulate all points, `jobs` at once (None: one a core), in the order of the points.

    `UsageError` before anything begins if the largest drive does not fit into memory.
    """
    if jobs is not None and jobs < 1:
        raise wrong_value("--jobs", jobs, "must be at least 1")
    wanted = min(jobs or len(os.sched_getaffinity(0)), len(todo))
    workers = at_once([point.description for point in todo], wanted)
    with ThreadPoolExecutor(max_workers=workers) as pool:
        found = list(pool.map(lambda point: simulate_described(point.description), todo))
    return [Outcome(point.levels, result) for point, result in zip(todo, found, strict=True)]
