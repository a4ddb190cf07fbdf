"""The house style of figures: palette, sizes, axes, legends, and the two forms of chart that several sections draw.

One palette survives colour blindness (Okabe and Ito, 2008), and every figure works without colour. Legends and titles
are never cut, and say nothing twice. Altair takes a second to import, so sections import this module only to draw.
"""

import json
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

import altair as alt
from altair.utils import schemapi

from pgassay.analysis.effects import Effect
from pgassay.study.responses import Scale

WIDTH = 640
"""Of a figure's plot, in pixels."""
LETTER = 6.8
"""Pixels of a letter in a label, on the wide side; bold ones of titles take a tenth more."""
_SYMBOL = 40
Title = str | list[str]
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
SHAPES = ("circle", "square", "triangle-up", "cross", "diamond", "triangle-down", "triangle-right", "triangle-left")
FONT = "system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif"
_APART = 4.0
"""How many times larger the values of one panel are that want an axis of their own."""
_LINE, _AIR = 15, 8
"""Pixels of a line of text, and between two labels."""
WHISKER = 1.5
OUTLIERS_MAX = 20
"""Of each box: the farthest ones."""
FIVE = ("low", "q1", "median", "q3", "high")
DOTS_MAX = 2000
"""Trials beyond which a figure shows boxes: more dots than that hide each other and make a page of many megabytes."""
ALL_TREATMENTS = "median of all treatments"
_REACH_MIN = 100.0
_INFINITE = 1e12
_BOX_STEP, _FOREST_STEP, _TEXT = 26, 40, 80
"""Pixels from one box to the next, from one row of a forest to the next, and of half a text over a point."""


def short_labels(names: Sequence[str]) -> tuple[str, Mapping[str, str]]:
    """What all of these combinations share, and what is left of each; nothing and themselves where they share nothing.

    `a=1, b=2` and `a=1, b=3` share `b; all with a=1`, and 2 and 3 are left.
    """
    split = [[part.partition("=") for part in name.split(", ")] for name in names]
    factors = {tuple(factor for factor, _, _ in parts) for parts in split}
    if len(names) < 2 or len(factors) > 1 or not all(equals for parts in split for _, equals, _ in parts):
        return "", {name: name for name in names}
    levels = [[level for _, _, level in parts] for parts in split]
    (shared,) = factors
    varied = [place for place in range(len(shared)) if len({each[place] for each in levels}) > 1]
    same = [f"{shared[place]}={levels[0][place]}" for place in range(len(shared)) if place not in varied]
    title = ", ".join(shared[place] for place in varied) + (f"; all with {', '.join(same)}" if same else "")
    return title, {name: ", ".join(each[place] for place in varied) for name, each in zip(names, levels, strict=True)}


def legend_of(names: Sequence[str], what: str = "") -> alt.Legend | None:
    """Below the figure; None for a single name. Its title is `what` it is about, and the factors that names share."""
    if len(names) < 2:
        return None
    shared, labels = short_labels(names)
    longest = max(map(len, labels.values()))
    columns = max(1, min(len(names), int(WIDTH // (longest * LETTER + _SYMBOL))))
    title = ": ".join(each for each in (what, shared) if each)
    return alt.Legend(
        orient="bottom",
        title=wrapped(title, WIDTH) if title else None,
        columns=columns,
        labelExpr=f"{json.dumps(labels)}[datum.label]",
        symbolOpacity=1.0,
    )


def wrapped(text: str, length: float) -> Title:
    """A title in lines of at most so many pixels."""
    lines = textwrap.wrap(text, max(1, int(length / (1.1 * LETTER))))
    return lines if len(lines) > 1 else text


def wrapping(names: Sequence[str]) -> str | None:
    """An expression that lays names of panels in lines as wide as the figure; None where all fit."""
    longest = int(WIDTH / LETTER)
    if all(len(name) <= longest for name in names):
        return None
    lines = {name: textwrap.wrap(name, longest) for name in names}
    return f"{json.dumps(lines)}[datum.label]"


def lines_of(names: Sequence[str]) -> int:
    """How many lines the longest name takes where every level has one of its own."""
    return max((name.count(", ") + 1 for name in names), default=1)


def data(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Rows as inline data of a chart; Altair's own way copies lists again and again."""
    return alt.Data(values=tuple(rows))  # type: ignore[no-untyped-call]  # Altair copies lists again and again


def chart_of(rows: Sequence[Mapping[str, Any]]) -> alt.Chart:
    """A chart on inline rows, one mapping a mark."""
    return alt.Chart(data(rows))


def styled(figure: Any) -> Any:
    """The figure in the house's look; no label is cut."""
    return (
        figure.configure(font=FONT, background="white")
        .configure_axis(labelFontSize=12, titleFontSize=12, grid=True, gridColor="#e8e8e8", labelLimit=0)
        .configure_legend(labelFontSize=12, titleFontSize=12, labelLimit=0, titleLimit=0, symbolLimit=0)
        .configure_title(fontSize=14, anchor="start", subtitleFontSize=12, subtitleColor="#555")
        .configure_view(stroke=None)
    )


def panels(field: str, order: Sequence[str] | None = None) -> Any:
    """Small multiples below each other, each with its whole name above it; in `order`, or as the rows come."""
    expression = wrapping(order or ())
    lines: dict[str, Any] = {"labelExpr": expression} if expression else {}
    header = alt.Header(labelOrient="top", labelAnchor="start", labelFontSize=12, labelPadding=2, labelLimit=0, **lines)
    return alt.Row(f"{field}:N", sort=list(order) if order else None, title=None, header=header)


def step(names: Sequence[str], least: int) -> int:
    """Pixels from one name to the next on an axis where each level takes a line."""
    return max(least, _LINE * lines_of(names) + _AIR)


def colour(treatments: tuple[str, ...], title: str = "treatment") -> Any:
    """The treatments' colours, the same in every figure."""
    return alt.Color(
        "treatment:N",
        scale=alt.Scale(domain=list(treatments), range=[PALETTE[i % len(PALETTE)] for i in range(len(treatments))]),
        title=title,
        sort=list(treatments),
        legend=legend_of(treatments, title),
    )


def shape(treatments: tuple[str, ...]) -> Any:
    """Beside the colours: where those begin anew, shapes go on by one, so that no two treatments look alike."""
    marks = [SHAPES[(i + i // len(PALETTE)) % len(SHAPES)] for i in range(len(treatments))]
    scale = alt.Scale(domain=list(treatments), range=marks)
    return alt.Shape("treatment:N", scale=scale, sort=list(treatments), legend=None)


def at_points(places: Iterable[float]) -> alt.Axis:
    """An axis of numbers with a tick at every place that was measured: there are no half clients."""
    return alt.Axis(values=sorted(set(places)), format="~g", labelOverlap=True)


def apart(rows: Iterable[Mapping[str, Any]], panel: str) -> bool:
    """Would an axis common to all panels flatten those with small values?"""
    largest: dict[str, float] = {}
    for row in rows:
        largest[row[panel]] = max(abs(row["value"]), largest.get(row[panel], 0.0))
    return max(largest.values()) > _APART * min(largest.values())


def specified(figure: Any) -> dict[str, Any]:
    """The figure in the house's look as a specification; checked against Vega-Lite's schema in Altair's debug mode."""
    found: dict[str, Any] = styled(figure).to_dict(validate=schemapi.DEBUG_MODE)
    return found


def levels_below_each_other(names: Sequence[str]) -> alt.Axis:
    """For the names of combinations, which are long and begin alike: a level a line, about the tick."""
    return alt.Axis(labelExpr="split(datum.label, ', ')", labelOffset=-_LINE / 2 * (lines_of(names) - 1))


def box_of(values: Sequence[float]) -> tuple[dict[str, float], list[float]]:
    """The five numbers of a box (Tukey: whiskers to the last value within 1.5 times the box) and what lies outside."""
    ordered = sorted(values)
    q1, middle, q3 = (_quantile(ordered, share) for share in (0.25, 0.5, 0.75))
    reach = WHISKER * (q3 - q1)
    inside = [value for value in ordered if q1 - reach <= value <= q3 + reach]
    outside = sorted((v for v in ordered if not q1 - reach <= v <= q3 + reach), key=lambda v: -abs(v - middle))
    # A quartile between two values may lie beyond the last one inside; a whisker never ends within its box.
    five = dict(zip(FIVE, (min(inside[0], q1), q1, middle, q3, max(inside[-1], q3)), strict=True))
    return {**five, "trials": len(ordered)}, outside[:OUTLIERS_MAX]


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def boxes(rows: Iterable[Mapping[str, Any]], treatments: tuple[str, ...], title: Title, number_format: str) -> Any:
    """A box for each treatment and place, from rows with `treatment`, `condition` and `value`; the caller facets it."""
    grouped: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        grouped.setdefault((row["treatment"], row["condition"]), []).append(row["value"])
    found = [{"treatment": name, "condition": place, **box_of(values)[0]} for (name, place), values in grouped.items()]
    scale = alt.Scale(zero=False, nice=True, padding=12)
    axis = alt.Axis(format=number_format)
    base = chart_of(found).encode(
        y=alt.Y("treatment:N", sort=list(treatments), title=None, axis=levels_below_each_other(treatments)),
        color=colour(treatments).legend(None),
        tooltip=[alt.Tooltip("treatment:N"), *(alt.Tooltip(f"{each}:Q", format=",.4~g") for each in FIVE)],
    )
    whiskers = base.mark_rule().encode(x=alt.X("low:Q", scale=scale, title=title, axis=axis), x2="high:Q")
    halves = base.mark_bar(opacity=0.55).encode(x=alt.X("q1:Q", scale=scale), x2="q3:Q")
    middles = base.mark_tick(thickness=2).encode(x=alt.X("median:Q", scale=scale), color=alt.value("black"))
    return (whiskers + halves + middles).properties(width=WIDTH, height=alt.Step(step(treatments, _BOX_STEP)))


def block_medians(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """For each block and place the median over its treatments, as rows of one line: what the machine did to all."""
    grouped: dict[tuple[int, str], list[float]] = {}
    for row in rows:
        grouped.setdefault((row["block"], row["condition"]), []).append(row["value"])
    return [
        {"treatment": ALL_TREATMENTS, "condition": place, "block": block, "trial": None, "value": median(values)}
        for (block, place), values in grouped.items()
    ]


def forest(
    rows: list[dict[str, Any]], order: Sequence[str], title: str, colours: Any, *, most: float | None = None
) -> Any:
    """Estimates with intervals around the line of no effect, in per cent. Nothing is drawn beyond `most`."""
    reach = _reach(rows, most)
    # Nothing falls by more than all of it, so the axis ends there.
    scale = alt.Scale(nice=True, padding=_TEXT)  # the texts over the outermost points need room
    if reach:
        scale = alt.Scale(domain=[-min(reach, _REACH_MIN), reach], clamp=True)
    named = any("=" in name for name in order)
    axis = levels_below_each_other(order) if named else alt.Axis()
    drawn = chart_of(rows)
    base = drawn.encode(
        y=alt.Y("label:N", sort=list(order), title=None, axis=axis),
        tooltip=["label:N", "text:N", "blocks:Q"],
    )
    line = drawn.mark_rule(strokeDash=[4, 3], color="#666").encode(x=alt.XDatum(0))
    x = alt.X("low:Q", title=wrapped(title, WIDTH), scale=scale)
    bars = base.mark_rule(strokeWidth=3).encode(x=x, x2="high:Q", color=colours)
    points = base.mark_point(filled=True, size=90, opacity=1).encode(x="estimate:Q", color=colours)
    texts = base.mark_text(dy=-11, fontSize=11).encode(x="estimate:Q", text="text:N")
    height = alt.Step(step(order, _FOREST_STEP) if named else _FOREST_STEP)
    return (line + bars + points + texts).properties(width=WIDTH, height=height)


def _reach(rows: Sequence[Mapping[str, Any]], most: float | None) -> float | None:
    """Where bars are cut off, so that one without information does not hide all others; None if none is so long."""
    reach = max(_REACH_MIN, *(2.0 * abs(row["estimate"]) for row in rows))
    reach = reach if most is None else min(reach, most)
    return reach if any(max(abs(row["low"]), abs(row["high"])) > reach for row in rows) else None


def forest_row(effect: Effect, name: str) -> dict[str, Any] | None:
    """An effect as a row of a forest; None without an interval, with one that says nothing, or an endless bar."""
    if not effect.informative:
        return None
    ratio = effect.scale is Scale.RATIO
    shown = [(value - 1) * 100 if ratio else value * 100 for value in (effect.estimate, effect.low, effect.high)]
    if max(map(abs, shown)) > _INFINITE:
        return None
    unit = "%" if ratio else " points"
    return {
        "label": name,
        "treatment": effect.treatment,
        "estimate": shown[0],
        "low": shown[1],
        "high": shown[2],
        "blocks": effect.blocks,
        "text": f"{shown[0]:+.1f}{unit} [{shown[1]:+.1f}, {shown[2]:+.1f}]",
    }
