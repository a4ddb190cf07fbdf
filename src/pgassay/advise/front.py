"""Several objectives at once: which configurations are worth a user's choice, and how sure that is.

A search proposes; from what it saw a few points are picked across its front, and a study of blocks that are fixed
beforehand says what they are. Intervals hold for all its configurations and objectives together. Pure.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import hypot, inf, log, sqrt

from scipy.special import stdtr  # type: ignore[import-untyped]

from pgassay.advise.constraints import Limits, allowed
from pgassay.advise.smoothing import Smoothed, smoothed
from pgassay.advise.space import Configuration, Space
from pgassay.analysis.boundaries import FIRST_LOOK
from pgassay.analysis.compare import compare
from pgassay.analysis.effects import Effect
from pgassay.analysis.observations import Observation
from pgassay.study.levels import Place
from pgassay.study.responses import Better, Response, Scale
from pgassay.study.thresholds import Limit

Gains = tuple[float, ...]
"""Of each objective a log-ratio to the start, higher is better."""
Trials = Sequence[Sequence[tuple[Configuration, Gains | None]]]
"""What was seen, batch by batch; None for what failed."""
SURE = 0.95
"""A point that keeps a limit with less probability than this is not offered."""


class Standing(StrEnum):
    """What the confirmation says of a configuration."""

    FRONT = "front"
    DOMINATED = "dominated"
    OPEN = "no gain shown"
    BREAKS = "breaks a limit"
    FAILED = "failed"
    REFERENCE = "reference"


@dataclass(frozen=True)
class Kept:
    """A hard limit, and the probability that a further trial of a configuration keeps it."""

    limit: str
    probability: float


@dataclass(frozen=True)
class Seen:
    """What a study saw: observations by response, in which a treatment is the place of its configuration (0: start)."""

    configurations: Sequence[Configuration]
    observations: Mapping[str, Sequence[Observation]]
    responses: Mapping[str, Response]
    limits: Sequence[Limit]
    failed: Mapping[Configuration, str] = field(default_factory=dict)
    costs: Sequence[str] = ()
    """Those of the responses that are costs of a transaction and no objectives; they decide nothing."""


@dataclass(frozen=True)
class Point:
    """A configuration of the confirmation. `label` is a letter, or the name of what it is set against."""

    label: str
    configuration: Configuration
    effects: tuple[Effect, ...]
    """Of each objective, against the start."""
    kept: tuple[Kept, ...]
    standing: Standing
    by: str = ""
    """Which other one is at least as good in everything."""
    searched: tuple[float, ...] = ()
    """What the search expected, as ratios to the start; nothing of a reference."""
    shown: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Of each line the objectives for which the screening has shown that it helps."""
    left_out: Mapping[str, tuple[Effect, ...]] = field(default_factory=dict)
    """Of each line that was left out beside it: the point against itself without the line, of each objective."""
    costs: tuple[str, ...] = ()
    """Costs that surely moved against the start, in words, the largest first."""
    line_costs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The same of each line that was left out: of the point without it against the point."""


def dominates(one: Gains, other: Gains, width: float = 0.0) -> bool:
    """Is the first better in something, and as good in everything? Differences within `width` count for nothing."""
    differences = [mine - theirs for mine, theirs in zip(one, other, strict=True)]
    return max(differences) > width and min(differences) >= -width


def front_of(gains: Mapping[Configuration, Gains]) -> list[Configuration]:
    """Those that no other one dominates."""
    return [each for each, mine in gains.items() if not any(dominates(theirs, mine) for theirs in gains.values())]


@dataclass(frozen=True)
class Expected:
    """What all trials of a search together say of each objective; see `smoothing`."""

    processes: tuple[Smoothed, ...]

    def gains(self, configuration: Configuration) -> Gains:
        """The expected log-ratios to the start, higher is better."""
        return tuple(each.gain(configuration) for each in self.processes)

    def trimmed(
        self,
        found: Configuration,
        limits: Limits,
        measured: Collection[Configuration],
        least: float,
        failed: bool,
        keep: Collection[str] = (),
    ) -> Configuration:
        """Without the lines of which less than `least` is expected in every objective, as `smoothing.trimmed`."""
        start = self.processes[0].space.start
        while True:
            lines, mine = found.changes_from(start), self.gains(found)
            losses = {}
            for name in (each for each in lines if each not in keep):
                without = found.with_values({name: start.values[name]})
                if allowed(without, limits) and (not failed or without in measured):
                    losses[without] = max(a - b for a, b in zip(mine, self.gains(without), strict=True))
            best = min(losses, key=lambda each: losses[each], default=found)
            if len(lines) < 2 or best == found or losses[best] >= least:
                return found
            found = best


def expected(space: Space, before: Trials, measured: Trials, objectives: int) -> Expected | None:
    """Of all that was seen, batch by batch; None where that is too little."""
    batches = [*before, *measured]
    found = [
        smoothed(space, [[(each, None if gains is None else gains[at]) for each, gains in batch] for batch in batches])
        for at in range(objectives)
    ]
    known = tuple(each for each in found if each is not None)
    return Expected(known) if len(known) == objectives else None


def promising(process: Expected | None, measured: Trials) -> dict[Configuration, Gains]:
    """Expected gains of what was measured; what ever failed is left out.

    Where too little was seen to smooth, a mean counts n ÷ (n + 1), as that of one objective.
    """
    seen: dict[Configuration, list[Gains | None]] = {}
    for batch in measured:
        for each, gains in batch:
            seen.setdefault(each, []).append(gains)
    found = {}
    for each, all_gains in seen.items():
        worked = [one for one in all_gains if one is not None]
        if worked and len(worked) == len(all_gains):
            means = tuple(sum(column) / (len(worked) + 1) for column in zip(*worked, strict=True))
            found[each] = means if process is None else process.gains(each)
    return found


def picked(gains: Mapping[Configuration, Gains], most: int) -> list[Configuration]:
    """At most so many points across the front: the best of each objective, then what is furthest from those chosen.

    Distances are in shares of the front's extent in each objective.
    """
    front = front_of(gains)
    if not front:
        return []
    columns = list(zip(*(gains[each] for each in front), strict=True))
    widths = [max(column) - min(column) or 1.0 for column in columns]

    def apart(one: Configuration, other: Configuration) -> float:
        both = zip(gains[one], gains[other], widths, strict=True)
        return hypot(*((mine - theirs) / width for mine, theirs, width in both))

    chosen = list(dict.fromkeys(max(front, key=lambda each: gains[each][at]) for at in range(len(columns))))[:most]
    while len(chosen) < min(most, len(front)):
        rest = [each for each in front if each not in chosen]
        chosen.append(max(rest, key=lambda each: min(apart(each, other) for other in chosen)))
    return sorted(chosen, key=lambda each: gains[each], reverse=True)


def judged(
    seen: Seen,
    objectives: Sequence[str],
    labels: Mapping[str, Configuration],
    searched: Mapping[Configuration, tuple[float, ...]],
    blocks: int,
    resolution: float,
) -> tuple[Point, ...]:
    """Every configuration of a study by its label, the start first; those that were searched have a standing.

    Differences within `resolution` (a share) count for nothing.
    """
    own_arms = [each for each in seen.configurations if each in labels.values()]
    effects = _effects(seen, own_arms, objectives, blocks)
    numbers = {each: number for number, each in enumerate(seen.configurations)}
    responses = [seen.responses[name] for name in objectives]
    kept = {each: _kept(seen, str(numbers[each])) for each in own_arms}
    own = {each: Standing.FAILED for each in own_arms if _without_result(seen, each, effects)}
    own |= {
        each: Standing.BREAKS
        for each, limits in kept.items()
        if each not in own and any(not limit.probability >= SURE for limit in limits)
    }
    gains = {
        each: tuple(_gain(effect, response) for effect, response in zip(found, responses, strict=True))
        for each, found in effects.items()
        if each not in own
    }
    start = seen.configurations[0]
    if start not in own:
        gains[start] = (0.0,) * len(objectives)
    betters = _betters(labels, gains, log(1 + resolution))
    higher = [each.better is Better.HIGHER for each in responses]
    found = []
    for label, each in labels.items():
        by = betters.get(label, "")
        standing = own.get(each) or (Standing.DOMINATED if by else Standing.FRONT)
        if standing is Standing.FRONT and not any(map(helps, effects.get(each, ()), higher)):
            standing = Standing.OPEN
        if each not in searched:
            standing = Standing.REFERENCE
        found.append(Point(label, each, effects.get(each, ()), kept[each], standing, by, tuple(searched.get(each, ()))))
    return tuple(found)


def _betters(labels: Mapping[str, Configuration], gains: Mapping[Configuration, Gains], width: float) -> dict[str, str]:
    """Of each label another one that is better in something by more than `width`, and nowhere worse by more.

    The largest sums of gains come first, and only what nothing beats beats others: so something always stays.
    """
    known = sorted((name for name in labels if labels[name] in gains), key=lambda name: -sum(gains[labels[name]]))
    found: dict[str, str] = {}
    stay: list[str] = []
    for name in known:
        by = next((each for each in stay if dominates(gains[labels[each]], gains[labels[name]], width)), "")
        if by:
            found[name] = by
        else:
            stay.append(name)
    return found


def _effects(
    seen: Seen, own: Sequence[Configuration], objectives: Sequence[str], blocks: int
) -> dict[Configuration, tuple[Effect, ...]]:
    """Against the start: one family of `own` and all objectives, and one look, since nothing stops early."""
    arms = {each: number for number, each in enumerate(seen.configurations) if number and each in own}
    return {each: _against(seen, number, 0, objectives, blocks, len(arms)) for each, number in arms.items()}


def without_lines(
    seen: Seen,
    objectives: Sequence[str],
    without: Mapping[Configuration, Mapping[str, Configuration]],
    blocks: int,
) -> dict[Configuration, dict[str, tuple[Effect, ...]]]:
    """Of each point what it has from each line that was left out: itself against the same without the line.

    They are a family of their own: all lines and objectives together.
    """
    numbers = {each: number for number, each in enumerate(seen.configurations)}
    count = sum(map(len, without.values()))
    return {
        point: {
            name: _against(seen, numbers[point], numbers[other], objectives, blocks, count)
            for name, other in others.items()
        }
        for point, others in without.items()
    }


def _against(
    seen: Seen, arm: int, baseline: int, objectives: Sequence[str], blocks: int, arms: int
) -> tuple[Effect, ...]:
    """One arm against another in each objective, as one of so many arms."""
    found: list[Effect] = []
    for name in objectives:
        found += compare(
            seen.observations[name],
            seen.responses[name],
            str(baseline),
            blocks_max=blocks,
            comparisons=arms * len(objectives),
            looks="once",
            primary=True,
            arms=[Place(str(arm), "", "")],
        )
    return tuple(found)


def _without_result(seen: Seen, each: Configuration, effects: Mapping[Configuration, tuple[Effect, ...]]) -> bool:
    few = any(not effect.bounded or effect.blocks < FIRST_LOOK for effect in effects.get(each, ()))
    return each in seen.failed or few


def _gain(effect: Effect, response: Response) -> float:
    sign = 1 if response.better is Better.HIGHER else -1
    if effect.scale is Scale.DIFFERENCE:
        return sign * effect.estimate
    return sign * log(effect.estimate) if effect.estimate > 0 else -inf


def helps(effect: Effect, higher: bool) -> bool:
    """Is it shown to be an improvement, where more is better or less?"""
    return effect.bounded and (effect.low > effect.none if higher else effect.high < effect.none)


def _kept(seen: Seen, treatment: str) -> tuple[Kept, ...]:
    """Every limit with its probability for a configuration."""
    return kept_limits(seen.limits, seen.observations, treatment, "0")


def kept_limits(
    limits: Sequence[Limit], observations: Mapping[str, Sequence[Observation]], treatment: str, start: str
) -> tuple[Kept, ...]:
    """Every limit with its probability for a treatment; changes are against that of the `start`."""
    return tuple(Kept(each.text, probability(_values(observations, each, treatment, start), each)) for each in limits)


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
