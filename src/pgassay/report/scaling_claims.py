"""Published claims on fitted figures: where the curve bends, in physical cores, and what lies beyond.

They are judged by the fit's interval. A machine without a second hardware thread to a core cannot speak to
hyper-threading, whatever its curve looks like.
"""

from typing import TYPE_CHECKING

from pgassay.analysis import claims
from pgassay.analysis.claims import ClaimJudgement, needed_parts
from pgassay.report.scaling import Processors, Scaling, describes
from pgassay.study.model import Claim, Study

if TYPE_CHECKING:
    from pgassay.report.companions import Companions

KINK, GAIN, YARDSTICK_GAIN = "kink_per_core", "smt_gain", "smt_gain_of_yardstick"
FIGURES = (KINK, GAIN, YARDSTICK_GAIN)


def judged(claim: Claim, study: Study, companions: "Companions") -> ClaimJudgement | None:
    """The mark of a claim on a fitted figure; None for a claim on a response."""
    if claim.response not in FIGURES or claim.untestable:
        return None
    curves = companions.yardsticks if claim.response == YARDSTICK_GAIN else companions.scalings
    named = needed_parts(claim.treatment, study)
    curve = next((each for each in curves if named <= _names(each)), None)
    if curve is not None and curve.kink is not None and not describes(curve.kink):
        return claims.not_testable(
            claim, f"two lines fit that curve badly, points lie {curve.kink.misfit:.0%} off them"
        )
    if curve is None or curve.kink is None:
        return claims.not_testable(claim, "this run has too few points of that curve")
    if claim.response == KINK:
        return _kink(claim, curve, companions.processors)
    return _gain(claim, curve, companions.processors)


def _kink(claim: Claim, curve: Scaling, processors: Processors) -> ClaimJudgement:
    found, cores = curve.kink, processors.cores
    if cores is None:
        return claims.not_testable(claim, "the record does not tell the physical cores")
    if found is None or not found.located:
        return claims.not_testable(claim, f"no kink is located up to {curve.upto:g} clients")
    return claims.judge_range(claim, found.at.value / cores, found.at.low / cores, found.at.high / cores)


def _gain(claim: Claim, curve: Scaling, processors: Processors) -> ClaimJudgement:
    threads = processors.threads_per_core
    if threads is None or threads <= 1.0:
        return claims.not_testable(claim, "this machine shows one hardware thread a core")
    if curve.kink is None or not curve.kink.located:
        return claims.not_testable(claim, f"no kink is located up to {curve.upto:g} clients")
    gain = curve.kink.gain
    return claims.judge_range(claim, gain.value, gain.low, gain.high)


def _names(curve: Scaling) -> frozenset[str]:
    return frozenset(part for name in (curve.treatment, curve.condition) for part in name.split(", ") if part)
