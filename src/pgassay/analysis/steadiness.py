"""How a trial went: flat, warming, slowing, drifting, cyclic or unsettled; where its warm-up ends; its mean's error.

Classes after Barrett et al. (OOPSLA 2017, "Virtual machine warmup blows hot and cold"), by levels between change
points. Cyclic is a database's own class: checkpoints come and go, and a window has to cover whole cycles of them.
Cycles are looked for in the seconds themselves, two or three of them with the help of the moments at which checkpoints
began (both in `cycles`). Levels that come back prove nothing: noise with a long memory gives them in one trial of five.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from math import isfinite

import numpy as np

from pgassay.analysis.boundaries import Floats
from pgassay.analysis.changes import changes
from pgassay.analysis.cycles import FALSE_ALARM, cycles, repetition
from pgassay.analysis.seconds import BATCH_S, MISSING_MAX, batches, bridge_gaps, errors_of_means, warm_up_ends

TOLERANCE = 0.02
"""Levels within this share of each other count as one."""

LEAST_BATCHES = 6


class Steadiness(StrEnum):
    """The classes. `unknown`: too short, or too many seconds missing."""

    FLAT = "flat"
    WARMING = "warming"
    SLOWING = "slowing"
    DRIFTING = "drifting"
    CYCLIC = "cyclic"
    UNSETTLED = "unsettled"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Course:
    """How a trial went. `levels`: (from second, mean) of each segment; `steady_from_s` is None when it never was.

    `period_s` is that of a cyclic series; `missing` the share of seconds without a value.
    """

    kind: Steadiness
    levels: tuple[tuple[int, float], ...]
    steady_from_s: int | None
    period_s: float | None
    missing: float


def classify(seconds: Floats, starts_s: Sequence[float] = ()) -> Course:
    """The class of one series, shape (seconds,).

    `starts_s`, in seconds from its beginning, is when checkpoints began, where that is known.
    """
    series = np.asarray(seconds, dtype=np.float64)[None, :]
    found = classify_all(series)[0]
    if not len(starts_s) or found.kind in (Steadiness.CYCLIC, Steadiness.UNKNOWN):
        return found
    known = repetition(bridge_gaps(series)[0][0], starts_s)
    if known is None or known.chance >= FALSE_ALARM or known.swing < TOLERANCE:
        return found
    return replace(found, kind=Steadiness.CYCLIC, steady_from_s=None, period_s=known.period_s)


def classify_all(seconds: Floats) -> tuple[Course, ...]:
    """The classes of many series of equal length, shape (trials, seconds); NaN where a second is missing."""
    filled, missing = bridge_gaps(seconds)
    means = batches(filled).means
    repeats = cycles(filled)
    # A real cycle that moves nothing is of no interest, however certain it is.
    cyclic = (repeats.chance < FALSE_ALARM) & (repeats.swing >= TOLERANCE)
    periods = np.where(cyclic, repeats.period_s, np.nan).tolist()
    sums = np.concatenate((np.zeros((len(means), 1)), means.cumsum(axis=1)), axis=1).tolist()
    found = []
    for trial, (starts, share) in enumerate(zip(changes(means), missing.tolist(), strict=True)):
        if means.shape[1] < LEAST_BATCHES or share > MISSING_MAX:
            found.append(Course(Steadiness.UNKNOWN, (), None, None, share))
        else:
            found.append(_course(means[trial], sums[trial], (0, *starts), share, periods[trial]))
    return tuple(found)


def _course(means: Floats, sums: list[float], starts: tuple[int, ...], missing: float, period_s: float) -> Course:
    """`period_s` is that of the cycle that the seconds show, NaN for none."""
    count = len(means)
    edges = (*starts, count)
    values = [(sums[end] - sums[begin]) / (end - begin) for begin, end in pairwise(edges)]
    levels = tuple((begin * BATCH_S, value) for begin, value in zip(starts, values, strict=True))
    if isfinite(period_s):
        return Course(Steadiness.CYCLIC, levels, None, period_s, missing)
    steady = 0 if len(values) == 1 else _steady_from(sums, starts, values)
    if steady == 0:
        return Course(Steadiness.FLAT, levels, 0, None, missing)
    one_way = len(values) > 2 and _one_way(values)
    if steady is not None and steady <= count // 2:
        before, after = sums[steady] / steady, (sums[-1] - sums[steady]) / (count - steady)
        kind = Steadiness.WARMING if after > before else Steadiness.SLOWING
        return Course(kind, levels, steady * BATCH_S, None, missing)
    if one_way:
        return Course(Steadiness.DRIFTING, levels, None, None, missing)
    return Course(Steadiness.UNSETTLED, levels, None, None, missing)


def _steady_from(sums: Sequence[float], starts: Sequence[int], values: Sequence[float]) -> int | None:
    """The first batch from which every level lies within the tolerance of the mean of all that follows."""
    for place, begin in enumerate(starts):
        whole = (sums[-1] - sums[begin]) / (len(sums) - 1 - begin)
        if all(abs(value - whole) <= TOLERANCE * abs(whole) for value in values[place:]):
            return begin
    return None


def _one_way(values: Sequence[float]) -> bool:
    steps = np.diff(np.asarray(values))
    return bool((steps > 0.0).all() or (steps < 0.0).all())


NS = 1_000_000_000
SECONDS_MAX = 31 * 86_400
"""A window of a month; longer ones are not laid out second by second."""


@dataclass(frozen=True)
class TrialCourse:
    """What is known of a trial's seconds: a mark, which leaves the trial's result as it is.

    `truncation_s` is MSER-5's cut (None: never settled), `error` the standard error of the mean, in its unit.

    `cycle_s` is the period of a cyclic trial. None is what is not known.
    """

    kind: Steadiness
    truncation_s: float | None
    error: float | None
    cycle_s: float | None


UNKNOWN = TrialCourse(Steadiness.UNKNOWN, None, None, None)


def trial_courses(seconds: Floats) -> tuple[TrialCourse, ...]:
    """What is known of many series of equal length, shape (trials, seconds); NaN where a second is missing."""
    return _with_errors(seconds, classify_all(seconds))


def _with_errors(seconds: Floats, found: Sequence[Course]) -> tuple[TrialCourse, ...]:
    ends, settled = warm_up_ends(seconds)
    cut = np.where(settled, ends, np.nan).tolist()
    errors = errors_of_means(seconds).tolist()
    return tuple(
        TrialCourse(each.kind, end if isfinite(end) else None, error if isfinite(error) else None, each.period_s)
        for each, end, error in zip(found, cut, errors, strict=True)
    )


def trial_course(
    monotonic_ns: Sequence[int], values: Sequence[float | None], starts_ns: Sequence[int] = ()
) -> TrialCourse:
    """What is known of one trial by its samples, one at the end of each second, in order of time; gaps are missing.

    `starts_ns`: when checkpoints began, where that is known, by the same clock.
    """
    if not monotonic_ns:
        return UNKNOWN
    ends = np.asarray(monotonic_ns, dtype=np.int64)
    places = np.rint((ends - ends[0]) / NS).astype(np.int64)
    seconds = np.full((1, int(places[-1]) + 1), np.nan)
    seconds[0, places] = np.asarray(values, dtype=np.float64)
    starts_s = [(start - int(ends[0])) / NS + 1.0 for start in starts_ns]
    return _with_errors(seconds, (classify(seconds[0], starts_s),))[0]


def courses_of_samples(
    trials: Sequence[int] | np.ndarray, monotonic_ns: np.ndarray, values: Floats
) -> dict[int, TrialCourse]:
    """Trial number to what is known of it, from samples in long form, each trial's rows together and in order of time.

    All three have shape (samples,); a missing value is NaN. Trials of equal length are judged together; nothing is
    known of one whose samples are in no order of time or further apart than `SECONDS_MAX`.
    """
    numbers = np.asarray(trials, dtype=np.int64)
    if not len(numbers):
        return {}
    firsts = np.flatnonzero(np.r_[True, numbers[1:] != numbers[:-1]])
    lasts = np.r_[firsts[1:], len(numbers)] - 1
    row = np.repeat(np.arange(len(firsts)), lasts - firsts + 1)
    place = np.rint((monotonic_ns - monotonic_ns[firsts][row]) / NS).astype(np.int64)
    lengths = place[lasts] + 1
    outside = (place < 0) | (place >= np.minimum(lengths, SECONDS_MAX)[row])
    lengths[np.unique(row[outside])] = 0
    found = {int(number): UNKNOWN for number in numbers[firsts[lengths == 0]]}
    for length in np.unique(lengths[lengths > 0]):
        chosen = np.flatnonzero(lengths == length)
        target = np.full(len(firsts), -1)
        target[chosen] = np.arange(len(chosen))
        mine = target[row] >= 0
        seconds = np.full((len(chosen), int(length)), np.nan)
        seconds[target[row[mine]], place[mine]] = values[mine]
        found |= zip(numbers[firsts[chosen]].tolist(), trial_courses(seconds), strict=True)
    return found
