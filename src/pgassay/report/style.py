"""How figures look: one palette that survives colour blindness (Okabe and Ito, 2008), one size, one font."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
WIDTH = 640
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


def colour(treatments: tuple[str, ...], title: str = "treatment") -> Any:
    """The treatments' colours, the same in every figure."""
    return alt.Color(
        "treatment:N",
        scale=alt.Scale(domain=list(treatments), range=[PALETTE[i % len(PALETTE)] for i in range(len(treatments))]),
        title=title,
        sort=list(treatments),
    )
