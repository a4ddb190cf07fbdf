"""How figures look: one palette that survives colour blindness (Okabe and Ito, 2008), one size, one font."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
WIDTH = 640
LEVELS_BELOW_EACH_OTHER = alt.Axis(labelExpr="split(datum.label, ', ')")
"""For the names of combinations, which are long and begin alike."""
FONT = "system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif"


def data(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Rows as inline data."""
    return alt.Data(values=list(rows))  # type: ignore[no-untyped-call]


def chart_of(rows: Sequence[Mapping[str, Any]]) -> alt.Chart:
    """A chart on inline rows."""
    return alt.Chart(data(rows))


def styled(figure: Any) -> Any:
    """The figure in the house's look."""
    return (
        figure.configure(font=FONT, background="white")
        .configure_axis(labelFontSize=12, titleFontSize=12, grid=True, gridColor="#e8e8e8", labelLimit=320)
        .configure_legend(labelFontSize=12, titleFontSize=12, labelLimit=320)
        .configure_title(fontSize=14, anchor="start", subtitleFontSize=12, subtitleColor="#555")
        .configure_view(stroke=None)
    )


def panels(field: str, order: Sequence[str] | None = None) -> Any:
    """Small multiples below each other, each with its whole name above it; in `order`, or as the rows come."""
    header = alt.Header(labelOrient="top", labelAnchor="start", labelFontSize=12, labelPadding=2, labelLimit=WIDTH)
    return alt.Row(f"{field}:N", sort=list(order) if order else None, title=None, header=header)


def colour(treatments: tuple[str, ...], title: str = "treatment") -> Any:
    """The treatments' colours, the same in every figure."""
    return alt.Color(
        "treatment:N",
        scale=alt.Scale(domain=list(treatments), range=[PALETTE[i % len(PALETTE)] for i in range(len(treatments))]),
        title=title,
        sort=list(treatments),
    )
