"""One page, one opinion: every specimen of a run is walked for pairs of statements that contradict each other.

What is looked for: a claim and its verdict that ask for different numbers of blocks, two intervals of one comparison,
a limit below what was measured, a front that the verdicts do not bear, and one number rounded in two ways.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.analysis.claims import needed_parts, treatment_of
from pgassay.analysis.effects import Effect
from pgassay.analysis.explanation import amount
from pgassay.analysis.verdicts import Kind
from pgassay.design.schedule import RULE
from pgassay.design.stopping import effects_of
from pgassay.record.reading import Run
from pgassay.report import costs, formatting, space, text
from pgassay.report.charts import forest_row
from pgassay.report.findings import Findings, Judged
from pgassay.report.headline import reasons
from pgassay.study.levels import Place
from pgassay.study.responses import Response, Scale
from pgassay.testing.planted import make_run
from tests.report import cacherun, crossed, cut_runs, driven, scaled, undecided
from tests.report.blocks import body, plain, tables

SPECIMENS: dict[str, Callable[[Path], Run]] = {
    "planted": make_run,
    "driven": driven.make_driven,
    "driven by today's rule": lambda path: by_rule(driven.make_driven(path), RULE),
    "crossed": crossed.make_crossed,
    "scaled": scaled.make_scaled,
    "cache": cacherun.make_run,
    "cut": cut_runs.make_cuts,
    "undecided": undecided.make_undecided,
    "decided by a cost": lambda path: undecided.make_undecided(path, primary="wal_bytes_per_transaction"),
    "decided by a little": lambda path: undecided.make_undecided(path, undecided.CLEAR_75),
}


def by_rule(run: Run, rule: int) -> Run:
    """The run as if another rule had decided it."""
    return replace(run, header=replace(run.header, rule=rule))


_MORE = re.compile(r"(about|at least) ([\d,]+) more blocks?")
_PER_CENT = re.compile(r"([\d,.]+) %")
_USED = re.compile(r"([\d,]+) ?% of (?:it was in use|what )")


def judged_of(findings: Findings) -> Iterator[tuple[Response, Judged]]:
    """Every comparison that has a verdict on the page."""
    yield from ((findings.primary, each) for each in findings.verdicts)
    yield from ((response, each) for response, every in findings.secondary_verdicts for each in every)


def asks_of_claims(findings: Findings) -> Iterator[str]:
    """A claim asks for as many blocks as the verdict on the same comparison, or says why it asks for others."""
    verdicts = {(response.name, each.effect.place.name): each for response, each in judged_of(findings)}
    for claimed in findings.claims:
        claim = claimed.claim
        asked = _MORE.search(claimed.text)
        if asked is None or claim.than or treatment_of(claim.against, findings.study) not in (findings.baseline, None):
            continue
        named = needed_parts(claim.treatment, findings.study)
        mine = [
            each
            for (name, place), each in verdicts.items()
            if name == claim.response and named <= set(place.split(", "))
        ]
        if not mine or "the verdict" in claimed.text:
            continue
        if str(mine[0].verdict.more_blocks) != asked[2]:
            yield f"claim: {claimed.text}; verdict: {mine[0].verdict.text}"


def asks_of_the_headline(findings: Findings) -> Iterator[str]:
    """What the headline asks for is what some verdict asks for."""
    known = {str(each.verdict.more_blocks) for _, each in judged_of(findings)}
    for sentence in plain(findings)["headline"]["sentences"]:
        yield from (f"headline: {sentence}" for found in _MORE.finditer(sentence) if known and found[2] not in known)


def intervals(findings: Findings) -> Iterator[str]:
    """A comparison has one estimate and one interval wherever it stands."""
    found = plain(findings)
    seen: dict[tuple[str, ...], set[tuple[float | None, ...]]] = {}
    alone = [
        {**pair, **effect, "response": response}
        for pair in found["one_factor"]
        if pair["against"] == findings.baseline
        for response, effect in pair["effects"].items()
    ]
    for each in (*found["verdicts"], *found["secondary"], *found["costs"], *alone):
        key = (each["response"], each["treatment"], each["condition"], each["covariate"])
        seen.setdefault(key, set()).add((each["estimate"], each["low"], each["high"]))
    yield from (f"{key}: {values}" for key, values in seen.items() if len(values) > 1)
    for claimed in findings.claims:
        if claimed.claim.than:
            continue  # it holds two changes against each other
        number = re.search(r"here (\S+) \[(\S+), (\S+)\]", claimed.text)
        if number is None or treatment_of(claimed.claim.against, findings.study) not in (findings.baseline, None):
            continue
        named = needed_parts(claimed.claim.treatment, findings.study)
        mine = {
            values
            for (response, *place), every in seen.items()
            if response == claimed.claim.response and named <= set(", ".join(place).split(", "))
            for values in every
        }
        ends = {float(end) for end in number.groups()}
        if mine and not any(
            ends == {_like(claimed.text, value) for value in values if value is not None} for values in mine
        ):
            yield f"claim: {claimed.text}; elsewhere: {mine}"


def settled_otherwise(findings: Findings) -> Iterator[str]:
    """The run is ended by the intervals that the page shows, of all responses that decide when it ends."""
    for name in (findings.study.primary, *findings.study.design.settle):
        response = findings.responses[name]
        ended = effects_of(findings.study, response, findings.observations(name))
        shown = {each.place.name: (each.low, each.high) for each in findings.effects(response)}
        for effect in ended.values():
            if not effect.refused and shown[effect.place.name] != (effect.low, effect.high):
                yield f"{name} {effect.place.name}: {effect.low, effect.high}, on the page {shown[effect.place.name]}"


def _like(told: str, value: float) -> float:
    return float(f"{value:+.3g}") if "here +" in told or "here -" in told else float(f"{value:.3f}")


def limits(findings: Findings) -> Iterator[str]:
    """Nothing is used by more than all of it."""
    shown = text.render(findings) + body(findings)
    yield from (found[0] for found in _USED.finditer(shown) if int(found[1].replace(",", "")) > 105)


def fronts(findings: Findings) -> Iterator[str]:
    """A ratio of speeds or of space in the table of the trade-off is the verdict's own estimate."""
    for each in findings.once(space.tradeoffs):
        (table,) = (one for one in tables(space.TRADEOFF, findings) if one.title == each.place)
        for row in table.rows:
            cells = dict(zip(table.head, map(str, row), strict=True))
            place = Place(cells["treatment"], each.condition, each.covariate)
            for column, response in (("÷ baseline", each.space), ("÷ first on its drive", each.speed)):
                effect = next(
                    (one for one in findings.effects(findings.responses[response]) if one.place == place), None
                )
                if effect is None or effect.refused or not effect.bounded or column not in cells:
                    continue
                if cells[column] != f"×{effect.estimate:.2f}":
                    yield f"{place.name}: {column} {cells[column]}, and the verdict's estimate is {effect.estimate:.4f}"
                if column.endswith("drive") and each.on_front[place.treatment] is False and _open(effect, findings):
                    yield f"{place.name}: not on the front, and its speed is undecided"


def _open(effect: Effect, findings: Findings) -> bool:
    return any(each.effect is effect and each.verdict.kind is Kind.UNRESOLVED for _, each in judged_of(findings))


def roundings(findings: Findings) -> Iterator[str]:
    """A change is rounded alike in its verdict's words, in what explains it and in the table."""
    for response, each in judged_of(findings):
        if each.verdict.kind in (Kind.BETTER, Kind.WORSE, Kind.DIFFERENT):
            yield from _alike(each.effect, response, each.verdict.text)
    for explanation in findings.explanations:
        for cost in (*explanation.along, *explanation.against):
            response = findings.responses[cost.response]
            yield from _alike(cost, response, amount(cost, response))


def _alike(effect: Effect, response: Response, told: str) -> Iterator[str]:
    table, said = _PER_CENT.search(formatting.effect(effect, response)), _PER_CENT.search(told)
    if effect.scale is Scale.RATIO and table and said and _number(table[1]) != _number(said[1]):
        yield f"{response.name}: {formatting.effect(effect, response)} and {told}"


def _number(told: str) -> float:
    return float(told.replace(",", ""))


def own_reasons(findings: Findings) -> Iterator[str]:
    """What a verdict is about is not its own reason."""
    yield from (each for each in reasons(findings) if each.startswith(findings.primary.title))
    for each in findings.explanations:
        yield from (each.text for cost in (*each.along, *each.against) if cost.response == findings.study.primary)


def figures_like_tables(findings: Findings) -> Iterator[str]:
    """An effect is written in a figure as in the table beside it; figures have ratios and shares."""
    for response, each in judged_of(findings):
        drawn = response.scale is Scale.RATIO or response.unit == "share"
        row = forest_row(each.effect, response.title) if drawn else None
        if row is not None and row["text"] != formatting.effect(each.effect, response):
            yield f"{response.name}: {row['text']} and {formatting.effect(each.effect, response)}"


WALKS = (
    settled_otherwise,
    asks_of_claims,
    asks_of_the_headline,
    intervals,
    limits,
    fronts,
    roundings,
    own_reasons,
    figures_like_tables,
)


@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: str(walk.__name__))
@pytest.mark.parametrize("name", SPECIMENS)
def test_no_two_statements_of_a_report_contradict_each_other(
    name: str, walk: Callable[[Findings], Iterator[str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert list(walk(made(name, tmp_path_factory))) == []


_MADE: dict[str, Findings] = {}


def made(name: str, factory: pytest.TempPathFactory) -> Findings:
    if name not in _MADE:
        _MADE[name] = Findings(SPECIMENS[name](factory.mktemp("made") / "run"))
    return _MADE[name]


def shown_wal(findings: Findings) -> Iterator[tuple[str, str, str]]:
    """Every place and treatment with what the page says that a transaction writes of WAL."""
    treatments = [each.name for each in findings.study.treatments]
    for table in tables(costs.SECTION, findings):
        for row in (row for row in table.rows if str(row[0]) == "WAL, per transaction"):
            known = zip(treatments, map(str, row[1:]), strict=False)
            yield from ((table.title, treatment, value.partition(" (")[0]) for treatment, value in known)
    for table in tables(space.TRADEOFF, findings):
        place = table.head.index("WAL per transaction")
        yield from ((table.title, str(row[0]), str(row[place])) for row in table.rows)


@pytest.mark.parametrize("name", ["planted", "driven", "undecided"])
def test_a_response_has_one_value_wherever_a_page_shows_it(name: str, tmp_path: Path) -> None:
    """WAL was 10,100 bytes among the costs and 9.97 kB elsewhere."""
    seen: dict[tuple[str, str], set[str]] = {}
    for place, treatment, value in shown_wal(Findings(SPECIMENS[name](tmp_path / "run"))):
        seen.setdefault((place, treatment), set()).add(value)
    assert seen
    assert not {key: values for key, values in seen.items() if len(values) > 1}


@pytest.mark.parametrize("name", ["planted", "driven", "undecided"])
def test_two_speeds_are_as_far_apart_as_their_ratio_says(name: str, tmp_path: Path) -> None:
    """A speed rose from 3,200 to 3,060, by a factor of 1.03: medians beside an effect within blocks."""
    findings = Findings(SPECIMENS[name](tmp_path / "run"))
    compared = 0
    for each in findings.once(space.tradeoffs):
        speeds = {point.name: point.speed for point in each.points}
        for effect in findings.effects(findings.responses[each.speed]):
            mine, theirs = speeds[effect.treatment], speeds[findings.baseline]
            if effect.place.cell.name == each.place and effect.informative and not effect.refused and mine and theirs:
                assert mine / theirs == pytest.approx(effect.estimate)
                compared += 1
    assert compared
