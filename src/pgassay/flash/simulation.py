"""One simulation: age a drive, write a load window by window, read what the drive says, and time it if asked.

The curve of write amplification over drive writes starts at the fresh drive, so that one sees where it settles. Ageing
and measuring end where `steady_state` says that the mean stands still and is known well enough, or at a limit.

It holds for independent writes over all that is in use. The alpha of the formulas is usable flash over what is in use:
a drive that is half empty has more to spare than it was sold with.

"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pgassay import _core
from pgassay.flash.memory import at_once
from pgassay.flash.settings import Description, Life, Requests, Run, describe, refused
from pgassay.flash.steady_state import Estimate, estimate

if TYPE_CHECKING:  # only in the stub: the module gives plain dicts
    from pgassay._core import FlashCounters, FlashHealth, FlashTimingReport


_MAPPED_BYTES = 4096

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
    if run.trace is not None or classes is None or (compressing and not described.get("straddling", True)):
        return None
    blocks = sum(count for count, _, _ in classes)
    if not math.isclose(blocks, _blocks_in_use(drive, parts, run)):
        return None
    policy = described.get("policy", "greedy")
    if "pools" in described:
        alphas = _alphas_of_pools(drive, described["pools"], classes, parts)
        if alphas is None:
            return None
        return _core.flash_theory(policy, drive.alpha, drive.pages_per_block, classes, separated=alphas)
    live_bytes = sum(count * mean for count, _, mean in classes) if compressing else blocks * _MAPPED_BYTES
    if drive.usable_bytes <= live_bytes:
        return None
    return _core.flash_theory(
        policy,
        drive.usable_bytes / (blocks * _MAPPED_BYTES),
        drive.pages_per_block,
        classes,
        choices=described.get("choices", 2),
        compressing=compressing,
    )


def used_blocks(drive: _core.FlashDrive, run: Run) -> int:
    """Blocks that are filled first, rounded as the model rounds them."""
    return max(1, math.floor(drive.logical_blocks * run.used_share + 0.5))


def _blocks_in_use(drive: _core.FlashDrive, parts: Sequence[Mapping[str, Any]], run: Run) -> int:
    """All blocks up to the last that is filled or written: there is a formula only if the load covers them all."""
    filled = 0 if run.ageing == "none" else used_blocks(drive, run)
    return max(filled, *(int(part.get("first_block", 0)) + int(part["blocks"]) for part in parts))


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


_BLOCK_BYTES = 4096
_WEAR_BINS = 40
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
        """Plain values for JSON: the counters beside the other fields."""
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
    wear_histogram: Sequence[Mapping[str, int]]
    """Bins of erase counts: `erases` (the least of a bin) and `blocks`."""
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
    trace: str | None
    drive_writes: float = 0.0
    windows: list[Window] = field(default_factory=list)
    stopped: str | None = None

    def write(self, phase: str, drive_writes: float) -> None:
        """Write one window (a trace always whole) and note its counters."""
        before = self.drive.counters()
        try:
            if self.trace is not None:
                self.drive.replay(self.trace)
            else:
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

    def amplifications(self, first: int) -> NDArray[np.float64]:
        """Write amplification of each window from the given one on."""
        return np.array([one.write_amplification for one in self.windows[first:]])

    def wave(self, windows: NDArray[np.float64]) -> float:
        """Windows that a turn of the flash takes at the mean of these; infinite where nothing is programmed."""
        programmed = float(windows.mean()) * self.windows[-1].counters["host_bytes_written"] if len(windows) else 0.0
        return self.drive.usable_bytes / programmed if programmed else math.inf


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
    """The same for a checked description of which is known that it fits into memory, beside others that are running."""
    try:
        return _simulate(description)
    except _core.DescriptionError as failure:
        raise refused(str(failure), failure.hint) from None
    except (ValueError, TypeError, OverflowError) as error:
        raise refused(str(error)) from None


def _simulate(description: Description) -> Simulation:
    run = description.run
    described, drive = _fresh(description)
    parts = [_within(part, drive, run) for part in description.input]
    load = _core.FlashInput(drive.logical_blocks, [_checked_by_model(part) for part in parts], run.seed)
    if description.requests is not None:
        _clock(drive, load, description, requests=0)  # What cannot be timed is refused before minutes of ageing.
    state = _State(drive, load, run.trace)
    settled = _age(state, description, parts)
    before = drive.counters()
    known = _measure(state, run)
    total = difference(drive.counters(), before)
    host = total["host_bytes_written"]
    measured = total["nand_bytes_written"] / host if host else None
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
        health=drive.health(description.life.rated_cycles),
        life=description.life,
        drive_writes_per_day=_per_day(description, drive, measured),
        wear_histogram=_wear(drive),
        timing=_time(description, state),
    )


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
                windows = state.amplifications(first)
                known = estimate(windows, state.wave(windows))
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
        windows = state.amplifications(first)
        drive_writes = state.windows[-1].counters["host_bytes_written"] / (state.drive.logical_blocks * _BLOCK_BYTES)
        if _core.flash_is_steady(windows, state.wave(windows), stretch / drive_writes, run.tolerance):
            return True
        due = math.ceil(_NEXT_LOOK * len(windows))
    return False


def _coldest_turn(state: _State, parts: Sequence[Mapping[str, Any]]) -> float:
    """Drive writes in which the coldest tenth of what is written is written once over; 0 where that is not known."""
    if state.trace is not None:
        return 0.0
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


def _per_day(description: Description, drive: _core.FlashDrive, measured: float | None) -> float | None:
    if not measured:
        return None
    life = description.life
    return drive.drive_writes_per_day(measured, rated_cycles=life.rated_cycles, years=life.years)


def _wear(drive: _core.FlashDrive) -> list[dict[str, int]]:
    counts = drive.erase_counts()
    low, high = int(counts.min()), int(counts.max())
    width = (high - low) // _WEAR_BINS + 1
    bins = np.bincount((counts - low) // width)
    return [{"erases": low + index * width, "blocks": int(blocks)} for index, blocks in enumerate(bins)]


def _time(description: Description, state: _State) -> FlashTimingReport | None:
    if state.stopped is not None or description.requests is None:
        return None
    if state.trace is not None:
        return state.drive.time_trace(state.trace, service=_single_figures(description))
    return _clock(state.drive, state.load, description, requests=description.requests.requests)


def _clock(
    drive: _core.FlashDrive, load: _core.FlashInput, description: Description, *, requests: int
) -> FlashTimingReport:
    asked = asdict(description.requests or Requests()) | {"requests": requests}
    return drive.time(load, service=_single_figures(description), seed=description.run.seed, **asked)


def _single_figures(description: Description) -> Any:
    """Service times of a drive that has no profile; one that has brought them when it was made."""
    return None if "profile" in description.service else dict(description.service)


def _fresh(description: Description) -> tuple[dict[str, Any], _core.FlashDrive]:
    """The drive's table and the drive; without a capacity it is as large as the one that a trace was recorded on."""
    drive, trace = description.drive, description.run.trace
    if drive.capacity_bytes is None and trace is not None:
        drive = drive.with_capacity(_core.FlashTrace(trace).drive_blocks * _BLOCK_BYTES)
    described = drive.tables()["drive"]
    profile = _checked_by_model(description.service) if "profile" in description.service else None
    return described, _core.FlashDrive(_checked_by_model(described), profile)


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
