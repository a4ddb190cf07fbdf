"""The section of a front in the page of its confirmation: a picture to choose from, and what each point is.

Each pair of objectives has a panel: points with crosses of their simultaneous intervals, what is dominated or not
offered in grey. Altair is imported only to draw.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

from pgassay.advise import drift, failures, front_explain, front_settings_page, front_text
from pgassay.advise.front import Standing
from pgassay.advise.front_walk import FrontAdvice
from pgassay.advise.task import Task
from pgassay.report import contents, verdict
from pgassay.report.colours import GREY, INK, PALETTE
from pgassay.report.section import Block, Code, Drawing, Figure, Folded, Section, Sentences, Table

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

_HEIGHT = 320
_PANEL = "{0} (right) against {1} (up)"


def sections(task: Task, advice: FrontAdvice, objectives: Sequence[str]) -> tuple[Section, ...]:
    """The answer and the front, for `page.write`: they stand before everything else.

    The front takes the place of the run's verdicts, whose intervals are of fewer comparisons: one page has one interval
    for an effect.
    """

    def blocks(findings: "Findings") -> Iterator[Block]:
        titles = [findings.responses[each].title for each in objectives]
        head, rows = front_text.table(advice, objectives)
        shown = [
            [*row, front_text.changes(task, each), *(front_text.costs(each) or ("–",))]
            for row, each in zip(rows, advice.points, strict=True)
        ]
        if task.remarks:
            yield Sentences(task.remarks)
        yield Figure("front-points", lambda: drawing(advice, titles), key=1)
        notes = (
            "ratios to the start; intervals hold for all of these points and objectives together, at 95 %",
            "a limit's probability is that of one further trial",
        )
        yield Table([*head, "changes", "costs that moved"], shown, "Points to choose from", notes)
        if advice.front:
            yield _lines(task, advice, objectives)
        for each in advice.front:
            yield Folded(
                f"Lines of {each.label}", (Code(front_text.auto_conf(task, each, objectives), "postgresql.auto.conf"),)
            )
        starts = front_text.starts(advice, objectives)
        yield Sentences(tuple(drift.sentences(starts)))
        yield from failures.table(advice.refused)
        yield from drift.picture(starts, dict(zip(objectives, titles, strict=True)))

    answer = contents.headline_instead((front_text.headline(advice, objectives),))
    front = replace(verdict.SECTION, title="The front", blocks=blocks, link="Front", open=True)
    return answer, front, front_settings_page.section(task, advice, objectives)


def _lines(task: Task, advice: FrontAdvice, objectives: Sequence[str]) -> Table:
    """Each line of the points to choose from, with what the point has from it."""
    rows = [
        [
            each.label, f"{name} = {value}", *front_text.line_effects(each, name, objectives),
            front_text.line_standing(task, each, name, objectives),
            "; ".join(front_explain.costs(name, task, each)) or "no cost surely moved",
        ]
        for each in advice.front
        for name, value in each.configuration.changes_from(task.space.start).items()
    ]  # fmt: skip
    notes = ("a point against itself without the line; intervals hold for all lines and objectives together, at 95 %",)
    return Table(["point", "line", *objectives, "standing", "costs"], rows, "Their lines", notes, texts=True)


def drawing(advice: FrontAdvice, titles: Sequence[str]) -> Drawing | None:
    """A panel for each pair of objectives; None where nothing has an interval."""
    found = rows_of(advice, titles)
    if not found:
        return None
    import altair as alt

    from pgassay.report import charts

    panels = tuple(dict.fromkeys(str(each["panel"]) for each in found))
    shown = [_chart(alt, charts, [each for each in found if each["panel"] == panel], panel, panels) for panel in panels]
    chart = shown[0] if len(shown) == 1 else alt.vconcat(*shown)
    return Drawing(
        "The front: " + " against ".join(titles),
        "Changes against the start (lines at 0), in per cent. Crosses: intervals that hold for all points and "
        "objectives together. Grey: dominated, not shown to be better in anything, or a limit is not kept.",
        chart,
    )


def rows_of(advice: FrontAdvice, titles: Sequence[str]) -> list[dict[str, Any]]:
    """What is drawn: each point in each pair of objectives, in per cent against the start."""
    found = []
    for first, second in combinations(range(len(titles)), 2):
        panel = _PANEL.format(titles[first], titles[second])
        for point in advice.points:
            if not point.effects:
                found.append(
                    {"panel": panel, "label": point.label, "x": 0.0, "y": 0.0, "shade": INK, "standing": "reference",
                     "x_low": 0.0, "x_high": 0.0, "y_low": 0.0, "y_high": 0.0, "x_title": titles[first],
                     "y_title": titles[second]}
                )  # fmt: skip
                continue
            x, y = point.effects[first], point.effects[second]
            if not (x.bounded and y.bounded):
                continue
            chosen = point.standing is Standing.FRONT
            found.append(
                {
                    "panel": panel, "label": point.label, "standing": front_text.standing(point),
                    "shade": PALETTE[0] if chosen else GREY if point.standing is not Standing.REFERENCE else INK,
                    "x": _percent(x.estimate), "x_low": _percent(x.low), "x_high": _percent(x.high),
                    "y": _percent(y.estimate), "y_low": _percent(y.low), "y_high": _percent(y.high),
                    "x_title": titles[first], "y_title": titles[second],
                }
            )  # fmt: skip
    wide = any(each[f"{axis}_high"] != each[f"{axis}_low"] for each in found for axis in "xy")
    return found if wide else []


def _percent(ratio: float) -> float:
    return 100.0 * (ratio - 1.0)


def _chart(alt: Any, charts: Any, rows: Sequence[dict[str, Any]], panel: str, panels: Sequence[str]) -> Any:
    shade = alt.Color("shade:N", scale=None, legend=None)
    axis = alt.Axis(labelExpr="datum.value == 0 ? '0' : format(datum.value, '+,.3~r')")
    x = alt.X("x:Q", title=charts.wrapped(f"{rows[0]['x_title']}, %", charts.NARROW), axis=axis)
    y = alt.Y("y:Q", title=charts.wrapped(f"{rows[0]['y_title']}, %", _HEIGHT), axis=axis)
    tips = [charts.tip("label:N", "point"), charts.tip("standing:N"), charts.tip("x:Q"), charts.tip("y:Q")]
    base = alt.Chart()
    layers = [
        alt.Chart().mark_rule(color=INK, strokeWidth=1, opacity=0.4).encode(x=alt.XDatum(0)),
        alt.Chart().mark_rule(color=INK, strokeWidth=1, opacity=0.4).encode(y=alt.YDatum(0)),
        base.mark_rule(strokeWidth=1.5).encode(x=alt.X("x_low:Q"), x2="x_high:Q", y=y, color=shade),
        base.mark_rule(strokeWidth=1.5).encode(x=x, y=alt.Y("y_low:Q"), y2="y_high:Q", color=shade),
        base.mark_point(filled=True, size=90, opacity=1).encode(x=x, y=y, color=shade, tooltip=tips),
        base.mark_text(align="left", dx=8, dy=-9).encode(x=x, y=y, text="label:N", color=alt.value(INK)),
    ]
    title = panel if len(panels) > 1 else ""
    shown = charts.layered(layers, rows, _HEIGHT)
    return shown.properties(title=title) if title else shown
