"""A run and its repetition side by side: each contrast and each published claim, agreeing, differing or unresolved."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pgassay import outgoing
from pgassay.analysis.replication import Outcome, Replication, claim_again, replicated
from pgassay.errors import UsageError
from pgassay.report import words
from pgassay.report.findings import Findings, Judged
from pgassay.report.json_values import effect_values
from pgassay.study.levels import Place
from pgassay.study.responses import Response


@dataclass(frozen=True)
class Contrast:
    """One comparison with the baseline in both runs; `rerun` is None where the second did not measure it."""

    place: Place
    response: Response
    primary: bool
    original: Judged
    rerun: Judged | None
    found: Replication | None

    @property
    def outcome(self) -> Outcome:
        """Agree, differ or unresolved."""
        return self.found.outcome if self.found else Outcome.UNRESOLVED


@dataclass(frozen=True)
class ClaimAgain:
    """A published claim with its marks in both runs; an empty one is of a claim that a run does not have."""

    text: str
    treatment: str
    original: str
    rerun: str
    outcome: Outcome


@dataclass(frozen=True)
class Repetition:
    """Both runs, contrast by contrast and claim by claim."""

    original: str
    rerun: str
    contrasts: Sequence[Contrast]
    claims: Sequence[ClaimAgain]

    def count(self, outcome: Outcome) -> int:
        """How many contrasts of the primary response, and claims, came out so."""
        deciding = [each.outcome for each in self.contrasts if each.primary]
        return sum(each is outcome for each in (*deciding, *(claim.outcome for claim in self.claims)))


def repetition(original: Findings, rerun: Findings, name: str) -> Repetition:
    """Set a run against the one that it repeats, which had this `name`; raises `UsageError` for runs of two studies."""
    if rerun.run.header.study != original.run.header.study:
        raise different_studies(original.run.header.study, rerun.run.header.study, rerun.run.path)
    if rerun.study.primary != original.study.primary:
        raise different_primaries(original.study.primary, rerun.study.primary, rerun.run.path)
    return Repetition(
        name,
        rerun.run.path.name,
        tuple(_contrasts(original, rerun)),
        tuple(_claims(original, rerun)),
    )


def _contrasts(original: Findings, rerun: Findings) -> Iterator[Contrast]:
    for response, judged in ((original.primary, original.verdicts), *original.secondary_verdicts):
        again = {each.effect.place: each for each in _again(rerun, response)}
        for each in judged:
            other = again.get(each.effect.place)
            found = replicated(each.effect, each.verdict.kind, other.effect, other.verdict.kind) if other else None
            primary = response.name == original.study.primary
            yield Contrast(each.effect.place, response, primary, each, other, found)


def _again(rerun: Findings, response: Response) -> Sequence[Judged]:
    if response.name == rerun.study.primary:
        return rerun.verdicts
    return next((judged for each, judged in rerun.secondary_verdicts if each.name == response.name), ())


def _claims(original: Findings, rerun: Findings) -> Iterator[ClaimAgain]:
    again = {(each.claim.text, *sorted(each.claim.treatment.items())): each for each in rerun.claims}
    for each in original.claims:
        treatment = ", ".join(f"{name}={level}" for name, level in each.claim.treatment.items())
        other = again.get((each.claim.text, *sorted(each.claim.treatment.items())))
        outcome = claim_again(each.mark, other.mark) if other else Outcome.UNRESOLVED
        yield ClaimAgain(each.claim.text, treatment, each.mark, other.mark if other else "", outcome)


def text(found: Repetition) -> str:
    """For a terminal: the answer, then the primary's contrasts, the others, and the claims; ends with a newline."""
    counted = ", ".join(f"{found.count(outcome)} {outcome.value}" for outcome in Outcome)
    lines = [
        f"{found.rerun} against {found.original}: {counted} (contrasts of the primary response, and published claims)"
    ]
    title = ""
    for each in found.contrasts:
        if each.response.title != title:
            title = each.response.title
            lines += ["", f"{words.capital(title)}{'' if each.primary else ' (secondary)'}"]
        lines += [f"  {each.place.name or 'the load'}: {each.outcome.value}", *(f"    {line}" for line in _shown(each))]
    if found.claims:
        lines += ["", "Published claims"]
    for claim in found.claims:
        lines += [f"  {claim.text}: {claim.outcome.value}"]
        lines += [f"    {claim.original} then, {claim.rerun or 'not in this study'} now"]
    lines += [
        "",
        "note: a contrast agrees where both runs came to the same verdict and the sizes are not shown to differ;"
        " intervals are as sure as those of the two runs",
    ]
    return outgoing.lines(lines)


def _shown(each: Contrast) -> Iterator[str]:
    for when, judged in (("then", each.original), ("now", each.rerun)):
        if judged is None:
            yield f"{when}: not measured"
        else:
            effect = "" if judged.effect.refused else f"{words.effect(judged.effect, each.response)}, "
            yield f"{when}: {effect}{judged.verdict.text}"
    if each.found and each.found.low == each.found.low:
        ends = (each.found.estimate, each.found.low, each.found.high)
        yield f"now by then: {words.interval(*ends, each.found.scale, each.response)}"
    if each.found and each.found.why:
        yield f"why unresolved: {each.found.why}"


def plain(found: Repetition) -> dict[str, object]:
    """As JSON has it."""
    return {
        "format": 1,
        "original": found.original,
        "rerun": found.rerun,
        "counts": {outcome.value: found.count(outcome) for outcome in Outcome},
        "contrasts": [
            {
                "response": each.response.name,
                "primary": each.primary,
                "outcome": each.outcome,
                "original": {**effect_values(each.original.effect), "verdict": each.original.verdict.kind},
                "rerun": each.rerun and {**effect_values(each.rerun.effect), "verdict": each.rerun.verdict.kind},
                "estimate": each.found and each.found.estimate,
                "low": each.found and each.found.low,
                "high": each.found and each.found.high,
                "why": each.found.why if each.found else "not measured",
            }
            for each in found.contrasts
        ],
        "claims": [
            {
                "text": each.text,
                "treatment": each.treatment,
                "original": each.original,
                "rerun": each.rerun or None,
                "outcome": each.outcome,
            }
            for each in found.claims
        ],
    }


def different_studies(first: str, other: str, path: Path) -> UsageError:
    """Runs of different studies cannot be compared."""
    return UsageError(
        f'"{path}" is a run of the study "{other}", the first one of "{first}"', "compare runs of one study"
    )


def different_primaries(first: str, other: str, path: Path) -> UsageError:
    """Runs whose primary responses differ cannot be compared."""
    return UsageError(f'"{path}" has the primary response {other}, the first run {first}', "both must measure the same")
