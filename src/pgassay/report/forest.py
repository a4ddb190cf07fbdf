"""A forest of effects: estimates with their intervals around the line of no effect, in per cent or points.

All layers share one set of rows: a layer with data of its own would keep panels from parting them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from pgassay.analysis.effects import Effect
from pgassay.report.legends import WIDTH, wrapped
from pgassay.report.style import chart_of, levels_below_each_other, step
from pgassay.study.responses import Scale

_REACH_MIN = 100.0
_INFINITE = 1e12
_STEP, _TEXT = 40, 80
"""Pixels from one row to the next, and of half a text over a point."""


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
    height = alt.Step(step(order, _STEP) if named else _STEP)
    return (line + bars + points + texts).properties(width=WIDTH, height=height)


def _reach(rows: Sequence[Mapping[str, Any]], most: float | None) -> float | None:
    """Where bars are cut off, so that one that tells nothing does not hide all others; None if none is so long."""
    reach = max(_REACH_MIN, *(2.0 * abs(row["estimate"]) for row in rows))
    reach = reach if most is None else min(reach, most)
    return reach if any(max(abs(row["low"]), abs(row["high"])) > reach for row in rows) else None


def row_of(effect: Effect, name: str) -> dict[str, Any] | None:
    """An effect as a row of a forest; None without an interval, or where its bar would be endless."""
    if not effect.bounded:
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
