"""A study that was run again: does each effect agree with the original, differ from it, or is that not known?

Both effects are contrasts against the baseline on one machine each, so what the two machines have by themselves
cancels; left is the ratio of two independent ratios (or the difference of two differences). Its half-width is the root
of the sum of the two squared half-widths, each with its own critical value (Zou & Donner 2008, "MOVER"), so it is about
as sure as the intervals that it is made of.

Agreement asks for both: the same verdict, decided in both runs, and sizes that are not shown to differ. Two unresolved
verdicts are no agreement, however wide their intervals.
"""

from dataclasses import dataclass
from enum import StrEnum
from math import exp, hypot, isfinite, log, nan

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
    scale = original.scale
    if Kind.FAILED in (original_kind, rerun_kind):
        both = original_kind == rerun_kind
        return Replication(Outcome.AGREE if both else Outcome.DIFFER, nan, nan, nan, scale)
    if original.refused or rerun.refused or not (original.bounded and rerun.bounded):
        return Replication(Outcome.UNRESOLVED, nan, nan, nan, scale, "one of the two has no interval")
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
