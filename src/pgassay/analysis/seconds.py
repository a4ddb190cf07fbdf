"""A trial second by second: where its warm-up ends, the error of its mean, new levels; and what all of it is called.

Many trials at once, as arrays: a run may have ten thousand of them. Nothing here changes a trial's result, which stays
the unit of inference: the end of the warm-up is a mark, and the error describes a trial without replacing repetitions.

Change points of the mean are the exact optimum of squared error plus a penalty for each change: optimal partitioning
(Jackson et al., IEEE Signal Processing Letters 12(2), 2005), the optimum that PELT finds too; on batches a series is
short enough to need no pruning.

Classes (flat, warming, slowing, drifting, cyclic, unsettled) after Barrett et al. (OOPSLA 2017, "Virtual machine warmup
blows hot and cold"), by levels between change points. Cyclic is a database's own class: checkpoints come and go, and a
window has to cover whole cycles of them. `repetition` asks whether a series repeats itself in step with cycles whose
beginnings are known (each start of a checkpoint was seen), for which two cycles are enough. Levels that come back prove
nothing: noise with a long memory gives them in one trial of five. Simulated false alarms and power:
benchmarks/validity, docs/statistics.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from math import isfinite, isqrt, log, nan, pi, sqrt

import numpy as np
import numpy.typing as npt
from scipy.special import fdtrc  # type: ignore[import-untyped]

from pgassay.analysis.boundaries import Floats

BATCH_S = 5
"""Seconds in a batch: MSER-5's, long enough to average out most of the correlation between neighbouring seconds."""

MISSING_MAX = 0.2
"""Beyond this share of missing seconds a series is not judged."""


def bridge_gaps(seconds: Floats) -> tuple[Floats, Floats]:
    """Series of equal length with their gaps bridged by a straight line, and each one's share of missing seconds."""
    present = np.isfinite(seconds)
    missing = 1.0 - present.mean(axis=1) if seconds.shape[1] else np.ones(len(seconds))
    if not missing.any():
        return seconds, missing
    filled = seconds.astype(np.float64, copy=True)
    for trial in np.flatnonzero((missing > 0.0) & (missing < 1.0)):
        have = present[trial]
        filled[trial] = np.interp(np.arange(len(have)), np.flatnonzero(have), seconds[trial, have])
    filled[missing == 1.0] = 0.0
    return filled, missing


def batches(seconds: Floats) -> Floats:
    """Batch means, shape (trials, batches), of series of equal length, shape (trials, seconds), gaps bridged.

    A rest shorter than a batch is left out at the end.
    """
    filled, _ = bridge_gaps(seconds)
    count = seconds.shape[1] // BATCH_S
    return np.asarray(filled[:, : count * BATCH_S].reshape(len(seconds), count, BATCH_S).mean(axis=2))


def warm_up_ends(seconds: Floats) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
    """Where the warm-up of each series ends (s) and whether the series settled: two columns of shape (trials,).

    MSER-5 (White, Simulation 69(6), 1997): cut off the first d batches where the standard error of the mean of the
    rest, as if they were independent, is least. Nothing is discarded; a cut beyond the middle means that the series
    never settled. Series shorter than four batches have no cut and are not settled.
    """
    means = batches(seconds)
    trials, count = means.shape
    if count < 4:
        return np.zeros(trials, dtype=np.intp), np.zeros(trials, dtype=np.bool_)
    centred = means - means.mean(axis=1, keepdims=True)  # against cancellation
    left = np.arange(count, 0, -1)
    total = centred[:, ::-1].cumsum(axis=1)[:, ::-1]
    squares = (centred * centred)[:, ::-1].cumsum(axis=1)[:, ::-1]
    error = (squares - total * total / left) / (left * left)
    # The last few cuts leave almost nothing, whose error is small by chance: the usual guard.
    error[:, count - 3 :] = np.inf
    best = error.argmin(axis=1)
    return best * BATCH_S, best <= count // 2


@dataclass(frozen=True)
class MeanError:
    """`error` of `mean` in the series' unit; `inefficiency`: how many seconds count as one independent value."""

    seconds: int
    mean: float
    error: float
    inefficiency: float


def mean_error(seconds: Floats) -> MeanError:
    """The error of the mean of one series, shape (seconds,), whose seconds are not independent: batch means.

    Neighbouring seconds share buffers, checkpoints and queues, so s / sqrt(n) is too small. Means of long batches are
    nearly independent (Conway 1963; Flegal and Jones, Annals of Statistics 2010: about sqrt(n) batches). Missing
    seconds are left out; NaN below nine seconds.
    """
    values = np.asarray(seconds, dtype=np.float64)
    values = values[np.isfinite(values)]
    n = len(values)
    if n < 9:
        return MeanError(n, float(values.mean()) if n else nan, nan, nan)
    count = isqrt(n)
    length = n // count
    means = values[n - count * length :].reshape(count, length).mean(axis=1)
    error = float(means.std(ddof=1)) / sqrt(count)
    naive = float(values.std(ddof=1)) / sqrt(n)
    return MeanError(n, float(values.mean()), error, (error / naive) ** 2 if naive > 0.0 else nan)


PENALTY = 4.0
"""Times the noise's variance and log n, for each change. BIC's is 2, for a known variance and independent values."""

LEAST = 2
"""Batches in a level: a single odd one is a stall, and no new level."""


def changes(means: Floats) -> list[tuple[int, ...]]:
    """For each trial of `means`, shape (trials, batches): where a new level begins, first batch not counted."""
    trials, count = means.shape
    if count < 2:
        return [() for _ in range(trials)]
    scale = np.abs(means).max(axis=1)
    floor = 1e-9 * np.where(scale > 0.0, scale, 1.0)  # rounding of a constant series is no change
    # The noise of a batch about its local level, by differences, so that steps and drift do not count: the median of
    # their absolute values is 0.6745 sqrt(2) times the standard deviation.
    noise = np.median(np.abs(np.diff(means, axis=1)), axis=1) / (0.6745 * np.sqrt(2.0))
    penalty = PENALTY * log(count) * np.maximum(noise, floor) ** 2
    return partition(means, penalty)


def partition(means: Floats, penalty: Floats) -> list[tuple[int, ...]]:
    """The best partition of each row under its own `penalty`, shape (trials,)."""
    trials, count = means.shape
    centred = means - means.mean(axis=1, keepdims=True)
    zero = np.zeros((trials, 1))
    total = np.concatenate((zero, centred.cumsum(axis=1)), axis=1)
    squares = np.concatenate((zero, (centred * centred).cumsum(axis=1)), axis=1)
    best = np.full((trials, count + 1), np.inf)
    best[:, 0] = -penalty
    start = np.zeros((trials, count + 1), dtype=np.intp)
    for end in range(min(LEAST, count), count + 1):
        last = max(end - LEAST, 0) + 1
        length = end - np.arange(last)
        inside = squares[:, [end]] - squares[:, :last] - (total[:, [end]] - total[:, :last]) ** 2 / length
        cost = best[:, :last] + inside + penalty[:, None]
        start[:, end] = cost.argmin(axis=1)
        best[:, end] = cost[np.arange(trials), start[:, end]]
    found = []
    for row in start.tolist():
        places, end = [], row[-1]
        while end > 0:
            places.append(end)
            end = row[end]
        found.append(tuple(reversed(places)))
    return found


FALSE_ALARM = 0.01
"""Nominal; at most twice that for noise with memory, walks, steps, drift and stalls."""

CYCLES_MIN = 2
"""Whole cycles in the series, below which nothing can repeat itself."""

_HARMONICS = 8
"""A dip of two seconds in a cycle of half a minute shows in as many; finer ones do not keep step."""
_POINTS_MIN = 8
"""Seconds in a cycle, below which it has no shape."""


@dataclass(frozen=True)
class Repetition:
    """The chance of so much power at the harmonics without cycles, the mean period, and the swing.

    `swing` is from peak to trough of what repeats itself (its harmonics), as a share of the mean.
    """

    chance: float
    period_s: float
    swing: float


def repetition(seconds: Floats, starts_s: Sequence[float]) -> Repetition | None:
    """Does one series without gaps, shape (seconds,), repeat itself with cycles that begin at `starts_s`?

    `starts_s` are seconds from the beginning of the series. None with fewer than two whole cycles, and for cycles too
    short to have a shape. Only the harmonics of the one known period are tested. Time is stretched so that cycles count
    alike, as WAL makes them of unequal length; power at the harmonics is then set against the power between them, which
    is F-distributed for any noise whose spectrum is smooth there.
    """
    starts = np.unique(np.asarray([start for start in starts_s if 0.0 <= start <= len(seconds)], dtype=np.float64))
    if len(starts) < CYCLES_MIN:
        return None
    period_s = float(starts[-1] - starts[0]) / (len(starts) - 1)
    points = round(period_s)
    ends = np.arange(len(starts), dtype=np.float64)
    first, last = ends[0] - starts[0] / period_s, ends[-1] + (len(seconds) - starts[-1]) / period_s
    whole = int(last - first + 0.5 / max(points, 1))  # half a second may be missing
    if whole < CYCLES_MIN or points < _POINTS_MIN:
        return None
    # The last whole cycles: the first one may still hold a warm-up.
    turns = last - whole + (np.arange(whole * points) + 0.5) / points
    knots = np.concatenate(([starts[0] - whole * period_s], starts, [starts[-1] + whole * period_s]))
    moments = np.interp(turns, np.concatenate(([-float(whole)], ends, [ends[-1] + whole])), knots)
    folded = np.interp(moments, np.arange(len(seconds)) + 0.5, seconds)
    return _judge(folded, whole, points, period_s)


def _judge(folded: Floats, whole: int, points: int, period_s: float) -> Repetition:
    count = len(folded)
    mean = float(folded.mean())
    places = np.arange(count) - (count - 1) / 2
    rest = folded - mean
    rest -= rest @ places / (places @ places) * places
    spectrum = np.fft.rfft(rest) / count
    harmonics = min(_HARMONICS, points // 4)
    tried = np.arange(1, harmonics + 1) * whole
    between = np.setdiff1d(np.arange((whole + 1) // 2, tried[-1] + whole // 2 + 1), tried)
    power = np.abs(spectrum) ** 2 / _expected_between(rest, len(spectrum))
    noise = float(power[between].mean())
    repeated = np.zeros_like(spectrum)
    repeated[tried] = spectrum[tried]
    swing = float(np.ptp(np.fft.irfft(repeated, count) * count)) / abs(mean) if mean != 0.0 else 0.0
    if noise <= 1e-24 * max(float(np.abs(folded).max()), 1e-300) ** 2:  # nothing but rounding apart from the cycles
        return Repetition(0.0 if swing > 0.0 else 1.0, period_s, swing)
    power = power / _slope(power, between)
    ratio = float(power[tried].mean()) / float(power[between].mean())
    return Repetition(float(fdtrc(2 * len(tried), 2 * len(between), ratio)), period_s, swing)


def _expected_between(rest: Floats, count: int) -> Floats:
    """The shape of the spectrum of noise that remembers its last second, less what the straight line took away."""
    squares = max(float(rest @ rest), 1e-300)
    memory = float(rest[1:] @ rest[:-1]) / squares
    memory = min(max(memory + (1.0 + 4.0 * memory) / len(rest), 0.0), 0.98)
    places = np.arange(count)
    shape = 1.0 / (1.0 + memory**2 - 2.0 * memory * np.cos(2.0 * pi * places / len(rest)))
    left = 1.0 - 6.0 / (pi * np.maximum(places, 1)) ** 2
    return np.asarray(shape * left, dtype=np.float64)


def _slope(power: Floats, between: npt.NDArray[np.intp]) -> Floats:
    """How the power between the harmonics still falls with the frequency: as a power of it, by least squares.

    Noise of two kinds (a walk below white noise) is not of the expected shape. Of three cycles in 900 seconds of it the
    first harmonic stood above the mean of all that is between, and 4 % of such series were called cyclic.
    """
    at, height = np.log(between), np.log(np.maximum(power[between], 1e-300))
    at = at - at.mean()
    slope = min(0.0, float(at @ height) / float(at @ at))
    return np.asarray(np.maximum(np.arange(len(power)), 1) ** slope, dtype=np.float64)


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
    """How a trial went. `levels`: (from second, mean) of each segment; `period_s` is that of a cyclic series."""

    kind: Steadiness
    levels: tuple[tuple[int, float], ...]
    period_s: float | None = None


def classify(seconds: Floats, starts_s: Sequence[float] = ()) -> Course:
    """The class of one series, shape (seconds,).

    `starts_s`, in seconds from its beginning, is when checkpoints began, where that is known.
    """
    series = np.asarray(seconds, dtype=np.float64)[None, :]
    found = classify_all(series)[0]
    if not len(starts_s) or found.kind is Steadiness.UNKNOWN:
        return found
    known = repetition(bridge_gaps(series)[0][0], starts_s)
    # A real cycle that moves nothing is of no interest, however certain it is.
    if known is None or known.chance >= FALSE_ALARM or known.swing < TOLERANCE:
        return found
    return replace(found, kind=Steadiness.CYCLIC, period_s=known.period_s)


def classify_all(seconds: Floats) -> tuple[Course, ...]:
    """The classes of many series of equal length, shape (trials, seconds); NaN where a second is missing.

    None is called cyclic: that takes the moments at which checkpoints began.
    """
    filled, missing = bridge_gaps(seconds)
    means = batches(filled)
    sums = np.concatenate((np.zeros((len(means), 1)), means.cumsum(axis=1)), axis=1).tolist()
    found = []
    for trial, (starts, share) in enumerate(zip(changes(means), missing.tolist(), strict=True)):
        if means.shape[1] < LEAST_BATCHES or share > MISSING_MAX:
            found.append(Course(Steadiness.UNKNOWN, ()))
        else:
            found.append(_course(means[trial], sums[trial], (0, *starts)))
    return tuple(found)


def _course(means: Floats, sums: list[float], starts: tuple[int, ...]) -> Course:
    count = len(means)
    edges = (*starts, count)
    values = [(sums[end] - sums[begin]) / (end - begin) for begin, end in pairwise(edges)]
    levels = tuple((begin * BATCH_S, value) for begin, value in zip(starts, values, strict=True))
    steady = 0 if len(values) == 1 else _steady_from(sums, starts, values)
    if steady == 0:
        return Course(Steadiness.FLAT, levels)
    if steady is not None and steady <= count // 2:
        before, after = sums[steady] / steady, (sums[-1] - sums[steady]) / (count - steady)
        kind = Steadiness.WARMING if after > before else Steadiness.SLOWING
        return Course(kind, levels)
    steps = np.diff(np.asarray(values))
    one_way = len(values) > 2 and bool((steps > 0.0).all() or (steps < 0.0).all())
    return Course(Steadiness.DRIFTING if one_way else Steadiness.UNSETTLED, levels)


def _steady_from(sums: Sequence[float], starts: Sequence[int], values: Sequence[float]) -> int | None:
    """The first batch from which every level lies within the tolerance of the mean of all that follows."""
    for place, begin in enumerate(starts):
        whole = (sums[-1] - sums[begin]) / (len(sums) - 1 - begin)
        if all(abs(value - whole) <= TOLERANCE * abs(whole) for value in values[place:]):
            return begin
    return None


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


def _with_errors(seconds: Floats, found: Sequence[Course]) -> tuple[TrialCourse, ...]:
    ends, settled = warm_up_ends(seconds)
    cut = np.where(settled, ends, np.nan).tolist()
    errors = [mean_error(series).error for series in seconds]
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
        found |= zip(numbers[firsts[chosen]].tolist(), _with_errors(seconds, classify_all(seconds)), strict=True)
    return found
