"""The effect of each factor, where several vary: main effects and interactions, and each level with all others held.

The verdicts compare with one baseline, so a FILLFACTOR on one drive is held against another FILLFACTOR on another
drive. One factor at a time, it is held against its own drive's, and a drive against the other one at the same
FILLFACTOR: published studies leave open which of the two they mean. All of it is secondary, each interval by itself.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgassay.analysis.compare import compare
from pgassay.analysis.effects import Effect
from pgassay.analysis.explanation import explain
from pgassay.analysis.factorial import Factorial, factorial
from pgassay.analysis.verdicts import Kind
from pgassay.report import formatting
from pgassay.report.answer import joined
from pgassay.report.json_values import effect_values
from pgassay.report.section import Brief, Part, Section, Table, Values
from pgassay.report.trials import grouped
from pgassay.study.levels import Place
from pgassay.study.model import Study

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

_SPEED = ("qps", "tps")
_SPACE_OPTION = "fillfactor"
MECHANISM = ("hot_share", "wal_bytes_per_transaction", "full_page_images_per_transaction")
"""What room in a table's pages works by: updates stay in their page, so indexes and WAL are spared."""


@dataclass(frozen=True)
class Pair:
    """`treatment` has one level of `factor`, `against` the baseline's; the others are as `rest` says in both."""

    factor: str
    treatment: str
    against: str
    level: str
    other: str
    rest: str

    @property
    def name(self) -> str:
        """How it is called: `75 against 100 at drive.data=csd`."""
        return f"{self.level} against {self.other}" + (f" at {self.rest}" if self.rest else "")


@dataclass(frozen=True)
class Compared:
    """A pair in one condition at one covariate point, with the effect on each response that was measured."""

    pair: Pair
    condition: str
    covariate: str
    effects: tuple[Effect, ...]
    sentence: str


def pairs(study: Study) -> tuple[Pair, ...]:
    """Every pair of treatments that differ in one factor only, by it at the baseline's level; none with one factor."""
    treatments = {each.name: {name: level.typed for name, level in each.levels.items()} for each in study.treatments}
    names = list(dict.fromkeys(name for levels in treatments.values() for name in levels))
    varied = [name for name in names if len({levels.get(name) for levels in treatments.values()}) > 1]
    if len(varied) < 2:
        return ()
    baseline = treatments[study.design.baseline.name]
    found = []
    for factor in varied:
        for name, levels in treatments.items():
            wanted = {**levels, factor: baseline.get(factor)}
            same = (other for other, mine in treatments.items() if all(mine.get(e) == wanted.get(e) for e in varied))
            against = next(same, None)
            if against is None or against == name:
                continue
            rest = ", ".join(f"{each}={levels[each]}" for each in varied if each != factor and each in levels)
            sides = (levels.get(factor, "default"), treatments[against].get(factor, "default"))
            found.append(Pair(factor, name, against, *sides, rest))
    return tuple(found)


def compared(findings: "Findings") -> tuple[Compared, ...]:
    """Each pair in each condition at each covariate point, with its effects; empty for a study of one factor."""
    every = pairs(findings.study)
    responses = [findings.primary, *findings.secondary] if every else []
    known = {
        (response.name, against): {
            each.place: each for each in findings.effects(response, against, [pair.treatment for pair in mine])
        }
        for against, mine in grouped(every, lambda pair: pair.against).items()
        for response in responses
    }
    places = dict.fromkeys(arm.place.cell for arm in findings.study.arms)
    found = []
    for pair in every:
        for place in places:
            mine = [known[response.name, pair.against].get(Place(pair.treatment, *place)) for response in responses]
            effects = tuple(each for each in mine if each is not None and each.blocks)
            if effects:
                found.append(Compared(pair, *place, effects, _sentence(findings, pair, effects)))
    return tuple(found)


def factorial_of(findings: "Findings") -> Factorial | None:
    """Main effects and interactions on the primary; None with fewer than two factors."""
    study = findings.study
    if len(study.factors) < 2 or any(each.verdict.kind is Kind.NOT_COMPARED for each in findings.verdicts):
        return None
    return factorial(
        findings.observations(findings.primary.name),
        {each.name: {name: level.typed for name, level in each.levels.items()} for each in study.treatments},
        {name: level.typed for name, level in study.design.baseline.levels.items()},
        findings.primary,
        blocks_max=study.design.blocks_max,
        looks=findings.looks,
    )


def _describe(findings: "Findings") -> Iterator[Part]:
    found, alone = findings.once(factorial_of), findings.once(compared)
    factors = found and {
        "main": [effect_values(each) for each in found.main],
        "interactions": [effect_values(each) for each in found.interactions],
        "confounded": found.confounded,
    }
    pairs_of = [
        {
            **vars(each.pair), "condition": each.condition, "covariate": each.covariate, "sentence": each.sentence,
            "effects": {effect.response: effect_values(effect) for effect in each.effects},
        }
        for each in alone
    ]  # fmt: skip
    yield Values({"beside": {"factors": factors}, "one_factor": pairs_of})
    named = list(dict.fromkeys(each.factor for each in pairs(findings.study)))
    yield Brief(f"{joined(named)}, each by itself, with the others held" if named else "")
    if found is not None:
        kinds = (
            *(("main effect", each) for each in found.main),
            *(("interaction", each) for each in found.interactions),
        )
        rows = [
            (each.place.name, kind, formatting.effect(each, findings.primary), f"{each.blocks}") for kind, each in kinds
        ]
        yield Table(("level", "kind", "effect", "blocks"), rows, notes=found.confounded)
    # A table for each factor and place: a column a pair, a row a response; what speed moved with below it.
    tables = grouped(alone, lambda each: (each.pair.factor, formatting.place(each.condition, each.covariate)))
    for (factor, place), mine in tables.items():
        names = dict.fromkeys(effect.response for each in mine for effect in each.effects)
        cells = []
        for name in names:
            response, row = findings.responses[name], []
            for each in mine:
                effect = next((one for one in each.effects if one.response == name), None)
                row.append(formatting.MISSING if effect is None else formatting.effect(effect, response))
            cells.append((response.title, *row))
        notes = [each.sentence for each in mine if each.sentence]
        others = sum(each.pair.against != findings.baseline for each in mine)
        same = f"intervals against {findings.baseline} are those of the verdicts and of the other responses"
        if others == len(mine):
            notes.append("each interval is valid for its own comparison, at every look")
        else:
            notes.append(f"{same}; any other is valid for its own comparison, at every look" if others else same)
        title = f"{factor} alone{f': {place}' if place else ''}"
        yield Table(("", *(each.pair.name for each in mine)), cells, title, notes)


def _sentence(findings: "Findings", pair: Pair, effects: Sequence[Effect]) -> str:
    """What the speed did and by what mechanism, where room in pages is the factor and speed was measured."""
    speed = next((each for name in _SPEED for each in effects if each.response == name), None)
    if not pair.factor.endswith(_SPACE_OPTION) or speed is None:
        return ""
    mechanisms = [findings.responses[name] for name in MECHANISM if name in findings.responses]
    costs = [
        effect
        for response in mechanisms
        for effect in compare(
            findings.observations(response.name),
            response,
            pair.against,
            blocks_max=findings.study.design.blocks_max,
            comparisons=len(mechanisms),
            looks=findings.looks,
        )
        if effect.place == speed.place and effect.blocks
    ]
    response = findings.responses[speed.response]
    text = explain(speed, costs, [response, *mechanisms]).text
    text += f"; {response.title} {formatting.effect(speed, response)}"
    if "hot_share" in findings.responses and not any(each.response == "hot_share" for each in costs):
        text += "; no row was updated, so no update could be HOT"
    return f"against {pair.other}: {text}"


SECTION = Section("factors", "Effects of each factor", _describe, secondary=True)
