"""Runs of one study from several environments side by side: differences with intervals, and what differs in the hosts.

The first run is the one that the others are set against. Facts that change by the minute are left out. The hosts of one
fleet's run are such environments, too. A run and its repetition agree, differ or are unresolved, contrast by contrast
and published claim by claim.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pgassay import outgoing
from pgassay.analysis.effects import Effect
from pgassay.analysis.replication import Difference, Outcome, Replication, claim_again, difference, replicated
from pgassay.errors import UsageError
from pgassay.report import formatting
from pgassay.report.findings import Findings, Judged
from pgassay.report.json_values import effect_values
from pgassay.report.provenance import lasting
from pgassay.study.levels import Place
from pgassay.study.responses import Response, Status


@dataclass(frozen=True)
class Row:
    """One response of one combination: the first run's mean, and each other run against it (None: not measured)."""

    place: str
    response: Response
    primary: bool
    differences: tuple[Difference | None, ...]


@dataclass(frozen=True)
class EffectRow:
    """The primary's effect of one treatment in each environment, and how it differs from the first one's.

    A difference is a ratio of ratios, or a difference of differences, over single blocks (None: not measured).
    """

    place: str
    response: Response
    effects: tuple[Effect | None, ...]
    differences: tuple[Difference | None, ...]


@dataclass(frozen=True)
class SideBySide:
    """All of it, runs in the order given.

    `hosts` are facts about the hosts that are not the same everywhere, `studies` such held levels; None where a record
    lacks one.
    """

    runs: tuple[str, ...]
    rows: tuple[Row, ...]
    hosts: Mapping[str, tuple[object, ...]]
    studies: Mapping[str, tuple[object, ...]]
    comparisons: int
    effects: tuple[EffectRow, ...] = ()


def _require_same_study(first: Findings, other: Findings) -> None:
    path, study, mine = other.run.path, first.run.header.study, other.run.header.study
    if mine != study:
        raise UsageError(
            f'"{path}" is a run of the study "{mine}", the first one of "{study}"', "compare runs of one study"
        )
    if other.study.primary != first.study.primary:
        responses = f"the primary response {other.study.primary}, the first run {first.study.primary}"
        raise UsageError(f'"{path}" has {responses}', "both must measure the same")


def by_host(findings: Findings) -> list[Findings]:
    """What each host of a fleet ran, as a run by itself, most blocks first; the run itself where one machine ran it."""
    blocks: dict[str, set[int]] = {}
    for trial in findings.trials:
        blocks.setdefault(trial.host, set()).add(trial.block)
    if len(blocks) < 2:
        return [findings]
    names = sorted(blocks, key=lambda name: (-len(blocks[name]), name))
    return [Findings(findings.run, hosts=(name,)) for name in names]


def name_of(findings: Findings) -> str:
    """What an environment is called: its host where it is one of a fleet's, else its run."""
    return ", ".join(findings.hosts) or findings.run.path.name


def side_by_side(all_findings: Sequence[Findings]) -> SideBySide:
    """Compare; the hosts of a single run with each other.

    Raises `UsageError` for a run of one machine alone, or for runs that do not share a study.
    """
    if len(all_findings) == 1:
        all_findings = by_host(all_findings[0])
    if len(all_findings) < 2:
        raise UsageError("one run alone cannot be compared", "name two runs or more, the first is compared with")
    first, *others = all_findings
    measured = _values(first, first.study.primary)
    places = list(dict.fromkeys(arm.name for arm in first.study.arms if arm.name in measured))
    for other in others:
        _require_same_study(first, other)
        if not set(places) & _values(other, other.study.primary).keys():
            raise UsageError(
                f'"{other.run.path}" has no valid trials of any combination that the first run has',
                "pgassay show RUN --verbose lists the combinations of each",
            )
    comparisons = len(places) * len(others)
    responses = [first.primary, *first.secondary, *(each for each in first.run.responses if each.cost)]
    rows = []
    for response in dict.fromkeys(responses):
        primary = response.name == first.study.primary
        values = [_values(findings, response.name) for findings in all_findings]
        for place in places:
            mine = values[0].get(place, [])
            found = tuple(
                difference(mine, theirs.get(place, []), response.scale, comparisons=comparisons if primary else 1)
                for theirs in values[1:]
            )
            if any(found):
                rows.append(Row(place or "the load", response, primary, found))
    held = [{name: level.typed for name, level in findings.study.fixed.items()} for findings in all_findings]
    return SideBySide(
        runs=tuple(map(name_of, all_findings)),
        rows=tuple(rows),
        hosts=_differing([_facts(findings) for findings in all_findings]),
        studies=_differing(held),
        comparisons=comparisons,
        effects=tuple(_effects(all_findings)),
    )


def _effects(all_findings: Sequence[Findings]) -> Iterator[EffectRow]:
    """Welch's interval over the block-wise contrasts of each side, 95 % for all treatments and hosts together."""
    response = all_findings[0].primary
    tables = [{each.effect.place.name: each.effect for each in findings.verdicts} for findings in all_findings]
    comparisons = max(1, len(tables[0]) * (len(tables) - 1))
    for place in tables[0]:
        found = tuple(table.get(place) for table in tables)
        first, *others = ([] if each is None else [value for _, value in each.contrasts] for each in found)
        different = tuple(difference(first, other, response.scale, comparisons=comparisons) for other in others)
        if any(different):
            yield EffectRow(place, response, found, different)


def _facts(findings: Findings) -> dict[str, object]:
    """What lasts of an environment's machine as it is recorded: of a fleet's host what it said of itself."""
    host: Mapping[str, Any] = findings.run.host
    fleet = host.get("fleet")
    if findings.hosts and isinstance(fleet, Mapping):
        mine = fleet.get(name_of(findings))
        own = mine.get("facts") if isinstance(mine, Mapping) else None
        host = own if isinstance(own, Mapping) else {}
    flat: dict[str, object] = {}
    for group, found in host.items():
        named = {f"{group}.{name}": value for name, value in found.items()} if isinstance(found, Mapping) else {}
        for name, value in (named or {group: found}).items():
            if lasting(name):
                flat[name] = ", ".join(map(str, value)) if named and isinstance(value, list) else value
    return flat


def _values(findings: Findings, response: str) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for trial in findings.trials:
        value = trial.responses.get(response)
        if trial.status is Status.VALID and value is not None:
            found.setdefault(trial.arm, []).append(value)
    return found


def _differing(tables: Sequence[Mapping[str, object]]) -> dict[str, tuple[object, ...]]:
    names = dict.fromkeys(name for table in tables for name in table)
    found = {name: tuple(table.get(name) for table in tables) for name in names}
    return {name: values for name, values in found.items() if any(value != values[0] for value in values[1:])}


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
    _require_same_study(original, rerun)
    known = {original.study.primary: rerun.verdicts, **{each.name: judged for each, judged in rerun.secondary_verdicts}}
    contrasts = []
    for response, judged in ((original.primary, original.verdicts), *original.secondary_verdicts):
        again = {each.effect.place: each for each in known.get(response.name, ())}
        primary = response.name == original.study.primary
        for each in judged:
            other = again.get(each.effect.place)
            found = replicated(each.effect, each.verdict.kind, other.effect, other.verdict.kind) if other else None
            contrasts.append(Contrast(each.effect.place, response, primary, each, other, found))
    marks = {(each.claim.text, *sorted(each.claim.treatment.items())): each.mark for each in rerun.claims}
    claims = []
    for claimed in original.claims:
        treatment = ", ".join(f"{name}={level}" for name, level in claimed.claim.treatment.items())
        mark = marks.get((claimed.claim.text, *sorted(claimed.claim.treatment.items())))
        outcome = claim_again(claimed.mark, mark) if mark else Outcome.UNRESOLVED
        claims.append(ClaimAgain(claimed.claim.text, treatment, claimed.mark, mark or "", outcome))
    return Repetition(name, rerun.run.path.name, contrasts, claims)


def repetition_text(found: Repetition) -> str:
    """For a terminal: the answer, then the primary's contrasts, the others, and the claims; ends with a newline."""
    counted = ", ".join(f"{found.count(outcome)} {outcome.value}" for outcome in Outcome)
    lines = [
        f"{found.rerun} against {found.original}: {counted} (contrasts of the primary response, and published claims)"
    ]
    title = ""
    for each in found.contrasts:
        if each.response.title != title:
            title = each.response.title
            lines += ["", f"{formatting.capital(title)}{'' if each.primary else ' (secondary)'}"]
        lines.append(f"  {each.place.name or 'the load'}: {each.outcome.value}")
        for when, judged in (("then", each.original), ("now", each.rerun)):
            said = "not measured"
            if judged is not None:
                effect = "" if judged.effect.refused else f"{formatting.effect(judged.effect, each.response)}, "
                said = f"{effect}{judged.verdict.text}"
            lines.append(f"    {when}: {said}")
        if each.found and each.found.low == each.found.low:
            ends = (each.found.estimate, each.found.low, each.found.high)
            lines.append(f"    now by then: {formatting.interval(*ends, each.found.scale, each.response)}")
        if each.found and each.found.why:
            lines.append(f"    why unresolved: {each.found.why}")
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


def repetition_values(found: Repetition) -> dict[str, object]:
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
        "claims": [{**asdict(each), "rerun": each.rerun or None} for each in found.claims],
    }
