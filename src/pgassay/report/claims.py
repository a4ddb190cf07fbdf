"""Published findings against a run: each with its mark, by the effect of its treatment or by what was fitted.

Only the treatments that a claim names are compared, against the one that it names.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from pgassay.analysis import claims, messages
from pgassay.analysis.claims import ClaimJudgement
from pgassay.report import contradictions, scaling_claims
from pgassay.study.model import Claim

if TYPE_CHECKING:
    from pgassay.report.findings import Findings


def judged(findings: "Findings", claim: Claim) -> ClaimJudgement:
    """The claim, marked; with a reason where this run contradicts it."""
    study = findings.study
    fitted = scaling_claims.judged(claim, study, findings.companions)
    if fitted is not None:
        return fitted
    absent = claims.missing_levels(claim, study)
    if absent and not claim.untestable:
        return claims.not_testable(claim, messages.absent_levels(absent))
    response = findings.responses.get(claim.response)
    baseline, effect = claims.treatment_of(claim.against, study) if claim.against else findings.baseline, None
    if response is not None and not claim.untestable and baseline is not None:
        wanted = claims.needed_parts(claim.treatment, study)
        named = {arm.treatment.name for arm in study.arms if wanted <= set(arm.name.split(", "))}
        effect = claims.effect_of(claim, findings.effects(response, baseline, named), wanted)
    found = claims.judge(claim, effect, blocks_max=study.design.blocks_max)
    return replace(found, why=contradictions.why(findings, found, effect, baseline or findings.baseline))
