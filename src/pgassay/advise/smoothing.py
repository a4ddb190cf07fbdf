"""What all trials of a search together say of one configuration: its gain, and how likely it keeps the limits.

A sample seen once is half luck, and its neighbours know more of it than it does. Gains are a Gaussian process over the
levels of the space. The start that a batch is set against has noise of its own, which all of its ratios share: the
process knows. C. E. Rasmussen and C. K. I. Williams, "Gaussian Processes for Machine Learning" (2006), chapters 2
and 5. It helps to choose; nothing it says is evidence.

One trial beyond a limit of `--keep` is half luck, too. So how far a trial is from each limit is smoothed over all
trials as the objective is, and what counts is how probable it is that a further trial keeps all of them. Whether the
limits hold is for the confirmation to say.

Processors and libraries of linear algebra differ in the last bits, and a choice between two levels must not hang on
them: the fit goes down exact gradients to its end, and what it finds and expects is rounded.
"""

from collections.abc import Callable, Collection, Mapping, MutableSequence, Sequence
from dataclasses import dataclass, field
from math import log, sqrt
from statistics import fmean, stdev

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, cho_solve  # type: ignore[import-untyped]
from scipy.optimize import minimize  # type: ignore[import-untyped]
from scipy.special import ndtr, stdtr  # type: ignore[import-untyped]

from pgassay.advise.space import Configuration, Limits, Space, allowed, index_of
from pgassay.analysis.observations import Observation
from pgassay.study.responses import Scale
from pgassay.study.thresholds import Limit

Floats = npt.NDArray[np.float64]
Gains = tuple[float, ...]
"""Of each objective a log-ratio to the start, higher is better."""
Batches = Sequence[Sequence[tuple[Configuration, Gains | None]]]
"""Gains (to the start of their own batch), batch by batch; None for what failed."""
Gained = Mapping[Configuration, Sequence[Gains | None]]
"""The same by configuration."""
_FEWEST = 8
"""With fewer trials there is nothing to smooth."""
_FITTED = 120
"""So many trials, spread over all, tell the lengths and the noise: of more the fit would take longer than trials."""
_LENGTH, _LENGTH_SD = 0.5, 1.0
"""Where the length of a setting's axis (in logarithms, of a range of 1) is expected, and how surely."""
_NOISE, _NOISE_SD = -2.5, 1.5
"""The same of a trial's noise: about 8 %, and almost anything."""
_FIT = {"maxiter": 200, "ftol": 1e-12, "gtol": 1e-6}
_FITTED_DIGITS, _GAIN_DIGITS = 2, 6
"""Of logarithms: a length to 1 %, a gain to 0.0001 %. Far more than the last bits are, and less than matters."""


@dataclass(frozen=True)
class Smoothed:
    """What is expected of a configuration, by all that was seen."""

    space: Space
    points: Floats
    weights: Floats
    origin: Floats
    scale: float
    lengths: Floats
    noise: float
    """Of one trial, as a standard deviation of its logarithm."""
    factor: Floats
    """The lower Cholesky factor of the covariance of what was seen."""

    def upper_estimates(self, configurations: Sequence[Configuration], spreads: float) -> Floats:
        """The expected log-ratios to the start, and so many of their standard deviations more."""
        at = np.array([_place(self.space, each) for each in configurations])
        near = _anchored(at, self.points, self.origin, self.scale, self.lengths)
        own = 2 * self.scale**2 * (1 - np.exp(-0.5 * np.sum(((at - self.origin) / self.lengths) ** 2, axis=1)))
        known = np.sum(near * cho_solve((self.factor, True), near.T).T, axis=1)
        found: Floats = near @ self.weights + spreads * np.sqrt(np.maximum(own - known, 0.0))
        return np.round(found, _GAIN_DIGITS)

    def gain(self, configuration: Configuration) -> float:
        at = _place(self.space, configuration)[None, :]
        near = _anchored(at, self.points, self.origin, self.scale, self.lengths)
        return round(float((near @ self.weights)[0]), _GAIN_DIGITS)


def smoothed(space: Space, batches: Sequence[Sequence[tuple[Configuration, float | None]]]) -> Smoothed | None:
    """The process that makes what was seen most likely, all trials equally noisy; None where too little was seen."""
    seen = [
        (number, _place(space, each), gain)
        for number, batch in enumerate(batches)
        for each, gain in batch
        if gain is not None and each != space.start
    ]
    if len(seen) < _FEWEST:
        return None
    points = np.array([place for _, place, _ in seen])
    gains = np.array([gain for _, _, gain in seen])
    numbers = np.array([number for number, _, _ in seen])
    shared = np.eye(len(seen)) + (numbers[:, None] == numbers[None, :])
    origin = _place(space, space.start)
    some = np.unique(np.linspace(0, len(seen) - 1, min(len(seen), _FITTED)).astype(int))
    fit = Fit(points[some], gains[some], shared[np.ix_(some, some)], origin)
    first = np.array([np.log(max(float(np.std(fit.gains)), 1e-3)), _NOISE, *[_LENGTH] * points.shape[1]])
    bounds = [(-7.0, 3.0), (-7.0, 1.0), *[(-2.0, 4.0)] * points.shape[1]]
    best = minimize(fit.cost, first, jac=True, method="L-BFGS-B", bounds=bounds, options=_FIT).x
    scale, noise, lengths = parts_of(np.round(best, _FITTED_DIGITS))
    factor = cho_factor(_anchored(points, points, origin, scale, lengths) + noise**2 * shared, lower=True)
    weights = cho_solve(factor, gains)
    return Smoothed(space, points, weights, origin, scale, lengths, noise, factor[0])


def parts_of(parameters: Floats) -> tuple[float, float, Floats]:
    """Scale, noise and lengths; the parameters of the fit are their logarithms."""
    return float(np.exp(parameters[0])), float(np.exp(parameters[1])), np.exp(parameters[2:])


class Fit:
    """How unlikely what was seen is, by the logarithms of scale, noise and lengths; ibid., equations 5.8 and 5.9."""

    def __init__(self, points: Floats, gains: Floats, together: Floats, origin: Floats) -> None:
        self.gains = gains
        self._together = together
        self._between = (points[:, None, :] - points[None, :, :]) ** 2
        self._from_start = (points - origin) ** 2

    def cost(self, parameters: Floats) -> tuple[float, Floats]:
        """Minus the logarithm of the posterior, but for a constant, and its gradient."""
        scale, noise, lengths = parts_of(parameters)
        start = np.exp(-0.5 * (self._from_start @ lengths**-2.0))
        near = np.exp(-0.5 * (self._between @ lengths**-2.0))
        signal = scale**2 * (near - start[:, None] - start[None, :] + 1.0)  # as `_anchored`
        try:
            factor = cho_factor(signal + noise**2 * self._together, lower=True)
        except LinAlgError:
            return 1e9, np.zeros_like(parameters)
        weights = cho_solve(factor, self.gains)
        unlike = cho_solve(factor, np.eye(len(weights))) - np.outer(weights, weights)
        apart = np.einsum("ij,ijd->d", unlike * near, self._between)
        apart -= 2 * (np.sum(unlike, axis=1) * start) @ self._from_start
        surprise = np.array([(parameters[1] - _NOISE) / _NOISE_SD, *(parameters[2:] - _LENGTH) / _LENGTH_SD])
        gradient = np.array(
            [
                np.sum(unlike * signal),
                noise**2 * np.sum(unlike * self._together) + surprise[0] / _NOISE_SD,
                *(0.5 * scale**2 * apart / lengths**2 + surprise[1:] / _LENGTH_SD),
            ]
        )
        misfit = float(self.gains @ weights) + float(surprise @ surprise)
        return 0.5 * misfit + float(np.sum(np.log(np.diag(factor[0])))), gradient


@dataclass(frozen=True)
class Expected:
    """What all trials together say of each objective."""

    processes: tuple[Smoothed, ...]

    @property
    def space(self) -> Space:
        return self.processes[0].space

    def gains(self, configuration: Configuration) -> Gains:
        return tuple(each.gain(configuration) for each in self.processes)

    def upper_estimates(self, configurations: Sequence[Configuration], spreads: float, weights: Gains) -> list[float]:
        """As `Smoothed.upper_estimates`, the sum over all objectives with these weights."""
        parts = (
            weight * each.upper_estimates(configurations, spreads)
            for weight, each in zip(weights, self.processes, strict=True)
        )
        found: list[float] = sum(parts, np.zeros(len(configurations))).tolist()
        return found

    def lost(self, whole: Configuration, other: Configuration) -> float:
        """What is expected to be lost where the other one is taken: the most of any objective."""
        return max(mine - its for mine, its in zip(self.gains(whole), self.gains(other), strict=True))


def expected(space: Space, batches: Batches) -> Expected | None:
    """Of all that was seen; None where that is too little."""
    count = next((len(gains) for batch in batches for _, gains in batch if gains is not None), 0)
    found = []
    for at in range(count):
        mine = [[(each, None if gains is None else gains[at]) for each, gains in batch] for batch in batches]
        process = smoothed(space, mine)
        if process is None:
            return None
        found.append(process)
    return Expected(tuple(found)) if found else None


def by_configuration(batches: Batches) -> dict[Configuration, list[Gains | None]]:
    found: dict[Configuration, list[Gains | None]] = {}
    for batch in batches:
        for each, gains in batch:
            found.setdefault(each, []).append(gains)
    return found


def promising(process: Expected | None, measured: Batches) -> dict[Configuration, Gains]:
    """What was `measured` with its expected gains; what ever failed is left out.

    Where too little was seen to smooth, a mean counts n ÷ (n + 1): the shrinkage of a mean whose noise is as large as
    the differences that are searched for.
    """
    found = {}
    for each, all_gains in by_configuration(measured).items():
        worked = [one for one in all_gains if one is not None]
        if worked and len(worked) == len(all_gains):
            means = tuple(sum(column) / (len(worked) + 1) for column in zip(*worked, strict=True))
            found[each] = means if process is None else process.gains(each)
    return found


def hopeful(
    process: Expected,
    near: Configuration,
    limits: Limits,
    taken: Collection[Configuration],
    spreads: float,
    weights: Gains = (1.0,),
    likely: Callable[[Sequence[Configuration]], Sequence[Configuration]] = lambda line: line,
) -> Configuration | None:
    """Where most may be hoped for, setting by setting from `near` on, that is not `taken`; None where all are.

    Of each line only what is `likely` to keep what must hold; of several objectives by their `weights`.

    With more `spreads` what is little known is hoped more of (N. Srinivas and others, "Gaussian process optimization in
    the bandit setting", 2010).
    """
    upper_estimates: dict[Configuration, float] = {}
    found, best = near, -np.inf
    while True:
        before = found
        for dimension in process.space.dimensions:
            line = [found.with_values({dimension.name: level}) for level in dimension.levels]
            line = [*likely([each for each in line if allowed(each, limits)])]
            if line:
                upper_estimates |= zip(line, process.upper_estimates(line, spreads, weights), strict=True)
                highest = max(line, key=lambda each: upper_estimates[each])
                if upper_estimates[highest] > best + 1e-9:
                    found, best = highest, upper_estimates[highest]
        if found == before:
            break
    free = [each for each in upper_estimates if each not in taken]
    return max(free, key=lambda each: upper_estimates[each]) if free else None


def trimmed(
    process: Expected | None,
    found: Configuration,
    limits: Limits,
    measured: Gained,
    least: float,
    most: int,
    keep: Collection[str] = (),
    keeps: Callable[[Configuration], bool] = lambda each: True,
) -> Configuration:
    """Without the lines of which together less than `least` is expected in every objective: their proof takes time.

    Nor with more than `most` lines, whatever is expected of them; but always with those to `keep`.
    Where something failed on the way, only to what was seen to work, and only to what `keeps` what must hold.
    """
    start, whole = found if process is None else process.space.start, found
    failed = any(None in gains for gains in measured.values())
    while process is not None:
        lines = found.changes_from(start)
        fewer = [found.with_values({name: start.values[name]}) for name in lines if name not in keep]
        works = [each for each in fewer if not failed or (each in measured and None not in measured[each])]
        lost = {each: process.lost(whole, each) for each in works if allowed(each, limits) and keeps(each)}
        best = min(lost, key=lambda each: lost[each], default=found)
        if len(lines) < 2 or best == found or (lost[best] >= least and len(lines) <= most):
            break
        found = best
    return found


def _anchored(one: Floats, other: Floats, origin: Floats, scale: float, lengths: Floats) -> Floats:
    """The covariance of gains, which are differences to the start and so 0 there."""

    def kernel(left: Floats, right: Floats) -> Floats:
        apart = (left[:, None, :] - right[None, :, :]) / lengths
        near: Floats = scale**2 * np.exp(-0.5 * np.sum(apart**2, axis=2))
        return near

    start = origin[None, :]
    found: Floats = kernel(one, other) - kernel(one, start) - kernel(start, other) + scale**2
    return found


def _place(space: Space, configuration: Configuration) -> Floats:
    """Where a configuration is: an ordered setting's level between 0 and 1, of words one axis each."""
    found: list[float] = []
    for each in space.dimensions:
        at, last = index_of(each.levels, configuration.values[each.name]), len(each.levels) - 1
        found += [at / last] if each.ordered else [float(number == at) for number in range(last + 1)]
    return np.array(found)


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
            added = self.process.upper_estimates(configurations, 0.0)
            unsure = self.process.upper_estimates(configurations, 1.0) - added
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
class ConstraintModel:
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


NO_LIMITS = ConstraintModel()


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

    def constraint_model(self, space: Space) -> ConstraintModel:
        """What all of them say of the configurations of a space, whose other settings are at the start.

        Batches that are set against another configuration than the start (servers in turns) say nothing of it.
        """
        mine = [each for each in self.batches if each[0] == space.start]
        if not mine:
            return NO_LIMITS
        names = {each.name for each in space.dimensions}
        count = len(next(iter(mine[0][1].values())).slacks)
        return ConstraintModel(tuple(_of_one(mine, space, names, at) for at in range(count)))


def _of_one(batches: Sequence[tuple[Configuration, Holding]], space: Space, names: Collection[str], at: int) -> _OfOne:
    starts = [held[start].slacks[at] for start, held in batches]
    added = [
        [
            (
                space.start.with_values({name: each.values[name] for name in names}),
                one.slacks[at] - held[start].slacks[at],
            )
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
