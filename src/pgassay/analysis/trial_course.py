"""What is said of each trial's seconds: its class, where its warm-up ends, how well its mean is known.

One value from the parts that do the work (`steadiness`, `warmup`, `autocorrelation`), for one trial when it is
committed and for all trials of a run at once when it is read. A mark; the trial's result stays what it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from pgassay.analysis.autocorrelation import errors_of_means
from pgassay.analysis.series import Floats
from pgassay.analysis.steadiness import Course, Steadiness, course, courses
from pgassay.analysis.warmup import cuts

NS = 1_000_000_000


@dataclass(frozen=True)
class TrialCourse:
    """`truncation_s` is MSER-5's cut (None: never settled), `error` the standard error of the mean, in its unit.

    `cycle_s` is the period of a cyclic trial. None is what cannot be told.
    """

    kind: Steadiness
    truncation_s: float | None
    error: float | None
    cycle_s: float | None


UNKNOWN = TrialCourse(Steadiness.UNKNOWN, None, None, None)


def trial_courses(seconds: Floats) -> tuple[TrialCourse, ...]:
    """Of series of equal length, shape (trials, seconds); NaN where a second is missing."""
    return _with_errors(seconds, courses(seconds))


def _with_errors(seconds: Floats, found: Sequence[Course]) -> tuple[TrialCourse, ...]:
    ends, settled = cuts(seconds)
    cut = np.where(settled, ends, np.nan).tolist()
    errors = errors_of_means(seconds).tolist()
    return tuple(
        TrialCourse(each.kind, end if isfinite(end) else None, error if isfinite(error) else None, each.period_s)
        for each, end, error in zip(found, cut, errors, strict=True)
    )


def trial_course(
    monotonic_ns: Sequence[int], values: Sequence[float | None], starts_ns: Sequence[int] = ()
) -> TrialCourse:
    """Of one trial's samples, one at the end of each second, in order of time; one that is not there is a missing one.

    `starts_ns`: when checkpoints began, where that is known, by the same clock.
    """
    if not monotonic_ns:
        return UNKNOWN
    ends = np.asarray(monotonic_ns, dtype=np.int64)
    places = np.rint((ends - ends[0]) / NS).astype(np.int64)
    seconds = np.full((1, int(places[-1]) + 1), np.nan)
    seconds[0, places] = np.asarray(values, dtype=np.float64)
    starts_s = [(start - int(ends[0])) / NS + 1.0 for start in starts_ns]
    return _with_errors(seconds, (course(seconds[0], starts_s),))[0]


def spread_out(trials: Sequence[int] | np.ndarray, monotonic_ns: np.ndarray, values: Floats) -> dict[int, TrialCourse]:
    """Of the samples of many trials in long form, each trial's rows together and in order of time.

    All three have shape (samples,); a missing value is NaN. Trials of equal length are judged together.
    """
    numbers = np.asarray(trials, dtype=np.int64)
    if not len(numbers):
        return {}
    firsts = np.flatnonzero(np.r_[True, numbers[1:] != numbers[:-1]])
    lasts = np.r_[firsts[1:], len(numbers)] - 1
    row = np.repeat(np.arange(len(firsts)), lasts - firsts + 1)
    place = np.rint((monotonic_ns - monotonic_ns[firsts][row]) / NS).astype(np.int64)
    lengths = place[lasts] + 1
    found: dict[int, TrialCourse] = {}
    for length in np.unique(lengths):
        chosen = np.flatnonzero(lengths == length)
        target = np.full(len(firsts), -1)
        target[chosen] = np.arange(len(chosen))
        mine = target[row] >= 0
        seconds = np.full((len(chosen), int(length)), np.nan)
        seconds[target[row[mine]], place[mine]] = values[mine]
        found |= zip(numbers[firsts[chosen]].tolist(), trial_courses(seconds), strict=True)
    return found
