"""The house style of figures: sizes, axes, labels, legends, and the forms of chart that several sections draw.

Every figure works without colour (the palette is in `vega`). Nothing is cut, and nothing is said twice. Altair
takes a second to import, so sections import this module only to draw.

A forest has effects below each other, each with its interval, around the line of no difference. Label, bar and number
of a row are on one height. What says nothing is not drawn: neither an interval that leaves anything possible, nor the
part of a bar that would hide all others.
"""

import json
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from math import exp
from typing import Any

import altair as alt
from jsonschema import Draft7Validator  # type: ignore[import-untyped]

from pgassay.analysis.effects import Effect
from pgassay.analysis.verdicts import margin
from pgassay.report import formatting
from pgassay.report.vega import GRID, INK, PALETTE, PAPER, SOFT, drawable
from pgassay.study.responses import Better, Response, Scale

WIDTH = 640
"""Of a figure's plot as a file, in pixels; a page fits it to its own width."""
NARROW = 330
"""Pixels that a text may take, so that it is whole on the narrowest page."""
LETTER = 6.8
"""Pixels of a letter in a label, on the wide side; bold ones of titles take a tenth more."""
_SYMBOL = 40
LETTERS = int(NARROW / LETTER)
"""Of a line of text inside a plot."""
Title = str | list[str]
SHAPES = ("circle", "square", "triangle-up", "cross", "diamond", "triangle-down", "triangle-right", "triangle-left")
FONT = "system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif"
THREE_DIGITS = ",.3~r"
"""Of numbers in tooltips; none of ours needs more, and a thousand is 1,000 and not 1k."""
_APART = 4.0
"""How many times larger the values of one panel are that want an axis of their own."""
_BETWEEN = 14
"""Pixels between two labels of an axis at least."""
_NUMBERS = alt.NumberLocale(decimal=".", thousands=",", grouping=[3], currency=["", ""], minus="-")
"""A minus sign as in the tables, so that a page writes its numbers in one way."""
LINE = 15
"""Pixels of a line of text."""
DOTS_MAX = 2000
"""Trials beyond which no figure has a dot for each: they would hide each other and make a page of many megabytes."""


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


def by(names: Sequence[str]) -> str:
    """What tells these names apart, as a title ends with it: `, by table.fillfactor`; empty where that is not one."""
    factors = short_labels(names)[0].partition(";")[0]
    return f", by {factors}" if factors else ""


def legend_of(names: Sequence[str], what: str = "") -> alt.Legend | None:
    """Below the figure; None for a single name. Its title is `what` it is about, and the factors that names share."""
    if len(names) < 2:
        return None
    shared, labels = short_labels(names)
    title = ": ".join(each for each in (what, shared) if each)
    return alt.Legend(
        orient="bottom",
        title=wrapped(title, NARROW) if title else None,
        columns=columns_of([*labels.values()]),
        labelExpr=f"{json.dumps(drawable(labels))}[datum.label]",
        symbolOpacity=1.0,
    )


def columns_of(labels: Sequence[str]) -> int:
    """As many columns of a legend as fit the narrowest page."""
    longest = max(map(len, labels))
    return max(1, min(len(labels), int(NARROW // (longest * LETTER + _SYMBOL))))


def wrapped(text: str, length: float) -> Title:
    """A title in lines of at most so many pixels."""
    lines = textwrap.wrap(text, max(1, int(length / (1.1 * LETTER))))
    return lines if len(lines) > 1 else text


def chart_of(rows: Sequence[Mapping[str, Any]]) -> alt.Chart:
    """A chart on inline rows, one mapping a mark; Altair's own way copies lists again and again."""
    return alt.Chart(alt.Data(values=tuple(rows)))  # type: ignore[no-untyped-call]


def tip(field: str, title: str = "") -> alt.Tooltip:
    """What a tooltip says of a field: numbers (`:Q`) with three significant digits."""
    shown = alt.Tooltip(field, format=THREE_DIGITS) if field.endswith(":Q") else alt.Tooltip(field)
    return shown.title(title) if title else shown


def panels(field: str, order: Sequence[str] | None = None) -> Any:
    """Small multiples below each other, each with its whole name above it; in `order`, or as the rows come.

    Names of `order` that do not fit the narrowest page go on in another line.
    """
    names, lines = order or (), dict[str, Any]()
    if any(len(name) > LETTERS for name in names):
        wrapped_names = drawable({name: textwrap.wrap(name, LETTERS) for name in names})
        lines["labelExpr"] = f"{json.dumps(wrapped_names)}[datum.label]"
    header = alt.Header(
        labelOrient="top",
        labelAnchor="start",
        labelFontSize=12,
        labelPadding=2,
        labelLimit=0,
        labelColor=INK,
        labelFontWeight="bold",
        **lines,
    )
    return alt.Row(f"{field}:N", sort=list(order) if order else None, title=None, header=header)


def layered(
    layers: Sequence[Any], rows: Sequence[Mapping[str, Any]], height: float, field: str = "", names: Sequence[str] = ()
) -> Any:
    """Layers on the same rows; a panel for each of two or more `names` that the rows have in `field`."""
    shown = alt.layer(*layers).properties(width=WIDTH, height=height)
    data = chart_of(rows).data
    return shown.properties(data=data) if len(names) < 2 else shown.facet(data=data, row=panels(field, names))


def of_kind(kind: str) -> alt.Chart:
    """A layer's chart that takes the rows of one kind only."""
    return alt.Chart().transform_filter(f"datum.kind == {json.dumps(drawable(kind))}")


def down(field: str, height: float) -> Any:
    """A vertical axis of pixels from the top, not shown."""
    return alt.Y(f"{field}:Q", axis=None, scale=alt.Scale(domain=[0, height], reverse=True, nice=False, zero=False))


def domain_of(values: Iterable[float], zero: bool = False) -> tuple[float, float]:
    """Ends of an axis with a little air; from 0 where asked or where values come near it (less would mean nothing)."""
    known = list(values)
    least, most = min(known), max(known)
    if zero or 0.0 <= least < 0.1 * most:
        return min(0.0, least), most * 1.05 if most > 0.0 else 1.0
    air = 0.06 * (most - least) or 0.05 * abs(most) or 1.0
    return least - air, most + air


def colour(treatments: tuple[str, ...], *, legend: bool = True) -> Any:
    """The treatments' colours, the same in every figure."""
    return alt.Color(
        "treatment:N",
        scale=alt.Scale(domain=list(treatments), range=[PALETTE[i % len(PALETTE)] for i in range(len(treatments))]),
        title="treatment",
        sort=list(treatments),
        legend=legend_of(treatments, "treatment") if legend else None,
    )


def shape(treatments: tuple[str, ...]) -> Any:
    """Beside the colours: where those repeat, shapes go on by one, so that no two treatments look alike."""
    marks = [SHAPES[(i + i // len(PALETTE)) % len(SHAPES)] for i in range(len(treatments))]
    scale = alt.Scale(domain=list(treatments), range=marks)
    return alt.Shape("treatment:N", scale=scale, sort=list(treatments), legend=None)


def apart(rows: Iterable[Mapping[str, Any]], panel: str) -> bool:
    """Would an axis common to all panels flatten those with small values?"""
    largest: dict[str, float] = {}
    for row in rows:
        largest[row[panel]] = max(abs(row["value"]), largest.get(row[panel], 0.0))
    return max(largest.values()) > _APART * min(largest.values())


def specified(figure: Any) -> dict[str, Any]:
    """The figure in the house's look as a specification, checked against Vega-Lite's schema; no label is cut.

    All of it at once and without its rows: the schema allows anything there, and looking at each takes most of the
    time. A specification that was kept is one already. Raises `jsonschema.ValidationError`.
    """
    if isinstance(figure, Mapping):
        return dict(figure)
    axis: dict[str, Any] = {each: GRID for each in ("domainColor", "tickColor", "gridColor")}
    axis |= {"labelColor": SOFT, "titleColor": SOFT}
    texts: dict[str, Any] = {"labelFontSize": 12, "titleFontSize": 12, "labelLimit": 0}
    figure = figure.configure(  # in one call, since each copies the figure
        font=FONT,
        background=PAPER,
        axis=alt.AxisConfig(
            **axis, **texts, titleFontWeight="normal", labelOverlap="parity", labelSeparation=_BETWEEN, labelFlush=False
        ),
        locale=alt.Locale(number=_NUMBERS),
        legend=alt.LegendConfig(**texts, titleLimit=0, symbolLimit=0, labelColor=INK, titleColor=SOFT),
        title=alt.TitleConfig(fontSize=14, anchor="start", color=INK, subtitleFontSize=12, subtitleColor=SOFT),
        text=alt.MarkConfig(color=INK, fontSize=12),
        view=alt.ViewConfig(stroke=None),
    )
    found: dict[str, Any] = figure.to_dict(validate=False)
    checked = _without_rows(found)
    if not _schema().is_valid(checked):
        alt.Root.validate(checked)  # names the fault best, but copies the whole schema each time
    return found


@cache
def _schema() -> Draft7Validator:
    return Draft7Validator(alt.load_schema())


def _without_rows(part: Any) -> Any:
    if isinstance(part, Mapping):
        values = part.get("values")
        rows = isinstance(values, list | tuple) and values and isinstance(values[0], Mapping)
        return {name: [] if rows and name == "values" else _without_rows(each) for name, each in part.items()}
    return [_without_rows(each) for each in part] if isinstance(part, list | tuple) else part


_NAME_LETTERS = 17
"""Of a line of a name; so a bar has room on a telephone, too."""
_GAP_PX, _AIR_PX = 14, 8
"""Between names, bars and numbers; and between two rows."""
_REACH_MIN, _REACH_MAX = 100.0, 300.0
"""Per cent beyond which an effect is drawn at the edge."""
_INFINITE = 1e12
_SIDES = {Better.HIGHER: "better →", Better.LOWER: "← better", Better.NEITHER: ""}


def forest(
    rows: Sequence[Mapping[str, Any]],
    order: Sequence[str],
    title: str,
    colours: Any,
    names: Sequence[str],
) -> Any:
    """Estimates with intervals around the line of no effect, in per cent.

    A row a label of `order`; a panel for each of two or more `names` that the rows have as `panel`.
    """
    # One bar without information does not hide all others.
    reach = min(_REACH_MAX, max(_REACH_MIN, *(2.0 * abs(row["estimate"]) for row in rows)))
    cut = any(max(abs(row["low"]), abs(row["high"])) > reach for row in rows)
    said = {}
    for name in order:  # the line below a name says which side of 0 is better, where the rows do
        sides = dict.fromkeys(side for row in rows if row["label"] == name and (side := row["side"]))
        said[name] = [*textwrap.wrap(name, _NAME_LETTERS), *sides] or [""]
    tops, height = {}, 0.0
    for name, lines in said.items():
        tops[name], height = height, height + LINE * len(lines) + _AIR_PX
    drawn = [
        {
            **row, "_label": "\n".join(said[row["label"]]), "_top": tops[row["label"]],
            "_label_y": tops[row["label"]] + _AIR_PX / 2,
            "_y": tops[row["label"]] + (LINE * len(said[row["label"]]) + _AIR_PX) / 2,
            "_bottom": tops[row["label"]] + LINE * len(said[row["label"]]) + _AIR_PX,
        }
        for row in rows
    ]  # fmt: skip
    first = LETTER * max(len(line) for lines in said.values() for line in lines) + _GAP_PX
    last = LETTER * max(len(row["text"]) for row in rows) + _GAP_PX
    width = "child_width" if len(names) > 1 else "width"  # of each panel, also when a page has changed it
    place: list[Any] = [first, alt.ExprRef(f"{width} - {last}")]
    # Nothing falls by more than all of it, so the axis ends there.
    scale = alt.Scale(nice=True, padding=12, range=place)
    if cut:
        scale = alt.Scale(domain=[-min(reach, _REACH_MIN), reach], clamp=True, range=place)
    x = alt.X("low:Q", title=wrapped(f"{title}; 0: no difference", NARROW), scale=scale)
    base = alt.Chart().encode(
        y=down("_y", height),
        tooltip=[tip("label:N", "what"), tip("text:N", "effect"), tip("blocks:Q")],
    )
    whole = alt.Chart().encode(y=down("_top", height), y2="_bottom:Q")
    band = whole.mark_rect(color=GRID).encode(x=alt.X("same_low:Q", scale=scale), x2="same_high:Q")
    line = whole.mark_rule(color=INK, strokeWidth=1).encode(x=alt.XDatum(0))
    bars = base.mark_rule(strokeWidth=3).encode(x=x, x2="high:Q", color=colours)
    points = base.mark_point(filled=True, size=90, opacity=1).encode(x="estimate:Q", color=colours)
    label = alt.Chart().mark_text(align="left", baseline="top", lineBreak="\n", lineHeight=LINE)
    label = label.encode(x=alt.value(0), y=down("_label_y", height), text="_label:N")
    text = alt.Chart().mark_text(align="right", baseline="middle")
    text = text.encode(x=alt.value(alt.ExprRef(width)), y=down("_y", height), text="text:N")
    return layered([band, line, bars, points, label, text], drawn, height, "panel", names)


def forest_row(effect: Effect, name: str, response: Response, resolution: float) -> dict[str, Any] | None:
    """An effect as a row of a forest; None without an interval, with one that says nothing, or an endless bar.

    It says which side is better, and by the `resolution` (a share) what counts as the same.
    """
    if not effect.informative:
        return None
    ratio = effect.scale is Scale.RATIO
    shown = [(value - 1) * 100 if ratio else value * 100 for value in (effect.estimate, effect.low, effect.high)]
    if max(map(abs, shown)) > _INFINITE:
        return None
    written = formatting.ratio_interval if ratio else formatting.points_interval
    width = margin(effect.baseline_mean, response, resolution)
    ends = [(exp(end) - 1) * 100 if ratio else end * 100 for end in (-width, width)]
    return {
        "label": name,
        "treatment": effect.treatment,
        "estimate": shown[0],
        "low": shown[1],
        "high": shown[2],
        "blocks": effect.blocks,
        "text": written(effect.estimate, effect.low, effect.high),
        "side": _SIDES[response.better],
        "same_low": ends[0],
        "same_high": ends[1],
    }
