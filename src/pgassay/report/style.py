"""How figures look: one palette that survives colour blindness (Okabe and Ito, 2008), one size, one font."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import altair as alt
from altair.utils import schemapi

from pgassay.report.legends import legend_of, lines_of, wrapping

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
SHAPES = ("circle", "square", "triangle-up", "cross", "diamond", "triangle-down", "triangle-right", "triangle-left")
FONT = "system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif"
_APART = 4.0
"""How many times larger the values of one panel are that want an axis of their own."""
_LINE, _AIR = 15, 8
"""Pixels of a line of text, and between two labels."""


def data(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Rows as inline data."""
    return alt.Data(values=tuple(rows))  # type: ignore[no-untyped-call]  # Altair copies lists again and again


def chart_of(rows: Sequence[Mapping[str, Any]]) -> alt.Chart:
    """A chart on inline rows."""
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
