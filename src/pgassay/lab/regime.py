"""What the numbers of a trial are true for: how long it was, and how many checkpoint cycles its window covered.

A window between two checkpoints sees only the burst of full-page images after the first. So checkpoints are pinned: by
time (`cycle`), by WAL volume (`wal`, for short trials), or not to begin at all (`none`, labelled a burst); `default`
pins nothing. See the PostgreSQL manual, "WAL Configuration". Where a trial counts transactions, neither time nor WAL
would give every treatment the same checkpoints: then `cycle` means one whole cycle, from the CHECKPOINT before the work
to one that closes it.

With `drive.dilation` a modelled drive answers so many times later than the device that it stands for, so that a machine
too slow for that device still keeps its times. To the drive's clock the machine is as many times faster: rates that
were measured are multiplied and times divided, and a load's own rate and limit are slowed beforehand (`arms`), by which
both are as typed. After Gupta et al., "To Infinity and Beyond: Time-Warped Network Emulation" (NSDI '06), who slow the
whole machine; here processor and memory stay as they are, so an answer says what the drive does under a processor that
is so many times as fast. The server's own timers, `load.duration` and whatever scripts sleep go by the machine's
clock.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from pgassay.analysis.compare import is_speed
from pgassay.analysis.seconds import NS, trial_course
from pgassay.interfaces.probe import Sample
from pgassay.lab.arms import ResolvedArm
from pgassay.lab.settings import describe_defaults, mode_of
from pgassay.lab.trial_state import TrialState
from pgassay.probe.drives import amplification_by_half
from pgassay.study.responses import Response
from pgassay.study.work import (
    BURST,
    COUNTED,
    CUT_OFF_MAX,
    CYCLES_WANTED,
    RESTARTED_BY,
    SOMEWHERE,
    STANDBYS,
    WORDS,
    WORK,
)

_COURSE_OF = "tps"
_ROUNDING = 1e-9
"""A second over the length of a slice may come out smaller by as much."""
WARM_UP_SUFFIX = "_warmup"
"""Marks the sources of samples that were taken while the load warmed up."""


def regime_of(arm: ResolvedArm, state: TrialState) -> dict[str, str | float | None]:
    """The regime as `trial.json` keeps it, whatever became of the trial; None for what it did not come to."""
    options, window = arm.setup.load, state.window
    mode = mode_of(options) if arm.environment.server.checkpoints else SOMEWHERE
    cycles = cycles_covered(state.counters)
    samples, cut_off, halves = state.samples, None, {}
    if window:
        cut_off = unfinished(samples, window.started_monotonic_ns, window.length_monotonic_ns)
        halves = amplification_by_half(samples, window.started_monotonic_ns, window.length_monotonic_ns)
    defaults = describe_defaults(arm.study)
    waits = state.settings.get("synchronous_commit", "on") not in ("off", "local")  # each commit, for standbys
    return {
        **({"defaults": defaults} if defaults else {}),
        "window_s": window.length_monotonic_ns / 1e9 if window and not options.count else None,
        "warmup_s": None if options.count else float(options.warmup_s),
        "checkpoint": mode,
        "checkpoint_cycles": cycles,
        "checkpoint_cut_off": cut_off,
        "checkpoint_words": describe(mode, cycles, cut_off),
        "cache": state.cache,
        "age": options.to_levels().get("age", "none"),
        "start_state": state.how_cloned,
        **state.pairing,
        **({COUNTED: arm.instrument.name} if options.count else {}),
        **({"dilation": float(arm.setup.drive.dilation)} if arm.setup.drive.dilation > 1 else {}),
        **({"huge_pages": state.huge_pages} if state.huge_pages else {}),
        **({RESTARTED_BY: command} if (command := arm.environment.server.restart) else {}),
        **({STANDBYS: names} if waits and (names := state.settings.get(STANDBYS)) else {}),
        **{name: trait.found for name, trait in state.traits.items()},
        **course_of(samples, state.pairing.get("slice_s")),
        **halves,
    }


def cycles_covered(differences: Mapping[str, float | None]) -> float | None:
    """Checkpoints begun inside the window, which started right after one: each of them closes a whole cycle."""
    found = [differences[name] for name in _CHECKPOINT_METERS if differences.get(name) is not None]
    return sum(value for value in found if value is not None) if found else None


_SOURCE = "checkpoints"
_NAMES = ("checkpoints_timed", "checkpoints_requested")
_CHECKPOINT_METERS = tuple(f"{_SOURCE}.{name}" for name in _NAMES)


def unfinished(samples: Iterable[Sample], started_ns: int, window_ns: int) -> float | None:
    """The share of the window that lies after its last whole cycle, to a second; None without a whole one.

    A part of a cycle holds more of the burst than of the calm after it, so a large share makes a window less true.
    """
    ended_ns = started_ns + window_ns
    begun = [moment for moment in checkpoints_ns(samples, started_ns) if moment <= ended_ns]
    return (ended_ns - begun[-1]) / window_ns if begun and window_ns > 0 else None


def checkpoints_ns(samples: Iterable[Sample], started_ns: int) -> list[int]:
    """When checkpoints were first counted since `started_ns`, to a second: at their beginning, or at their end where
    the checkpointer was too late to say so before. Either way once in each cycle."""
    moments: dict[int, float] = {}
    for sample in samples:
        if sample.source == _SOURCE and sample.name in _NAMES and sample.value is not None:
            moments[sample.monotonic_ns] = moments.get(sample.monotonic_ns, 0.0) + sample.value
    return [
        later
        for (sooner, before), (later, after) in pairwise(sorted(moments.items()))
        if after > before and sooner >= started_ns - NS
    ]


def describe(mode: str, cycles: float | None, cut_off: float | None = None) -> str:
    """The regime in words, which say so if the window did not cover what was asked for.

    `cut_off` is the share of the window in a cycle that did not end in it.
    """
    if mode in (BURST, SOMEWHERE, WORK):
        return WORDS[mode]
    if cycles is None:
        return f"{WORDS.get(mode, mode)}; the number of cycles could not be read"
    if cycles < CYCLES_WANTED:
        covered = "no whole checkpoint cycle" if cycles < 1 else "only one whole checkpoint cycle"
        return f"{covered} in the window: mostly the burst after a checkpoint"
    rest = "" if cut_off is None or cut_off <= CUT_OFF_MAX else f"; {cut_off:.0%} of the window in a cycle cut off"
    return f"{cycles:.0f} {WORDS.get(mode, mode)}{rest}"


def course_of(samples: Sequence[Sample], slice_s: object = None) -> Mapping[str, str | float | None]:
    """How the window went second by second: `steadiness`, `truncation_s`, `tps_error` (1/s) and `cycle_s`.

    Where servers took turns of `slice_s` the seconds are those that the server played, its slices one after the other.

    The load's own transactions per second are judged, with the checkpoints that were counted meanwhile. It is kept
    with the regime, so that a report need not read series; a load without a series yields an empty mapping.
    """
    mine = [each for each in samples if each.name == _COURSE_OF and not each.source.endswith(WARM_UP_SUFFIX)]
    if not mine:
        return {}
    values = [each.value for each in mine]
    if isinstance(slice_s, float):
        played = _by_second(values, slice_s)
        found = trial_course([second * NS for second in range(len(played))], played)
    else:
        moments = [each.monotonic_ns for each in mine]
        found = trial_course(moments, values, checkpoints_ns(samples, moments[0] - NS))
    return {
        "steadiness": found.kind.value,
        "truncation_s": found.truncation_s,
        "tps_error": found.error,
        "cycle_s": found.cycle_s,
    }


def _by_second(values: Sequence[float | None], slice_s: float) -> list[float | None]:
    """Of each second that was played the mean of the slices in it, or the slice that it is a part of."""
    found: list[float | None] = []
    for second in range(int(len(values) * slice_s + _ROUNDING)):
        first, end = (int(moment / slice_s + _ROUNDING) for moment in (second, second + 1))
        known = [each for each in values[first : max(first + 1, end)] if each is not None]
        found.append(sum(known) / len(known) if known else None)
    return found


MODELLED = frozenset({"asked_service_us"})
"""Responses that the drive itself tells, by its own clock."""
_RATES = ("1/s", "1/min", "tps")
_TIMES = ("s", "ms", "us")


def by_drive_clock(
    found: Mapping[str, float | None], declared: Iterable[Response], dilation: int
) -> dict[str, float | None]:
    """Responses with rates and times by the drive's clock; costs, shares and bytes as they are."""
    factors = {
        each.name: float(dilation) if each.name.endswith("_per_s") else _of_unit(each.unit, dilation)
        for each in declared
        if is_speed(each) and each.name not in MODELLED
    }
    return {name: None if value is None else value * factors.get(name, 1.0) for name, value in found.items()}


def series_by_drive_clock(series: Iterable[Sample], dilation: int) -> tuple[Sample, ...]:
    """What a load reported from second to second of the machine's, with rates and times by the drive's clock."""
    return tuple(
        each if each.value is None else replace(each, value=each.value * _of_unit(each.unit, dilation))
        for each in series
    )


def _of_unit(unit: str, dilation: int) -> float:
    if unit in _RATES:
        return float(dilation)
    return 1 / dilation if unit in _TIMES else 1.0
