"""The figures of the live page: the report's own forest, and the seconds of the trial that runs.

Both are Vega-Lite in the report's look; the rows of the second one are sent to the page as they come.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pgassay.report import responses
from pgassay.report.colours import PALETTE
from pgassay.report.vega import drawable

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

ROWS = "seconds"
"""The name of the data that the page fills."""
PANELS = (
    "transactions per second", "latency, ms", "WAL, MB/s", "device: written, MB/s", "device: read, MB/s", "backends",
)  # fmt: skip
WAITS = ("on cpu", "client", "lock", "wal flush", "data read", "data write", "lwlock")
"""What backends are counted by, as `probe.waits` names it."""
_PANEL_PX = 84


def effects(findings: "Findings") -> Mapping[str, Any]:
    """The report's main figure; empty while no interval tells anything."""
    from pgassay.report import charts

    found = responses.drawing(findings)
    if found is None:
        return {}
    figure: Mapping[str, Any] = drawable({**charts.specified(found.chart), "description": found.title})
    return figure


def seconds(arms: Sequence[str], *, in_turns: bool) -> Mapping[str, Any]:
    """Lines by second, a panel each for what is known of the trial, `arms` as the report colours them; rows: `ROWS`.

    Of servers that take turns nobody counts backends.
    """
    import altair as alt

    from pgassay.report import charts

    def lines(chosen: str, scale: Any, columns: int = 1) -> Any:
        """The panels that an expression chooses, with a scale of colours and a legend of their own."""
        return (
            alt.Chart()
            .transform_filter(chosen)
            .mark_line(point=alt.OverlayMarkDef(size=12))
            .encode(
                x=alt.X("second:Q", title="seconds", scale=alt.Scale(zero=False, nice=False)),
                y=alt.Y("value:Q", title=None, axis=alt.Axis(tickCount=3)),
                color=alt.Color("series:N", title=None, scale=scale,
                                legend=alt.Legend(orient="top", columns=columns, labelLimit=300)),
            )
            .properties(height=_PANEL_PX, width=charts.WIDTH)
            .facet(data=alt.NamedData(name=ROWS), row=charts.panels("panel", PANELS))
            .resolve_scale(y="independent")
        )  # fmt: skip

    shades = [PALETTE[place % len(PALETTE)] for place in range(len(arms))]
    backends = f"datum.panel == '{PANELS[-1]}'"
    figure = lines(f"!({backends})", alt.Scale(domain=list(arms), range=shades))
    if not in_turns:
        waits = lines(backends, alt.Scale(domain=list(WAITS), range=list(PALETTE[: len(WAITS)])), columns=4)
        figure = alt.vconcat(figure, waits).resolve_scale(color="independent")
    return {**charts.specified(figure), "description": "What the trial does, second by second"}
