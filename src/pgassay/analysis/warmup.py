"""Where a trial's warm-up ends: MSER-5 (White, Simulation 69(6), 1997).

Cut off the first d batches where the standard error of the mean of the rest, as if they were independent, is least. The
cut is a mark, nothing is thrown away; a cut beyond the middle means that the series never settled.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pgassay.analysis.series import BATCH_S, Floats, batches


@dataclass(frozen=True)
class WarmUp:
    """The first `end_s` seconds are warm-up; `settled` is False when the best cut is beyond the middle."""

    end_s: int
    settled: bool


def warm_up(seconds: Floats) -> WarmUp:
    """Of one series, shape (seconds,)."""
    return warm_ups(np.asarray(seconds, dtype=np.float64)[None, :])[0]


def warm_ups(seconds: Floats) -> tuple[WarmUp, ...]:
    """Of many series of equal length, shape (trials, seconds). Shorter than four batches: no cut, not settled."""
    ends, settled = cuts(seconds)
    return tuple(WarmUp(int(end), bool(known)) for end, known in zip(ends, settled, strict=True))


def cuts(seconds: Floats) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
    """The same in columns, each of shape (trials,): where the warm-up ends (s), and whether the series settled."""
    means = batches(seconds).means
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
