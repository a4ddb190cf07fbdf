"""Two runs of one study: run again (does each effect agree?), or one combination in two environments (how far apart?).

A study that was run again: both effects are contrasts against the baseline on one machine each, so what the two
machines have by themselves cancels; left is the ratio of two independent ratios (or the difference of two differences).
Its half-width is the root of the sum of the two squared half-widths, each with its own critical value (Zou & Donner
2008, "MOVER"), so it is about as sure as the intervals that it is made of. Agreement asks for both: the same verdict,
decided in both runs, and sizes that are not shown to differ. Two unresolved verdicts are no agreement, however wide
their intervals.

One combination in two environments: runs on two hosts share no blocks, so nothing cancels: each side's own spread
counts, and Welch's t (1947) does not take the spreads for equal. What a run shares throughout (its hour, its cluster)
is not in the spread: repeat a whole run to learn that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import exp, hypot, inf, isfinite, log, nan, sqrt

import numpy as np
from scipy.special import stdtrit  # type: ignore[import-untyped]

from pgassay.analysis.boundaries import LEVEL
from pgassay.analysis.claims import Mark
from pgassay.analysis.effects import Effect
from pgassay.analysis.verdicts import Kind
from pgassay.study.responses import Scale

_DECIDED = (Kind.BETTER, Kind.WORSE, Kind.DIFFERENT, Kind.EQUIVALENT)


class Outcome(StrEnum):
    """What the second run says about the first."""

    AGREE = "agree"
    DIFFER = "differ"
    UNRESOLVED = "unresolved"


@dataclass(frozen=True)
class Replication:
    """The second effect by the first: a ratio, or a difference, by `scale`; NaN where one of them has no interval."""

    outcome: Outcome
    estimate: float
    low: float
    high: float
    scale: Scale
    why: str = ""
    """Of an outcome that is unresolved: what keeps it so."""


def replicated(original: Effect, original_kind: Kind, rerun: Effect, rerun_kind: Kind) -> Replication:
    """Set the effect of a second run against the first one's; both are of one comparison and response."""
    scale, half = original.scale, inf
    if Kind.FAILED in (original_kind, rerun_kind):
        both = original_kind == rerun_kind
        return Replication(Outcome.AGREE if both else Outcome.DIFFER, nan, nan, nan, scale)
    if not (original.refused or rerun.refused) and original.bounded and rerun.bounded:
        (first, first_half), (second, second_half) = _centred(original), _centred(rerun)
        middle, half = second - first, hypot(first_half, second_half)
    if not isfinite(half):
        return Replication(Outcome.UNRESOLVED, nan, nan, nan, scale, "one of the two has no interval")
    shown, low, high = (exp(each) if scale is Scale.RATIO else each for each in (middle, middle - half, middle + half))
    if abs(middle) > half:
        return Replication(Outcome.DIFFER, shown, low, high, scale)
    if original_kind == rerun_kind and original_kind in _DECIDED:
        return Replication(Outcome.AGREE, shown, low, high, scale)
    return Replication(
        Outcome.UNRESOLVED, shown, low, high, scale, f"{original_kind.value} then, {rerun_kind.value} now"
    )


def claim_again(original: Mark, rerun: Mark) -> Outcome:
    """The same for a published claim: it agrees where both runs reproduced it, or both contradicted it."""
    if {Mark.NOT_TESTABLE, Mark.NOT_COMPARABLE} & {original, rerun}:
        return Outcome.UNRESOLVED
    return Outcome.AGREE if original is rerun else Outcome.DIFFER


def _centred(effect: Effect) -> tuple[float, float]:
    """Estimate and half-width of the interval, of a ratio as logarithms; the half-width is infinite at a bound of 0."""
    if effect.scale is not Scale.RATIO:
        return effect.estimate, max(effect.high - effect.estimate, effect.estimate - effect.low)
    if effect.low <= 0.0:
        return log(effect.estimate), float("inf")
    middle = log(effect.estimate)
    return middle, max(log(effect.high) - middle, middle - log(effect.low))


LEAST = 2


@dataclass(frozen=True)
class Difference:
    """The other by the first: a ratio, or a difference; NaN ends where either side has fewer than two trials."""

    estimate: float
    low: float
    high: float
    trials: tuple[int, int]
    scale: Scale

    @property
    def told_apart(self) -> bool:
        """True when the interval leaves out no difference."""
        none = 1.0 if self.scale is Scale.RATIO else 0.0
        return isfinite(self.low) and not self.low <= none <= self.high


def difference(
    first: Sequence[float], other: Sequence[float], scale: Scale, *, comparisons: int = 1
) -> Difference | None:
    """Set `other` against `first`; None without a usable value on either side. Values are those of single trials."""
    ratio = scale is Scale.RATIO
    samples = [
        np.asarray([value for value in values if isfinite(value) and (value > 0.0 or not ratio)], dtype=np.float64)
        for values in (first, other)
    ]
    if ratio:
        samples = [np.log(sample) for sample in samples]
    counts = (len(samples[0]), len(samples[1]))
    if min(counts) == 0:
        return None
    middle = float(samples[1].mean() - samples[0].mean())
    half = nan
    if min(counts) >= LEAST:  # Welch's interval with Satterthwaite's degrees of freedom
        errors = [float(sample.var(ddof=1)) / len(sample) for sample in samples]
        whole, half = sum(errors), 0.0
        if whole > 0.0:
            freedom = whole**2 / sum(error**2 / (count - 1) for error, count in zip(errors, counts, strict=True))
            half = -float(stdtrit(freedom, (1.0 - LEVEL) / max(1, comparisons) / 2.0)) * sqrt(whole)
    ends = (middle, middle - half, middle + half)
    estimate, low, high = map(exp, ends) if ratio else ends
    return Difference(estimate, low, high, counts, scale)
