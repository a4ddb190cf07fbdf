"""The section of an advice in the page of its confirmation: what each line earns or each point is, and what matters.

What stands below it on that page compares whole configurations, the recommended one being the baseline; a reader wants
the gain first, setting by setting. Of several objectives there is a picture of the points to choose from, a panel for
each pair of objectives, with crosses of their simultaneous intervals. Altair is imported only to draw.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

from pgassay.advise import text
from pgassay.advise.folder import LINES_FILE
from pgassay.advise.front import Standing as PointStanding
from pgassay.advise.screening import Screened, Standing
from pgassay.advise.task import Task, refused_table
from pgassay.advise.text import costs
from pgassay.advise.walk import Advice
from pgassay.report import contents, verdict
from pgassay.report.formatting import ratio_interval
from pgassay.report.section import Block, Code, Drawing, Figure, Folded, Section, Sentences, Table
from pgassay.report.vega import GREY, INK, PALETTE, drawable

if TYPE_CHECKING:
    from pgassay.report.findings import Findings
    from pgassay.study.model import Study

_ROW, _HEIGHT = 24, 320
_PANEL = "{0} (right) against {1} (up)"
_SHADES = {Standing.ACTIVE: PALETTE[0], Standing.OPEN: INK, Standing.PLACEBO: GREY}
WORDS = {Standing.ACTIVE: "matters", Standing.OPEN: "open", Standing.PLACEBO: "does not matter"}
"""Of a screened setting, for readers."""


def sections(task: Task, advice: Advice, objectives: Sequence[str]) -> tuple[Section, ...]:
    """The answer and the advice, for `page.write`: they stand before everything else.

    Points to choose from take the place of the run's verdicts, whose intervals are of fewer comparisons: one page has
    one interval for an effect.
    """

    def blocks(findings: "Findings") -> Iterator[Block]:
        titles = {each: findings.responses[each].title for each in objectives}
        yield Sentences(tuple(text.proof_sentences(task, advice, objectives)))
        yield from _points(task, advice, titles) if task.others else _lines(task, advice, objectives)
        yield configurations(findings.study)
        for at, (objective, title) in enumerate(titles.items()):
            figure = _effects(task, advice, at, objective, title)
            yield Folded(f"The settings by {title}", (figure,)) if task.others else figure
        found: dict[str, list[Screened]] = {}
        for each in _sorted(advice.known):
            found.setdefault(each.name, []).append(each)
        rows = []
        for name, effects in found.items():
            first, *_ = effects = sorted(effects, key=lambda each: each.objective)
            cells = (
                cell
                for each in effects
                for cell in (ratio_interval(each.effect, each.low, each.high), WORDS[each.standing])
            )
            seen = f"along with {first.along_with}" if first.along_with else "over all of the screening"
            rows.append([name, first.start, first.far, *cells, seen])
        all_of = "settings and objectives" if task.others else "settings"
        note = f"intervals hold for all {all_of} together, at 95 %; within ±{100 * task.margin:.3g} % none matters"
        columns = [column for each in objectives for column in (each, "standing")]
        table = Table(["setting", "start", "far level", *columns, "seen"], rows, notes=(note,), texts=True)
        yield Folded("All settings that were screened", (table,))
        yield from refused_table(advice.refused)

    answer = contents.headline_instead((text.headline(advice, objectives),))
    if task.others:
        return answer, replace(verdict.SECTION, title="The front", describe=blocks, link="Front", open=True)
    return answer, Section("advice", "The advice", blocks, link="Advice", open=True)


def _lines(task: Task, advice: Advice, objectives: Sequence[str]) -> Iterator[Block]:
    if not advice.confirmed:
        return
    rows = [
        [
            each.name, each.start, each.value, text.gain(each, objectives[0]),
            text.setting_in(task, each.name).reason, "; ".join(costs(each)) or "no cost surely moved",
        ]
        for each in advice.lines if each.kept
    ]  # fmt: skip
    yield Table(["setting", "start", "advised", "what it earns", "why it may help", "costs"], rows, texts=True)
    lines = text.auto_confs(task, advice, objectives)[LINES_FILE]
    yield Folded("The lines for postgresql.auto.conf", (Code(lines, "postgresql.auto.conf"),))


def _points(task: Task, advice: Advice, titles: Mapping[str, str]) -> Iterator[Block]:
    objectives = tuple(titles)
    head, rows = text.table(advice, objectives)
    shown = [
        [*row, text.changes(task, each), "; ".join(each.costs) or "–"]
        for row, each in zip(rows, advice.points, strict=True)
    ]
    yield Figure("front-points", lambda: points_drawing(advice, tuple(titles.values())), key=1)
    notes = (
        "ratios to the start; intervals hold for all of these points and objectives together, at 95 %",
        "a limit's probability is that of one further trial",
    )
    yield Table([*head, "changes", "costs that moved"], shown, "Points to choose from", notes)
    if not advice.front:
        return
    lines = [
        [each.label, f"{name} = {value}", text.line_standing(task, each, name, objectives)]
        for each in advice.front
        for name, value in each.configuration.changes_from(task.space.start).items()
    ]
    yield Table(["point", "line", "standing"], lines, "Their lines", texts=True)
    for each in advice.front:
        conf = text.point_conf(task, each, objectives)
        yield Folded(f"Lines of {each.label}", (Code(conf, "postgresql.auto.conf"),))


def _effects(task: Task, advice: Advice, at: int, objective: str, title: str) -> Figure:
    screened = [each for each in advice.known if each.objective == at]

    def effects() -> Drawing | None:
        found = drawing(screened, title, task.margin)
        return replace(found, title=f"{found.title}: {title}") if found and task.others else found

    if task.others:
        return Figure(f"screened-{objective}", effects)
    return Figure("screened-settings", effects, key=1)


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
        "or, where those could not tell, along with the advised lines. Lines: "
        "intervals that hold for all settings together. "
        f"Shaded: within ±{100 * margin:.3g} % a setting does not matter (grey).",
        charts.layered(layers, found, _ROW * len(found)),
    )


def points_drawing(advice: Advice, titles: Sequence[str]) -> Drawing | None:
    """A panel for each pair of objectives; None where nothing has an interval."""
    found = point_rows(advice, titles)
    if not found:
        return None
    import altair as alt

    from pgassay.report import charts

    shade = alt.Color("shade:N", scale=None, legend=None)
    axis = alt.Axis(labelExpr="datum.value == 0 ? '0' : format(datum.value, '+,.3~r')")
    tips = [charts.tip("label:N", "point"), charts.tip("standing:N"), charts.tip("x:Q"), charts.tip("y:Q")]
    base = alt.Chart()
    panels = {}
    for panel in dict.fromkeys(str(each["panel"]) for each in found):
        rows = [each for each in found if each["panel"] == panel]
        x = alt.X("x:Q", title=charts.wrapped(f"{rows[0]['x_title']}, %", charts.NARROW), axis=axis)
        y = alt.Y("y:Q", title=charts.wrapped(f"{rows[0]['y_title']}, %", _HEIGHT), axis=axis)
        layers = [
            alt.Chart().mark_rule(color=INK, strokeWidth=1, opacity=0.4).encode(x=alt.XDatum(0)),
            alt.Chart().mark_rule(color=INK, strokeWidth=1, opacity=0.4).encode(y=alt.YDatum(0)),
            base.mark_rule(strokeWidth=1.5).encode(x=alt.X("x_low:Q"), x2="x_high:Q", y=y, color=shade),
            base.mark_rule(strokeWidth=1.5).encode(x=x, y=alt.Y("y_low:Q"), y2="y_high:Q", color=shade),
            base.mark_point(filled=True, size=90, opacity=1).encode(x=x, y=y, color=shade, tooltip=tips),
            base.mark_text(align="left", dx=8, dy=-9).encode(x=x, y=y, text="label:N", color=alt.value(INK)),
        ]
        panels[panel] = charts.layered(layers, rows, _HEIGHT)
    several = [shown.properties(title=panel) for panel, shown in panels.items()]
    return Drawing(
        "The front: " + " against ".join(titles),
        "Changes against the start (lines at 0), in per cent. Crosses: intervals that hold for all points and "
        "objectives together. Grey: dominated, not shown to be better in anything, or a limit is not kept.",
        alt.vconcat(*several) if len(panels) > 1 else next(iter(panels.values())),
    )


def point_rows(advice: Advice, titles: Sequence[str]) -> list[dict[str, Any]]:
    """What is drawn: each point in each pair of objectives, in per cent against the start."""
    found = []
    for first, second in combinations(range(len(titles)), 2):
        panel = _PANEL.format(titles[first], titles[second])
        for point in advice.points:
            effects = [point.effects[at] if point.effects else None for at in (first, second)]
            if any(each is not None and not each.bounded for each in effects):
                continue
            row: dict[str, Any] = {
                "panel": panel, "label": point.label, "standing": text.standing(point),
                "shade": {PointStanding.FRONT: PALETTE[0], PointStanding.REFERENCE: INK}.get(point.standing, GREY),
                "x_title": titles[first], "y_title": titles[second],
            }  # fmt: skip
            for axis, each in zip("xy", effects, strict=True):
                ends = (each.estimate, each.low, each.high) if each else (1.0, 1.0, 1.0)
                row |= zip((axis, f"{axis}_low", f"{axis}_high"), map(_percent, ends), strict=True)
            found.append(row)
    wide = any(each[f"{axis}_high"] != each[f"{axis}_low"] for each in found for axis in "xy")
    return found if wide else []


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
