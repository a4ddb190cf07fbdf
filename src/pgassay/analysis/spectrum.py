"""How a machine's speed wanders, by length of time, and what that means for servers that take turns.

The deviation of a length is Allan's (1966): the standard deviation of the difference of two neighbouring windows of it,
divided by √2. What falls with length averages out within a slice; what stays or grows is slower than a slice, and turns
take it out.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from math import floor, log, sqrt
from statistics import NormalDist, fmean, median

from scipy.stats import chi2  # type: ignore[import-untyped]

from pgassay.analysis.alternation import Shares, SliceRow, shares
from pgassay.analysis.boundaries import fixed_critical
from pgassay.analysis.slice_length import Deviation

WINDOWS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
"""Lengths within a block that are looked at, in parts of a slice."""
JUMPS_MIN = 6
"""Neighbouring windows below which a length is left out: fewer tell a deviation to worse than ± 30 %."""
BLOCKS_MIN = 3
"""Blocks below which nothing is said of what lasts longer than a block."""
REPEATED_MAX = 10_000
"""No study repeats more often."""
NORMAL = NormalDist().inv_cdf(0.975)


def spectrum(rows: Sequence[SliceRow]) -> tuple[Deviation, ...]:
    """Of servers that are alike, or were made so: each arm's mean in a block is taken out first.

    Within a block windows of parts in the order of time, both arms' one after the other, without the time between
    slices. Beyond a block its mean against that of the next one, whose servers were started again. Slices that were
    discarded, and those without parts, are left out.
    """
    blocks = _usable(rows)
    jumps: dict[int, list[float]] = {}
    lengths: list[float] = []
    for mine in blocks.values():
        parts = _parts(mine)
        lengths += [row.active_s / len(row.parts) for row in mine if row.parts]
        for window in WINDOWS:
            ends = range(window, len(parts) + 1, window)
            means = [fmean(parts[end - window : end]) for end in ends]
            found = [log(later / sooner) for sooner, later in pairwise(means) if sooner > 0.0 and later > 0.0]
            jumps.setdefault(window, []).extend(found)
    part_s = median(lengths) if lengths else 0.0
    within = [_deviation(window * part_s, found) for window, found in jumps.items() if len(found) >= JUMPS_MIN]
    return (*within, *_between(blocks))


def _usable(rows: Iterable[SliceRow]) -> dict[int, list[SliceRow]]:
    """Block to its slices that count, in the order of time."""
    blocks: dict[int, list[SliceRow]] = {}
    for row in sorted(rows, key=lambda row: (row.block, row.round, row.position)):
        if not row.discarded and row.transactions > 0 and row.active_s > 0:
            blocks.setdefault(row.block, []).append(row)
    return blocks


def _deviation(length_s: float, jumps: Sequence[float]) -> Deviation:
    return Deviation(length_s, sqrt(fmean(jump * jump for jump in jumps) / 2.0), len(jumps))


def _parts(rows: Sequence[SliceRow]) -> list[float]:
    """Each tenth of a slice as a multiple of its arm's mean in this block."""
    every: dict[str, list[float]] = {}
    for row in rows:
        every.setdefault(row.arm, []).extend(row.parts)
    means = {arm: fmean(parts) for arm, parts in every.items() if parts}
    return [part / means[row.arm] for row in rows for part in row.parts if means[row.arm] > 0.0]


def _between(blocks: Mapping[int, Sequence[SliceRow]]) -> tuple[Deviation, ...]:
    """From block to block; none below `BLOCKS_MIN` of them."""
    steps = [fmean(each.values()) for each in _steps(blocks)]
    if len(steps) < BLOCKS_MIN - 1:
        return ()
    length_s = median(sum(row.seconds for row in mine) for mine in blocks.values())
    return (_deviation(length_s, steps),)


def _steps(blocks: Mapping[int, Sequence[SliceRow]]) -> list[dict[str, float]]:
    """By how much each arm's speed differs (a logarithm) in a block and the next one; only where both have slices."""
    speeds = [(block, _speeds(mine)) for block, mine in sorted(blocks.items())]
    steps = [
        {arm: later[arm] - sooner[arm] for arm in sooner if arm in later}
        for (first, sooner), (second, later) in pairwise(speeds)
        if second == first + 1
    ]
    return [each for each in steps if each]


def _speeds(rows: Iterable[SliceRow]) -> dict[str, float]:
    """The logarithm of each arm's speed over all its slices."""
    done: dict[str, tuple[float, float]] = {}
    for row in rows:
        before, seconds = done.get(row.arm, (0.0, 0.0))
        done[row.arm] = before + row.transactions, seconds + row.seconds
    return {arm: log(transactions / seconds) for arm, (transactions, seconds) in done.items()}


@dataclass(frozen=True)
class Turns:
    """What turns leave of the noise: standard deviations of logarithms, those of one arm's value in a block.

    `noise` is a contrast's divided by √2, so that it stands beside a trial's noise; with its 95 % interval
    (chi-square, `freedom` degrees). `sequential` is what the same servers would have had one after the other, judged by
    neighbouring blocks (`one_after_the_other`); None where blocks are too few.
    """

    shares: Shares
    noise: float
    noise_low: float
    noise_high: float
    sequential: float | None


def turns_of(rows: Sequence[SliceRow], baseline: str) -> Turns | None:
    """Of a run whose servers took turns; None where it has too few blocks or rounds to tell."""
    found = shares(rows, baseline)
    if found is None:
        return None
    low, high = (
        found.contrast * sqrt(found.freedom / float(chi2.ppf(share, found.freedom)) / 2.0) for share in (0.975, 0.025)
    )
    return Turns(found, found.contrast / sqrt(2.0), low, high, one_after_the_other(rows))


def one_after_the_other(rows: Sequence[SliceRow]) -> float | None:
    """The noise of a trial if servers had not taken turns: how the same arm differs in two neighbouring blocks.

    Both were started again and a block's time lies between them, as between trials one after the other. None below
    `BLOCKS_MIN` blocks in a row.
    """
    steps = _steps(_usable(rows))
    if len(steps) < BLOCKS_MIN - 1:
        return None
    return sqrt(fmean(jump * jump for each in steps for jump in each.values()) / 2.0)


def blocks_as_narrow(noise: float, blocks: int, other: float) -> int | None:
    """Blocks at noise `other` whose interval is as narrow as that of `blocks` at `noise`; None where none can be.

    By Student's interval of a mean, as if there were one look only.
    """
    if blocks < 2 or noise <= 0.0:
        return None
    wanted = fixed_critical(blocks, 0.05) * noise / sqrt(blocks)
    guess = max(2, floor((NORMAL * other / wanted) ** 2))  # of ever so many blocks; of few there must be more
    if guess > REPEATED_MAX:
        return None
    return next(n for n in count(guess) if fixed_critical(n, 0.05) * other / sqrt(n) <= wanted)
