"""A forest: effects below each other, each with its interval, around the line of no difference.

Label, bar and number of a row are on one height: names at the left, numbers at the right, bars between them. What says
nothing is not drawn: neither an interval that leaves anything possible, nor the part of a bar that would hide all
others.
"""

import textwrap
from collections.abc import Mapping, Sequence
from math import exp
from typing import Any

import altair as alt

from pgassay.analysis.effects import Effect
from pgassay.analysis.verdicts import margin
from pgassay.report import charts, words
from pgassay.report.colours import GRID, INK
from pgassay.study.responses import Better, Response, Scale

_NAME_LETTERS = 17
"""Of a line of a name; so a bar has room on a telephone, too."""
_GAP_PX, _AIR_PX = 14, 8
"""Between names, bars and numbers; and between two rows."""
_REACH_MIN = 100.0
_INFINITE = 1e12
_SIDES = {Better.HIGHER: "better →", Better.LOWER: "← better", Better.NEITHER: ""}


def forest(
    rows: Sequence[Mapping[str, Any]],
    order: Sequence[str],
    title: str,
    colours: Any,
    *,
    most: float | None = None,
    field: str = "",
    names: Sequence[str] = (),
) -> Any:
    """Estimates with intervals around the line of no effect, in per cent. Nothing is drawn beyond `most`.

    A row a label of `order`; a panel for each of two or more `names` that the rows have in `field`.
    """
    reach = _reach(rows, most)
    said = {name: [*textwrap.wrap(name, _NAME_LETTERS), *_side(rows, name)] or [""] for name in order}
    tops, height = {}, 0.0
    for name, lines in said.items():
        tops[name], height = height, height + charts.LINE * len(lines) + _AIR_PX
    drawn = [
        {
            **row, "_label": "\n".join(said[row["label"]]), "_top": tops[row["label"]],
            "_label_y": tops[row["label"]] + _AIR_PX / 2,
            "_y": tops[row["label"]] + (charts.LINE * len(said[row["label"]]) + _AIR_PX) / 2,
            "_bottom": tops[row["label"]] + charts.LINE * len(said[row["label"]]) + _AIR_PX,
        }
        for row in rows
    ]  # fmt: skip
    first = charts.LETTER * max(len(line) for lines in said.values() for line in lines) + _GAP_PX
    last = charts.LETTER * max(len(row["text"]) for row in rows) + _GAP_PX
    place: list[Any] = [first, alt.ExprRef(f"{'child_width' if len(names) > 1 else 'width'} - {last}")]
    # Nothing falls by more than all of it, so the axis ends there.
    scale = alt.Scale(nice=True, padding=12, range=place)
    if reach:
        scale = alt.Scale(domain=[-min(reach, _REACH_MIN), reach], clamp=True, range=place)
    x = alt.X("low:Q", title=charts.wrapped(f"{title}; 0: no difference", charts.NARROW), scale=scale)
    base = alt.Chart().encode(
        y=charts.down("_y", height),
        tooltip=[charts.tip("label:N", "what"), charts.tip("text:N", "effect"), charts.tip("blocks:Q")],
    )
    whole = alt.Chart().encode(y=charts.down("_top", height), y2="_bottom:Q")
    band = whole.mark_rect(color=GRID).encode(x=alt.X("same_low:Q", scale=scale), x2="same_high:Q")
    line = whole.mark_rule(color=INK, strokeWidth=1).encode(x=alt.XDatum(0))
    bars = base.mark_rule(strokeWidth=3).encode(x=x, x2="high:Q", color=colours)
    points = base.mark_point(filled=True, size=90, opacity=1).encode(x="estimate:Q", color=colours)
    label = alt.Chart().mark_text(align="left", baseline="top", lineBreak="\n", lineHeight=charts.LINE)
    label = label.encode(x=alt.value(0), y=charts.down("_label_y", height), text="_label:N")
    text = alt.Chart().mark_text(align="right", baseline="middle")
    text = text.encode(x=charts.right(names), y=charts.down("_y", height), text="text:N")
    bands = [band] if any("same_low" in row for row in rows) else []
    return charts.layered([*bands, line, bars, points, label, text], drawn, height, field, names)


def _side(rows: Sequence[Mapping[str, Any]], name: str) -> list[str]:
    """The line below a name that says which side of 0 is better, where the rows do."""
    return list(dict.fromkeys(side for row in rows if row["label"] == name and (side := row.get("side"))))


def _reach(rows: Sequence[Mapping[str, Any]], most: float | None) -> float | None:
    """Where bars are cut off, so that one without information does not hide all others; None if none is so long."""
    reach = max(_REACH_MIN, *(2.0 * abs(row["estimate"]) for row in rows))
    reach = reach if most is None else min(reach, most)
    return reach if any(max(abs(row["low"]), abs(row["high"])) > reach for row in rows) else None


def forest_row(
    effect: Effect, name: str, response: Response | None = None, resolution: float | None = None
) -> dict[str, Any] | None:
    """An effect as a row of a forest; None without an interval, with one that says nothing, or an endless bar.

    With its `response` the row says which side is better, and with the `resolution` (a share) what counts as the same.
    """
    if not effect.informative:
        return None
    ratio = effect.scale is Scale.RATIO
    shown = [(value - 1) * 100 if ratio else value * 100 for value in (effect.estimate, effect.low, effect.high)]
    if max(map(abs, shown)) > _INFINITE:
        return None
    told = words.ratio_interval if ratio else words.points_interval
    row = {
        "label": name,
        "treatment": effect.treatment,
        "estimate": shown[0],
        "low": shown[1],
        "high": shown[2],
        "blocks": effect.blocks,
        "text": told(effect.estimate, effect.low, effect.high),
    }
    if response is not None and resolution is not None:
        width = margin(effect.baseline_mean, response, resolution)
        ends = [(exp(end) - 1) * 100 if ratio else end * 100 for end in (-width, width)]
        row |= {"side": _SIDES[response.better], "same_low": ends[0], "same_high": ends[1]}
    return row
