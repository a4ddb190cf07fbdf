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
from pgassay.report import formatting, text
from pgassay.report.charts import forest_row
from pgassay.report.findings import Findings, Judged
from pgassay.report.headline import reasons
from pgassay.study.responses import Response, Scale
from pgassay.testing.planted import make_run
from tests.report import cacherun, crossed, cut_runs, driven, scaled, undecided
from tests.report.blocks import body, plain

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
        row = forest_row(each.effect, response.title, response, 0.02) if drawn else None
        if row is not None and row["text"] != formatting.effect(each.effect, response):
            yield f"{response.name}: {row['text']} and {formatting.effect(each.effect, response)}"


WALKS = (
    settled_otherwise,
    asks_of_claims,
    asks_of_the_headline,
    intervals,
    limits,
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
