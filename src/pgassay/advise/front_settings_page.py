"""The section of a front's page about its settings: what each does to each objective, and what was seen of it.

Below the front, folded: the effects of the screening with their intervals, then setting by setting its lines, its costs
and its slice with a panel for each objective.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pgassay.advise import advice_page, front_explain
from pgassay.advise.explain import AtLevel
from pgassay.advise.front_walk import FrontAdvice
from pgassay.advise.screening import Screened
from pgassay.advise.task import Task
from pgassay.report.section import Block, Drawing, Figure, Folded, Section, Sentences, Table
from pgassay.report.words import ratio_interval

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

NAME = "front-settings"


def section(task: Task, advice: FrontAdvice, objectives: Sequence[str]) -> Section:
    """What the page says by setting."""

    def blocks(findings: "Findings") -> Iterator[Block]:
        titles = {each: findings.responses[each].title for each in objectives}
        for objective, screened in zip(objectives, advice.screened, strict=True):
            yield _effects(objective, screened, titles[objective], task.margin)
        yield _table(task, advice, objectives)
        for name in front_explain.settings(task, advice):
            yield _setting(name, task, advice, titles)

    return Section(NAME, "The settings by objective", blocks, link="Settings")


def _effects(objective: str, screened: Sequence[Screened], title: str, margin: float) -> Figure:
    def drawn() -> Drawing | None:
        found = advice_page.drawing(screened, title, margin)
        return found and replace(found, title=f"{found.title}: {title}")

    return Figure(f"screened-{objective}", drawn)


def _table(task: Task, advice: FrontAdvice, objectives: Sequence[str]) -> Table:
    """Every setting that was screened, with its effect on each objective."""
    rows = []
    for name in dict.fromkeys(each.name for one in advice.screened for each in one):
        found = front_explain.screened_by(name, advice, objectives)
        some = next(iter(found.values()))
        cells = [
            f"{ratio_interval(each.effect, each.low, each.high)}, {advice_page.WORDS[each.standing]}"
            for each in found.values()
        ]
        rows.append([name, some.start, some.far, *cells])
    note = (
        "from start to far level; intervals hold for all settings and objectives together, at 95 %; "
        f"within ±{100 * task.margin:.3g} % none matters"
    )
    head = ["setting", "start", "far level", *objectives]
    return Table(head, rows, "All settings that were screened", (note,), texts=True)


def _setting(name: str, task: Task, advice: FrontAdvice, titles: Mapping[str, str]) -> Folded:
    """One setting: its lines and costs in words, and its slice."""
    told = tuple(each.strip() for each in front_explain.of_lines(name, task, advice, tuple(titles)))
    found = front_explain.slices_of(name, task, advice, tuple(titles))
    shapes = {titles[objective]: levels for objective, levels in found.items() if levels}
    drawn = (_slices(name, shapes),) if shapes else ()
    said = ", ".join(
        f"{advice_page.WORDS[each.standing]} for {objective}"
        for objective, each in front_explain.screened_by(name, advice, tuple(titles)).items()
    )
    return Folded(f"{name}: {said or 'not screened'}", (*((Sentences(told),) if told else ()), *drawn))


def _slices(name: str, shapes: Mapping[str, Sequence[AtLevel]]) -> Figure:
    return Figure(f"slices-{name.replace('.', '-')}", lambda: advice_page.slices_by_objective(name, shapes))
