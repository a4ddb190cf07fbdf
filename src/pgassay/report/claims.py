"""Published findings against a run: each with its mark, by the effect of its treatment or by what was fitted.

Only the treatments that a claim names are compared, against the one that it names.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from pgassay.analysis import claims
from pgassay.analysis.claims import ClaimJudgement
from pgassay.report import contradictions, scaling_claims
from pgassay.study.model import Claim

if TYPE_CHECKING:
    from pgassay.report.findings import Findings


def judged(findings: "Findings", claim: Claim) -> ClaimJudgement:
    """The claim, marked; with a reason where this run contradicts it."""
    fitted = scaling_claims.judged(claim, findings.companions)
    if fitted is not None:
        return fitted
    study = findings.study
    response = findings.responses.get(claim.response)
    against = ", ".join(f"{name}={typed}" for name, typed in claim.against.items())
    known = [treatment.name for treatment in study.treatments]
    baseline, effect = against if against in known else findings.baseline, None
    if response is not None and not claim.untestable and against in ("", baseline):
        wanted = claims.parts(claim.treatment)
        named = {arm.treatment.name for arm in study.arms if wanted <= set(arm.name.split(", "))}
        effect = claims.effect_of(claim, findings.effects(response, baseline, named))
    found = claims.judge(claim, effect, blocks_max=study.design.blocks_max)
    return replace(found, why=contradictions.why(findings, found, effect, baseline))
