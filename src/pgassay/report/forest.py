"""A forest: effects below each other, each with its interval, around the line of no difference.

What says nothing is not drawn: neither an interval that leaves anything possible, nor the part of a bar that would hide
all others.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from pgassay.analysis.effects import Effect
from pgassay.report import charts, words
from pgassay.report.colours import INK
from pgassay.study.responses import Scale

_BAR_PX = 16
"""Height of a bar with the air around it."""
_BESIDE_PX = 11
"""The line of no difference beside each bar, above and below its middle: it goes through no text."""
_REACH_MIN = 100.0
_INFINITE = 1e12


def forest(
    rows: list[dict[str, Any]],
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
    # Nothing falls by more than all of it, so the axis ends there.
    scale = alt.Scale(nice=True, padding=12)
    if reach:
        scale = alt.Scale(domain=[-min(reach, _REACH_MIN), reach], clamp=True)
    lines, height = charts.labelled_rows(
        charts.longest(order, {(row["label"], row.get(field, "")): row["text"] for row in rows}), _BAR_PX
    )
    drawn = [
        {
            **row, "_label": lines[row["label"]].label, "_label_y": lines[row["label"]].label_y,
            "_text_y": lines[row["label"]].text_y, "_y": lines[row["label"]].mark_y,
            "_above": lines[row["label"]].mark_y - _BESIDE_PX, "_below": lines[row["label"]].mark_y + _BESIDE_PX,
        }
        for row in rows
    ]  # fmt: skip
    x = alt.X("low:Q", title=charts.wrapped(f"{title}; 0: no difference", charts.NARROW), scale=scale)
    base = alt.Chart().encode(
        y=charts.down("_y", height),
        tooltip=[charts.tip("label:N", "what"), charts.tip("text:N", "effect"), charts.tip("blocks:Q")],
    )
    line = alt.Chart().mark_rule(color=INK, strokeWidth=1)
    line = line.encode(x=alt.XDatum(0), y=charts.down("_above", height), y2="_below:Q")
    bars = base.mark_rule(strokeWidth=3).encode(x=x, x2="high:Q", color=colours)
    points = base.mark_point(filled=True, size=90, opacity=1).encode(x="estimate:Q", color=colours)
    return charts.layered(
        [line, bars, points, *charts.row_texts(alt.Chart(), height, names)], drawn, height, field, names
    )


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
    told = words.ratio_interval if ratio else words.points_interval
    return {
        "label": name,
        "treatment": effect.treatment,
        "estimate": shown[0],
        "low": shown[1],
        "high": shown[2],
        "blocks": effect.blocks,
        "text": told(effect.estimate, effect.low, effect.high),
    }
