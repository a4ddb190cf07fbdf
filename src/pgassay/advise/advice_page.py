"""The section of an advice in the page of its confirmation: the lines with what each earns, and what does not matter.

What stands below it on that page compares whole configurations, the recommended one being the baseline; a reader wants
the gain first, setting by setting. Altair is imported only to draw.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pgassay.advise import drift, failures, robust, text
from pgassay.advise.explain import AtLevel, costs, sliced
from pgassay.advise.screening import Screened, Standing
from pgassay.advise.task import Task
from pgassay.advise.walk import Advice
from pgassay.report import contents
from pgassay.report.colours import GREY, INK, PALETTE
from pgassay.report.section import Block, Code, Drawing, Figure, Folded, Section, Sentences, Table
from pgassay.report.vega import drawable
from pgassay.report.words import ratio_interval

if TYPE_CHECKING:
    from pgassay.report.findings import Findings
    from pgassay.study.model import Study

_ROW, _SLICE = 24, 140
_SHADES = {Standing.ACTIVE: PALETTE[0], Standing.OPEN: INK, Standing.PLACEBO: GREY}
_SEEN = (
    "Change against the start in per cent. Dots: single trials of the screening and the search, whatever the other "
    "settings were; ticks: their geometric means."
)
WORDS = {Standing.ACTIVE: "matters", Standing.OPEN: "open", Standing.PLACEBO: "does not matter"}
"""Of a screened setting, for readers."""


def sections(task: Task, advice: Advice, objective: str) -> tuple[Section, ...]:
    """The answer and the advice, for `page.write`: they stand before everything else."""

    def blocks(findings: "Findings") -> Iterator[Block]:
        yield Sentences(tuple(text.proof_sentences(task, advice, objective)))
        kept = [each for each in advice.lines if each.kept]
        if advice.confirmed:
            rows = [
                [
                    each.name, each.start, each.value, text.gain(each, objective),
                    text.setting_in(task, each.name).reason, "; ".join(costs(each)) or "no cost surely moved",
                ]
                for each in kept
            ]  # fmt: skip
            head = ["setting", "start", "advised", "what it earns", "why it may help", "costs"]
            yield Table(head, rows, texts=True)
            lines = text.auto_conf(task, advice, objective)
            yield Folded("The lines for postgresql.auto.conf", (Code(lines, "postgresql.auto.conf"),))
        yield configurations(findings.study)
        elsewhere = robust.table(advice.robust, objective)
        if elsewhere:
            yield elsewhere
        title = findings.responses[objective].title
        yield Figure("screened-settings", lambda: drawing(advice.known, title, task.margin), key=1)
        shapes = sliced(task, advice)
        if shapes:
            yield Figure("slices", lambda: slices(shapes, title))
        found = [
            [
                each.name, each.start, each.far, ratio_interval(each.effect, each.low, each.high),
                WORDS[each.standing], f"beside {each.beside}" if each.beside else "over all of the screening",
            ]
            for each in _sorted(advice.known)
        ]  # fmt: skip
        note = f"intervals hold for all settings together, at 95 %; within ±{100 * task.margin:.3g} % none matters"
        yield Folded(
            "All settings that were screened",
            (
                Table(
                    ["setting", "start", "far level", objective, "standing", "seen"], found, notes=(note,), texts=True
                ),
            ),
        )
        yield from failures.table(advice.refused)
        yield from drift.picture({objective: advice.starts}, {objective: title})

    answer = contents.headline_instead((text.headline(advice, objective),))
    return answer, Section("advice", "The advice", blocks, link="Advice", open=True)


def configurations(study: "Study") -> Folded:
    """The settings of each configuration of the study, once: everywhere else they go by their names."""
    factors = {name for each in study.treatments for name in each.levels}
    rows = [
        [each.name, *(each.levels[name].typed if name in each.levels else "default" for name in sorted(factors))]
        for each in study.treatments
    ]
    head = ["configuration", *(each.removeprefix("server.") for each in sorted(factors))]
    return Folded("What each configuration sets", (Table(head, rows, texts=True),))


def drawing(screened: Sequence[Screened], title: str, margin: float) -> Drawing | None:
    """What each setting does alone, from its start to its far level; None where nothing was screened."""
    found = rows_of(screened)
    if not found:
        return None
    import altair as alt

    from pgassay.report import charts

    axis = alt.Axis(labelExpr="datum.value == 0 ? '0' : format(datum.value, '+,.3~r')")
    x = alt.X("effect:Q", title=charts.wrapped(f"{title}, %", charts.NARROW), axis=axis)
    y = alt.Y("name:N", title=None, sort=[each["name"] for each in found], axis=alt.Axis(labelOverlap=False))
    once = alt.Chart().transform_filter(f"datum.name == {json.dumps(drawable(found[0]['name']))}")
    shade = alt.Color("shade:N", scale=None, legend=None)
    tips = [charts.tip("name:N", "setting"), charts.tip("levels:N"), charts.tip("standing:N"), charts.tip("effect:Q")]
    low, high = (alt.XDatum(100.0 * end) for end in (-margin, margin))
    layers = [
        once.mark_rect(color=GREY, opacity=0.15).encode(x=low, x2=high),
        once.mark_rule(color=INK, strokeWidth=1, opacity=0.4).encode(x=alt.XDatum(0)),
        alt.Chart().mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q"), x2="high:Q", y=y, color=shade),
        alt.Chart().mark_point(filled=True, size=60, opacity=1).encode(x=x, y=y, color=shade, tooltip=tips),
    ]
    return Drawing(
        "What each setting does alone",
        "Change from the setting's start to its far level, in per cent, over all rows of the screening "
        "or, where those could not tell, beside the advised lines. Lines: "
        "intervals that hold for all settings together. "
        f"Shaded: within ±{100 * margin:.3g} % a setting does not matter (grey).",
        charts.layered(layers, found, _ROW * len(found)),
    )


def slices(shapes: Mapping[str, Sequence[AtLevel]], title: str) -> Drawing:
    """What screening and search saw at each level of a setting, a panel each; dots are trials."""
    return Drawing(
        "What was seen at each level",
        f"{_SEEN} Blue: the level that is advised. They show a shape and prove nothing.",
        stacked([panel(name, title, levels) for name, levels in shapes.items()]),
    )


def slices_by_objective(name: str, shapes: Mapping[str, Sequence[AtLevel]]) -> Drawing:
    """The same of one setting, a panel for each objective (by its title)."""
    return Drawing(
        f"What was seen at each level of {name}",
        f"{_SEEN} Blue: the level of a line of a point to choose from. They show a shape and prove nothing.",
        stacked([panel(name, title, levels) for title, levels in shapes.items()]),
    )


def stacked(panels: Sequence[Any]) -> Any:
    """Panels below each other."""
    import altair as alt

    return panels[0] if len(panels) == 1 else alt.vconcat(*panels)


def panel(name: str, title: str, levels: Sequence[AtLevel]) -> Any:
    """One slice: the levels of a setting, and the response by its `title`."""
    import altair as alt

    from pgassay.report import charts

    rows = [
        {
            "level": each.level, "seen": _percent(ratio), "mean": _percent(each.mean),
            "shade": PALETTE[0] if each.advised else GREY,
        }
        for each in levels
        for ratio in each.ratios
    ]  # fmt: skip
    x = alt.X("level:N", title=name, sort=[each.level for each in levels], axis=alt.Axis(labelAngle=0))
    y = alt.Y("seen:Q", title=charts.wrapped(f"{title}, %", _SLICE))
    shade = alt.Color("shade:N", scale=None, legend=None)
    layers = [
        alt.Chart().mark_rule(color=INK, strokeWidth=1, opacity=0.4).encode(y=alt.YDatum(0)),
        alt.Chart().mark_point(filled=True, size=30, opacity=0.6).encode(x=x, y=y, color=shade),
        alt.Chart().mark_tick(thickness=2, size=24, color=INK).encode(x=x, y=alt.Y("mean:Q")),
    ]
    return charts.layered(layers, rows, _SLICE)


def rows_of(screened: Sequence[Screened]) -> list[dict[str, Any]]:
    """What is drawn: a row for each setting, the largest effect first, in per cent."""
    return [
        {
            "name": each.name, "levels": f"{each.start} to {each.far}", "standing": WORDS[each.standing],
            "shade": _SHADES[each.standing], "effect": _percent(each.effect), "low": _percent(each.low),
            "high": _percent(each.high),
        }
        for each in _sorted(screened)
    ]  # fmt: skip


def _sorted(screened: Sequence[Screened]) -> list[Screened]:
    return sorted(screened, key=lambda each: -max(each.effect, 1.0 / each.effect))


def _percent(ratio: float) -> float:
    return 100.0 * (ratio - 1.0)
