"""Which configurations are expected to keep the limits of `--keep`: by all trials of a search, with its uncertainty.

One trial beyond a limit is half luck, as one of a high speed is. So how far a trial is from each limit is smoothed over
all trials, as the objective is (smoothing.py), and what counts is how probable it is that a further trial keeps all of
them. It helps to choose; whether the limits hold is for the confirmation to say.
"""

from collections.abc import Collection, Mapping, MutableSequence, Sequence
from dataclasses import dataclass, field
from math import log, sqrt
from statistics import fmean, stdev

from scipy.special import ndtr, stdtr  # type: ignore[import-untyped]

from pgassay.advise.smoothing import Gains, Smoothed, smoothed
from pgassay.advise.space import Configuration, Space
from pgassay.analysis.observations import Observation
from pgassay.study.responses import Scale
from pgassay.study.thresholds import Limit

SURE = 0.95
"""What keeps a limit with less probability than this is not recommended."""
LIKELY = 0.5
"""With less probability than this a configuration is not proposed, if another one is left."""
_FURTHEST = log(1000)
"""No trial counts as further from a limit: a value of 0 is no infinite distance away."""
_LEAST_SPREAD = 1e-6


@dataclass(frozen=True)
class LimitChance:
    """A hard limit, and the probability that a further trial of a configuration keeps it."""

    limit: str
    probability: float


@dataclass(frozen=True)
class Held:
    """What a trial with a result has, whatever limits it breaks."""

    values: tuple[float, ...]
    """Of each objective."""
    slacks: tuple[float, ...]
    """Of each limit, as `slack`."""

    @property
    def broken(self) -> bool:
        """Does it break one?"""
        return any(each < 0 for each in self.slacks)


Holding = Mapping[Configuration, Held]


def slack(limit: Limit, value: float) -> float:
    """How far a value is from a limit, as a log-ratio: above 0 where it keeps it, below 0 where it breaks it."""
    keeps = limit.relation.holds(value, limit.value)
    far = _FURTHEST
    if value > 0 and limit.value > 0:
        far = min(_FURTHEST, abs(log(limit.value / value)))
    return max(far, _LEAST_SPREAD) if keeps else -max(far, _LEAST_SPREAD)


def holding(
    values: Mapping[Configuration, Mapping[str, float | None]], objectives: Sequence[str], limits: Sequence[Limit]
) -> Holding:
    """What trials with these responses have; without limits nothing, and no change against a baseline is one."""
    own, found = [each for each in limits if not each.change], dict[Configuration, Held]()
    for configuration, responses in values.items():
        known = tuple(one for each in objectives if (one := responses.get(each)) is not None)
        slacks = [slack(each, one) for each in own if (one := responses.get(each.response.name)) is not None]
        if len(known) == len(objectives) and slacks and len(slacks) == len(own):
            found[configuration] = Held(known, tuple(slacks))
    return found


@dataclass(frozen=True)
class _OfOne:
    """What is known of one limit: the start's slack, and what each configuration adds to it."""

    start: float
    spread: float
    """Of one further trial of the start, with what is not known of its mean."""
    process: Smoothed | None
    seen: Mapping[Configuration, Sequence[float]]
    """What was added, by trials."""

    def probabilities(self, configurations: Sequence[Configuration]) -> list[float]:
        """Of a further trial of each to keep the limit."""
        if self.process is not None:
            added = self.process.hopes(configurations, 0.0)
            unsure = self.process.hopes(configurations, 1.0) - added
            noise = max(self.spread, self.process.noise, _LEAST_SPREAD)
            return [
                float(ndtr((self.start + mean) / sqrt(noise**2 + own**2)))
                for mean, own in zip(added.tolist(), unsure.tolist(), strict=True)
            ]
        found = []
        for each in configurations:
            own = self.seen.get(each, ())
            noise = max(self.spread, _LEAST_SPREAD) * sqrt(1 + 1 / max(len(own), 1))
            found.append(float(ndtr((self.start + (fmean(own) if own else 0.0)) / noise)))
        return found


@dataclass(frozen=True)
class Keeping:
    """How probable it is that a further trial of a configuration keeps every limit: the least of their probabilities.

    Certain where there are none.
    """

    limits: tuple[_OfOne, ...] = ()

    def probabilities(self, configurations: Sequence[Configuration]) -> list[float]:
        """Of each."""
        found = [1.0] * len(configurations)
        for limit in self.limits:
            found = [min(pair) for pair in zip(found, limit.probabilities(configurations), strict=True)]
        return found

    def probability(self, configuration: Configuration) -> float:
        """Of one."""
        [found] = self.probabilities([configuration])
        return found

    def likely(self, configurations: Sequence[Configuration]) -> list[Configuration]:
        """Those that keep the limits rather than not; all where none does."""
        if not self.limits or not configurations:
            return list(configurations)
        pairs = zip(configurations, self.probabilities(configurations), strict=True)
        return [each for each, found in pairs if found >= LIKELY] or list(configurations)

    def safest(self, ranked: Sequence[tuple[Configuration, Gains]]) -> list[tuple[Configuration, Gains]]:
        """Of configurations with what is expected of them, the best first, those that surely enough keep the limits.

        Where none does, the one that keeps them most probably.
        """
        if not self.limits or not ranked:
            return list(ranked)
        found = self.probabilities([each for each, _ in ranked])
        sure = [each for each, probability in zip(ranked, found, strict=True) if probability >= SURE]
        return sure or [ranked[max(range(len(ranked)), key=found.__getitem__)]]

    def as_safe(self, one: Configuration, other: Configuration) -> bool:
        """Does the one keep the limits surely enough, or as probably as the other?"""
        first, second = self.probabilities([one, other])
        return first >= min(SURE, second)


NO_LIMITS = Keeping()


@dataclass
class Slacks:
    """The slacks of all trials of an advice so far, batch by batch, and what they say."""

    batches: MutableSequence[tuple[Configuration, Holding]] = field(default_factory=list)

    def add(self, start: Configuration, held: Holding) -> None:
        """A batch was measured; one without limits, or whose start has no result, tells nothing."""
        if start in held and held[start].slacks:
            self.batches.append((start, held))

    def breaks(self, configuration: Configuration) -> bool:
        """Do its trials break a limit, on average?"""
        found = [held[configuration].slacks for _, held in self.batches if configuration in held]
        return any(fmean(column) < 0 for column in zip(*found, strict=True))

    def keeping(self, space: Space) -> Keeping:
        """What all of them say of the configurations of a space, whose other settings are at the start.

        Batches that are set against another configuration than the start (servers in turns) say nothing of it.
        """
        mine = [each for each in self.batches if each[0] == space.start]
        if not mine:
            return NO_LIMITS
        names = {each.name for each in space.dimensions}
        count = len(next(iter(mine[0][1].values())).slacks)
        return Keeping(tuple(_of_one(mine, space, names, at) for at in range(count)))


def _of_one(batches: Sequence[tuple[Configuration, Holding]], space: Space, names: Collection[str], at: int) -> _OfOne:
    starts = [held[start].slacks[at] for start, held in batches]
    added = [
        [
            (space.seen_in(names, each), one.slacks[at] - held[start].slacks[at])
            for each, one in held.items()
            if each != start
        ]
        for start, held in batches
    ]
    seen: dict[Configuration, list[float]] = {}
    for batch in added:
        for each, slack_added in batch:
            seen.setdefault(each, []).append(slack_added)
    number = len(starts)
    spread = stdev(starts) * sqrt(1 + 1 / number) if number > 1 else 0.0
    return _OfOne(fmean(starts), spread, smoothed(space, added), seen)


def kept_limits(
    limits: Sequence[Limit], observations: Mapping[str, Sequence[Observation]], treatment: str, start: str
) -> tuple[LimitChance, ...]:
    """Every limit with its probability for a treatment; changes are against that of the `start`."""
    return tuple(
        LimitChance(each.text, probability(_values(observations, each, treatment, start), each)) for each in limits
    )


def _values(observations: Mapping[str, Sequence[Observation]], limit: Limit, treatment: str, start: str) -> list[float]:
    """What a limit is about, block by block: the response, or its change against the start."""
    mine: dict[str, dict[int, float]] = {treatment: {}, start: {}}
    for each in observations[limit.response.name]:
        if each.treatment in mine and each.value is not None:
            mine[each.treatment][each.block] = each.value
    if not limit.change:
        return [*mine[treatment].values()]
    pairs = [(value, mine[start][block]) for block, value in mine[treatment].items() if block in mine[start]]
    if limit.response.scale is Scale.DIFFERENCE:
        return [value - start for value, start in pairs]
    return [value / start for value, start in pairs if start]


def probability(values: Sequence[float], limit: Limit) -> float:
    """That one more trial keeps the limit, by these trials: Student's predictive distribution; NaN without two.

    In logarithms where the response is compared by ratios.
    """
    ratio = limit.response.scale is Scale.RATIO and limit.value > 0 and all(each > 0 for each in values)
    sample = [log(each) if ratio else each for each in values]
    bound = log(limit.value) if ratio else limit.value
    count = len(sample)
    if count < 2:
        return float("nan")
    mean = sum(sample) / count
    spread = sqrt(sum((each - mean) ** 2 for each in sample) / (count - 1) * (1 + 1 / count))
    if not spread:
        return float(mean < bound if limit.relation.bounds_above else mean > bound)
    below = float(stdtr(count - 1, (bound - mean) / spread))
    return below if limit.relation.bounds_above else 1 - below
