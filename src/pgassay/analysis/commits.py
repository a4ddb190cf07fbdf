"""A history of commits: which of them changed it, and where its level changed.

Bisection: the probability of each commit, from blocks that set one commit against the good one or another.
Probabilistic bisection (Horstein, IEEE Trans. Information Theory 9, 1963; Waeber, Frazier, Henderson, SIAM J. Control
Optim. 51, 2013): an answer of a noisy comparison is never certain, so no half of the history is thrown away. The next
block goes where its answer tells most. Effect and noise are both unknown; docs/commits.md has the formula.

Tracking: change points of a response's log-ratios to a fixed reference, with intervals. Each point is one commit,
measured in the same blocks as the same reference, so that a new kernel or another host moves both. Where levels begin
is the optimum of `seconds.partition` (what PELT finds: Killick, Fearnhead, Eckley 2012). A step that was picked because
it is large is overstated: its interval counts every step that could have been picked.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import comb, exp, inf, log, log1p, sqrt

import numpy as np
import numpy.typing as npt
from scipy.special import fdtrc, stdtrit  # type: ignore[import-untyped]

from pgassay.analysis.boundaries import FIRST_LOOK, LEVEL, Floats
from pgassay.analysis.effects import BlockMean, Certainty, from_contrast, mean_of
from pgassay.analysis.seconds import LEAST, PENALTY, partition
from pgassay.study.responses import Scale

SURE = 0.99
"""The probability at which a commit is named; at 0.9825 about 96 of 100 were right (`benchmarks.regressions`):
blocks that first show a difference overstate it on average, and the posterior after them is a little too certain."""
MARGIN = 1.5
"""A difference to bisect by is so many times half its interval; what is only just shown is overstated on average."""
CANDIDATES = 8
"""Commits about the median that are held against each other for the next block."""
PARTNERS = 2
"""Commits that are held against each other for the next block along with each commit that was measured."""
NEGLIGIBLE = 1e-3
"""Places less probable than this have no say in where the next block goes."""
FIT_ALPHA = 0.01
"""Blocks that fit one change as badly as this, or worse, make it doubtful that it was one."""
_GRID = np.linspace(-1.0, 1.0, 41)


@dataclass(frozen=True)
class Measured:
    """One block: a commit's place in the history (the good one is 0) and its log-ratio to one before, `against`."""

    commit: int
    contrast: float
    against: int = 0


@dataclass(frozen=True)
class NextBlock:
    """The two commits of the next block, `commit` and an earlier one `against` it."""

    commit: int
    against: int = 0


@dataclass(frozen=True)
class Span:
    """Commits after `after`, up to and with `upto`: the probability that the change came with one of them.

    More than one where those between cannot be measured.
    """

    after: int
    upto: int
    share: float


@dataclass(frozen=True)
class Change:
    """The effect of what changed as a ratio, with its 95 % interval, and how well one change fits all blocks."""

    estimate: float
    low: float
    high: float
    blocks: int
    fit: float
    """The chance of commits that differ so much from one step, were there only one; 1 where that cannot be asked."""

    @property
    def doubtful(self) -> bool:
        """Do the blocks speak against a single change?"""
        return self.fit < FIT_ALPHA


def spans(last: int, seen: Sequence[Measured], skipped: Collection[int] = ()) -> tuple[Span, ...]:
    """The probability of each span of a history whose bad commit is `last`; `skipped` cannot be measured.

    Before a block every commit is as likely as another. Raises ValueError for a block of no commit of this history,
    and where good or bad is skipped: there is no question then.
    """
    if last < 1 or not all(0 < commit < last for commit in skipped):
        raise ValueError("good and bad must differ, and both must be measured")
    ends = [commit for commit in range(1, last + 1) if commit not in skipped]
    starts = [0, *ends[:-1]]
    length = np.asarray(ends, dtype=np.float64) - np.asarray(starts)
    logs = np.log(length) + _log_likelihood(_Sums.of(last, seen), ends)
    weights = np.exp(logs - logs.max())
    return tuple(map(Span, starts, ends, (weights / weights.sum()).tolist()))


def next_block(last: int, seen: Sequence[Measured], known: Sequence[Span]) -> NextBlock | None:
    """The block that is expected to tell most of where the change is; None where there is nothing left to tell apart.

    It is the one with the largest mutual information of place and contrast, each place with its own predictive t. That
    is the good commit with one near the median of `known`; or, when a commit is suspected, two with it between them,
    which rules out what is before and what is after at once. While the effect itself is poorly known, a block of good
    and bad tells more. Set against another commit are only those that were measured already, for they can be.
    """
    if len(known) < 2:
        return None
    if len(seen) < FIRST_LOOK or all(each.commit != last for each in seen):
        return NextBlock(last)
    share = np.asarray([span.share for span in known])
    upto = np.asarray([span.upto for span in known])
    asked, others = [NextBlock(last)], sorted({each.commit for each in seen} - {last})
    for against, most in ((0, CANDIDATES), *((each, PARTNERS) for each in others)):
        # Blocks with the change between their commits by a probability near one half.
        between = np.where(upto > against, share, 0.0).cumsum()
        order = np.abs(between - 0.5)[:-1].argsort(kind="stable")
        asked += [NextBlock(int(upto[place]), against) for place in order if upto[place] > against][:most]
    likely = share > NEGLIGIBLE
    gain = _information(_Sums.of(last, seen), asked, upto[likely], share[likely] / share[likely].sum())
    return asked[int(gain.argmax())]


def found(known: Sequence[Span], sure: float = SURE) -> Span | None:
    """The span that is as probable as `sure`; None while none is."""
    best = max(known, key=lambda span: span.share)
    return best if best.share >= sure or len(known) == 1 else None


def difference(contrasts: Sequence[float], horizon: int) -> BlockMean:
    """Bad against good, as a mean log-ratio with half of its interval, valid at every look up to `horizon` blocks."""
    return mean_of(contrasts, Scale.DIFFERENCE, Certainty(LEVEL, 1, horizon, every_block=True))


def shown(mean: BlockMean, least: float = 0.0) -> bool:
    """Is there a difference larger than `least`, a share?"""
    return abs(mean.mean) - mean.half > log1p(least)


def measured(mean: BlockMean, least: float = 0.0) -> bool:
    """Is the difference known well enough to bisect by it? One that is only just shown is overstated on average."""
    return abs(mean.mean) > MARGIN * mean.half and shown(mean, least)


def change(last: int, seen: Sequence[Measured], span: Span, horizon: int, least: float = 0.0) -> Change:
    """What changed in `span`: commits before it are as the good one, all others differ from it by one effect.

    Commits that differ from that by less than half of `least`, a share, do not make it doubtful.

    The blocks that estimate the effect also decided when to stop, so its interval is one for a look after every block
    up to `horizon`.
    """
    sums = _Sums.of(last, seen)
    blocks = len(seen)
    count = float(sums.count[span.upto])
    mean = float(sums.total[span.upto]) / count
    rest = float(_rest(sums, [span.upto])[0])
    certainty = Certainty(LEVEL, 1, horizon, every_block=True)
    half = certainty.critical(blocks, certainty.alpha) * sqrt(rest / (blocks - 1) / count)
    low, estimate, high = (from_contrast(end, Scale.RATIO) for end in (mean - half, mean, mean + half))
    return Change(estimate, low, high, blocks, _fit(seen, rest, least))


@dataclass(frozen=True)
class _Sums:
    """Of the blocks that have a change at each place between their two commits: how many, and their contrasts' sum."""

    blocks: int
    count: Floats
    total: Floats
    squares: float
    """Of all contrasts."""

    @classmethod
    def of(cls, last: int, seen: Sequence[Measured]) -> "_Sums":
        if any(not 0 <= each.against < each.commit <= last for each in seen):
            raise ValueError("a block of commits that are not in this history")
        after = np.asarray([each.against for each in seen], dtype=np.intp) + 1
        upto = np.asarray([each.commit for each in seen], dtype=np.intp)
        values = np.asarray([each.contrast for each in seen], dtype=np.float64)
        count, total = (
            (np.bincount(after, weights, last + 2) - np.bincount(upto + 1, weights, last + 2)).cumsum()
            for weights in (np.ones_like(values), values)
        )
        return cls(len(seen), count, total, float((values * values).sum()))


def _log_likelihood(sums: _Sums, ends: Sequence[int]) -> Floats:
    """Of a change at each of `ends`, up to a constant: effect and spread integrated out over flat priors.

    Blocks without it between their commits have the mean 0, those with it one unknown mean; a flat prior on that mean
    and on the logarithm of the spread leaves n1^(-1/2) rest^(-(n - 1) / 2): Student's t with n - 1 degrees of freedom.
    """
    changed = sums.count[list(ends)]
    blocks = float(sums.blocks)
    if blocks < 2 or changed.min() == 0.0:
        return np.zeros(len(ends))  # nothing is known of the effect before the bad one was measured
    rest = _rest(sums, ends)
    floor = 1e-12 * sums.squares or 1e-300  # rounding, where all blocks agree
    return np.asarray(-0.5 * np.log(changed) - (blocks - 1) / 2 * np.log(np.maximum(rest, floor)))


def _rest(sums: _Sums, ends: Sequence[int]) -> Floats:
    """Squares about 0 of the blocks without a change between them, about the common mean of those with one."""
    places = list(ends)
    explained = sums.total[places] ** 2 / sums.count[places]
    return np.asarray(np.maximum(sums.squares - explained, 0.0))


def _fit(seen: Sequence[Measured], rest: float, least: float) -> float:
    """Lack of fit (F): the means of blocks of the same two commits about the step, against their own spread."""
    alike: dict[tuple[int, int], list[float]] = {}
    for each in seen:
        alike.setdefault((each.against, each.commit), []).append(each.contrast)
    inside = sum(float(np.var(values)) * len(values) for values in alike.values())
    free_between, free_inside = float(len(alike) - 1), float(len(seen) - len(alike))
    misfit = sqrt(max(rest - inside, 0.0) / len(seen))
    if free_between < 1 or free_inside < 1 or inside <= 0.0 or misfit < log1p(least) / 2:
        return 1.0
    ratio = max(rest - inside, 0.0) / free_between / (inside / free_inside)
    return float(fdtrc(free_between, free_inside, ratio))


def _information(sums: _Sums, asked: Sequence[NextBlock], places: npt.NDArray[np.intp], share: Floats) -> Floats:
    """For each block of `asked`: how much (nats) its contrast tells of which of `places` is the change."""
    freedom = sums.blocks - 1.0
    changed = sums.count[places]
    mean = sums.total[places] / changed
    spread = np.sqrt(np.maximum(_rest(sums, places.tolist()), 1e-300) / freedom)
    against, commit = np.asarray([(each.against, each.commit) for each in asked]).T[:, :, None]
    between = (against < places) & (places <= commit)
    centre = np.where(between, mean, 0.0)[:, :, None]
    width = np.where(between, spread * np.sqrt(1.0 + 1.0 / changed), spread)[:, :, None]
    middle, reach = (centre.max() + centre.min()) / 2, (centre.max() - centre.min()) / 2 + 4.0 * width.max()
    contrasts = middle + reach * _GRID
    logs = -(freedom + 1.0) / 2.0 * np.log1p(((contrasts - centre) / width) ** 2 / freedom) - np.log(width)
    logs -= logs.max(axis=(1, 2), keepdims=True)
    joint = share[:, None] * np.exp(logs)
    mixed = joint.sum(axis=1, keepdims=True)
    gained = joint * (logs - np.log(np.maximum(mixed, 1e-300)))
    return np.asarray(gained.sum(axis=(1, 2)) / mixed.sum(axis=(1, 2)))


POINTS_MIN = 6
"""Fewer points have too little to know the noise by."""


@dataclass(frozen=True)
class Level:
    """Points `first` to `upto`, without `upto`, of one mean log-ratio."""

    first: int
    upto: int
    mean: float

    @property
    def points(self) -> int:
        """How many."""
        return self.upto - self.first


@dataclass(frozen=True)
class Step:
    """A new level begins at point `at`: the new one ÷ the old one, with its interval."""

    at: int
    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class Course:
    """What a history says. `noise` is a point's standard deviation (log-ratio), nan where there are too few points."""

    levels: tuple[Level, ...]
    steps: tuple[Step, ...]
    noise: float
    smallest: float
    """The step (a share) that the last `LEAST` points would show if they had another level; inf where none would."""


def course_of(means: Sequence[float], least: float = 0.0) -> Course:
    """Levels and steps of a history, each step shown to be larger than `least`, a share: no interval holds 1."""
    values = np.asarray(means, dtype=np.float64)
    count = len(values)
    if count < POINTS_MIN:
        return Course(_levels(values, ()) if count else (), (), float("nan"), inf)
    penalty = PENALTY * log(count) * _noise(values, ()) ** 2
    starts = partition(values[None, :], np.array([max(penalty, 1e-18)]))[0]
    # Of |t| for any two neighbouring stretches of a history, each of `LEAST` points at least (Bonferroni).
    pairs = comb(count - 2 * LEAST + 3, 3)
    while True:
        noise, freedom = _noise(values, starts), max(2.0 * (count - 1 - len(starts)) / 3.0, 1.0)
        levels = _levels(values, starts)
        critical = float(stdtrit(freedom, 1.0 - (1.0 - LEVEL) / (2.0 * max(pairs, 1))))
        steps = []
        for old, new in pairwise(levels):
            mean, half = new.mean - old.mean, critical * noise * sqrt(1.0 / old.points + 1.0 / new.points)
            steps.append(Step(new.first, exp(mean), exp(mean - half), exp(mean + half)))
        doubtful = [each for each in steps if not (each.low > 1.0 + least or each.high < 1.0 / (1.0 + least))]
        if not doubtful:
            break
        dropped = min(doubtful, key=lambda each: abs(log(each.estimate)))
        starts = tuple(each for each in starts if each != dropped.at)
    last = levels[-1]
    rest = max(last.points - LEAST, LEAST)
    smallest = (1.0 + least) * exp(critical * noise * sqrt(1.0 / rest + 1.0 / LEAST)) - 1.0
    return Course(levels, tuple(steps), noise, smallest)


def _levels(values: Floats, starts: Sequence[int]) -> tuple[Level, ...]:
    ends = [0, *starts, len(values)]
    return tuple(Level(first, upto, float(values[first:upto].mean())) for first, upto in pairwise(ends))


def _noise(values: Floats, starts: Sequence[int]) -> float:
    """A point's standard deviation by what neighbours differ, without those that a step lies between.

    Residuals about levels that were picked to fit are too small; differences of neighbours were picked by nobody.
    """
    kept = np.delete(np.diff(values), [each - 1 for each in starts])
    found = sqrt(float(kept @ kept) / (2.0 * len(kept))) if len(kept) else 0.0
    return max(found, 1e-9)
