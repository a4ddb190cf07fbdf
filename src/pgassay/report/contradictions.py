"""Why a published finding may have come out otherwise here: what the study foresees, and what was measured beside it.

A contradiction without a reason helps nobody. The study's own words name the likely cause, with the medians that this
run measured put into them; the costs that moved with the response are an association, and said to be no more.
"""

import re
from typing import TYPE_CHECKING

from pgassay.analysis.claims import ClaimJudgement, Mark, needed_parts
from pgassay.analysis.compare import cost_effects
from pgassay.analysis.effects import Effect
from pgassay.analysis.explanation import amount, explain
from pgassay.report import words
from pgassay.report.trials import middle
from pgassay.study.model import Claim
from pgassay.study.responses import Status

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

SHOWN = 3
_NAMED = re.compile(r"\{([a-z0-9_]+)\}")
_UNKNOWN = "(not measured)"


def why(findings: "Findings", judged: ClaimJudgement, effect: Effect | None, baseline: str) -> str:
    """One sentence for a contradicted claim; empty for any other, or where nothing is known."""
    if judged.mark is not Mark.CONTRADICTED or effect is None:
        return ""
    told = [_foreseen(findings, judged.claim), _beside(findings, effect, baseline)]
    return "; ".join(each for each in told if each)


def _foreseen(findings: "Findings", claim: Claim) -> str:
    """The study's words, each `{response}` in them as the median that the claim's treatment had here."""
    named = needed_parts(claim.treatment, findings.study)
    mine = [
        trial
        for trial in findings.trials
        if trial.status is Status.VALID and named <= set(trial.place.name.split(", "))
    ]

    def measured(found: re.Match[str]) -> str:
        response = findings.responses.get(found[1])
        value = middle(trial.responses.get(found[1]) for trial in mine)
        return _UNKNOWN if response is None or value is None else words.quantity(value, response)

    return _NAMED.sub(measured, claim.otherwise)


def _beside(findings: "Findings", effect: Effect, baseline: str) -> str:
    """The costs that moved most between the same two treatments."""
    observed = {name: findings.observations(name) for name, each in findings.responses.items() if each.cost}
    blocks_max = findings.study.design.blocks_max
    declared = findings.run.responses
    beside = cost_effects(observed, declared, baseline, blocks_max=blocks_max, looks=findings.looks, only=effect.place)
    found = explain(effect, [each for each in beside if each.response != effect.response], declared)
    moved = (*found.along, *found.against)[:SHOWN]
    listed = ", ".join(
        f"{findings.responses[each.response].title} {amount(each, findings.responses[each.response])}" for each in moved
    )
    return f"measured beside it: {listed}" if listed else ""
