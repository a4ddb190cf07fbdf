"""One simulation: age a drive, write a load window by window, read what the drive says, and time it if asked.

The curve of write amplification over drive writes starts at the fresh drive, so that one sees where it settles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pgassay import _core
from pgassay.cli.simulate import _formula, _messages
from pgassay.cli.simulate._description import Description, Requests, Run

if TYPE_CHECKING:
    from pgassay._core import FlashCounters  # only in the stub: the module gives plain dicts

_BLOCK_BYTES = 4096
_WEAR_BINS = 40


@dataclass
class _State:
    """A drive while it is written."""

    drive: _core.FlashDrive
    load: _core.FlashInput
    trace: str | None
    drive_writes: float = 0.0
    windows: list[dict[str, Any]] = field(default_factory=list)
    stopped: str | None = None

    def write(self, phase: str, drive_writes: float) -> None:
        """Write one window (a trace always whole) and note what came of it."""
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
        self.windows.append(
            {
                "phase": phase,
                "drive_writes": self.drive_writes,
                "write_amplification": window["nand_bytes_written"] / host,
                "free_blocks": self.drive.free_blocks,
                **window,
            }
        )

    def settled(self, tolerance: float) -> bool:
        """Whether two spans in a row agree. A span is a drive write, or a turn of the flash if that takes longer: on a
        drive that compresses well, nothing is collected until all flash has been programmed once."""
        spans: list[float] = []
        host = nand = erased = 0
        for row in reversed(self.windows):
            host += row["host_bytes_written"]
            nand += row["nand_bytes_written"]
            erased += row["blocks_erased"]
            if host >= 0.999 * self.drive.logical_blocks * _BLOCK_BYTES and nand >= self.drive.usable_bytes:
                if erased == 0:
                    return False
                spans.append(nand / host)
                host = nand = erased = 0
            if len(spans) == 2:
                return abs(spans[0] / spans[1] - 1) < tolerance
        return False


def difference(now: FlashCounters, before: FlashCounters) -> dict[str, int]:
    """What was counted in between."""
    later, earlier = dict(now), dict(before)
    return {name: int(str(later[name])) - int(str(earlier[name])) for name in later}


def simulate(description: Description) -> dict[str, Any]:
    """Everything that one simulation finds, as plain values. `UsageError` for what the model refuses."""
    try:
        return _simulate(description)
    except (ValueError, TypeError, OverflowError) as error:
        raise _messages.refused(str(error)) from None


def _simulate(description: Description) -> dict[str, Any]:
    run = description.run
    described = _drive(description)
    drive = _core.FlashDrive(_checked_by_model(described))
    parts = [_within(part, drive, run) for part in description.input]
    load = _core.FlashInput(drive.logical_blocks, [_checked_by_model(part) for part in parts], run.seed)
    if description.requests is not None:
        _clock(drive, load, description, requests=0)  # What cannot be timed is refused before minutes of ageing.
    state = _State(drive, load, run.trace)
    settled = _age(state, description)
    before = drive.counters()
    first = len(state.windows)
    while state.stopped is None and not _measured(state, first, run):
        state.write("measured", run.window)
    total = difference(drive.counters(), before)
    host = total["host_bytes_written"]
    measured = total["nand_bytes_written"] / host if host else None
    result = {
        "drive": described,
        "input": [dict(part) for part in description.input],
        "run": asdict(run),
        "logical_bytes": drive.logical_blocks * _BLOCK_BYTES,
        "physical_bytes": drive.physical_bytes,
        "pages_per_block": drive.pages_per_block,
        "alpha": drive.alpha,
        "settled": settled,
        "stopped": state.stopped,
        "write_amplification": measured,
        "theory": _formula.write_amplification(drive, described, load, parts, run),
        "measured": total,
        "windows": state.windows,
        "health": drive.health(description.life.rated_cycles),
        "life": {**asdict(description.life), "drive_writes_per_day": _per_day(description, drive, measured)},
        "wear_histogram": _wear(drive),
    }
    result["timing"] = _time(description, state) if description.requests is not None else None
    return result


def _measured(state: _State, first: int, run: Run) -> bool:
    """Whether enough has been measured: what was asked for, and in steady state a whole turn of the flash, because data
    that were written together come round together."""
    written = state.drive_writes - (state.windows[first - 1]["drive_writes"] if first else 0.0)
    turned = sum(row["nand_bytes_written"] for row in state.windows[first:]) >= state.drive.usable_bytes
    return written > run.drive_writes - run.window / 2 and (
        turned or run.ageing != "overwrite" or run.trace is not None
    )


def _age(state: _State, description: Description) -> bool | None:
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
    while state.stopped is None and state.drive_writes < run.limit:
        state.write("ageing", run.window)
        if state.settled(run.tolerance):
            return True
    return False


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


def _time(description: Description, state: _State) -> Mapping[str, Any] | None:
    if state.stopped is not None or description.requests is None:
        return None
    if state.trace is not None:
        return dict(state.drive.time_trace(state.trace, service=_checked_by_model(description.service)))
    return _clock(state.drive, state.load, description, requests=description.requests.requests)


def _clock(
    drive: _core.FlashDrive, load: _core.FlashInput, description: Description, *, requests: int
) -> Mapping[str, Any]:
    asked = asdict(description.requests or Requests()) | {"requests": requests}
    service = _checked_by_model(description.service)
    return dict(drive.time(load, service=service, seed=description.run.seed, **asked))


def _drive(description: Description) -> dict[str, Any]:
    """The drive's table; without a capacity it is as large as the drive that the trace was recorded on."""
    described = dict(description.drive)
    if "user_bytes" not in described and description.run.trace is not None:
        described["user_bytes"] = _core.FlashTrace(description.run.trace).drive_blocks * _BLOCK_BYTES
    return described


def _within(part: Mapping[str, Any], drive: _core.FlashDrive, run: Run) -> dict[str, Any]:
    """A part of the load with its length: one that gives none goes as far as the drive is in use, or to its end."""
    first = part.get("first_block", 0)
    if "blocks" in part or not isinstance(first, int) or first < 0:
        return {"blocks": drive.logical_blocks, **part}
    used = _formula.used_blocks(drive, run)
    return {**part, "blocks": max(1, (used if first < used else drive.logical_blocks) - first)}


def _checked_by_model(table: Mapping[str, Any]) -> Any:
    """A dict of which the model itself checks every key and value."""
    return dict(table)
