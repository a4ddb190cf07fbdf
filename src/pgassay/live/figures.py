"""The figures of the live page: the report's own forest, and the seconds of the trial that runs.

Both are Vega-Lite in the report's look; the rows of the second one are sent to the page as they come.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pgassay.report import words
from pgassay.report.colours import PALETTE
from pgassay.report.vega import drawable

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

ROWS = "seconds"
"""The name of the data that the page fills."""
PANELS = (
    "transactions per second", "latency, ms", "WAL, MB/s", "device: written, MB/s", "device: read, MB/s", "backends",
)  # fmt: skip
_PANEL_PX = 84


def effects(findings: "Findings") -> Mapping[str, Any]:
    """The primary response of each treatment against the baseline; empty while no interval tells anything."""
    from pgassay.report import charts
    from pgassay.report.forest import forest, forest_row

    named = {each.effect.place.name: forest_row(each.effect, each.effect.place.name) for each in findings.verdicts}
    rows = [row for row in named.values() if row is not None]
    if not rows:
        return {}
    title = f"{words.capital(findings.primary.title)}: change against {findings.baseline}, %"
    treatments = tuple(dict.fromkeys(row["treatment"] for row in rows))
    order = [name for name, row in named.items() if row is not None]
    chart = forest(rows, order, title, charts.colour(treatments, legend=False))
    figure: Mapping[str, Any] = drawable({**charts.specified(chart), "description": title})
    return figure


def seconds() -> Mapping[str, Any]:
    """Lines by second, a panel each for what is known of the trial; its rows are data called `ROWS`."""
    import altair as alt

    from pgassay.report import charts

    line = (
        alt.Chart(alt.NamedData(name=ROWS))
        .mark_line(point=alt.OverlayMarkDef(size=12))
        .encode(
            x=alt.X("second:Q", title="seconds", scale=alt.Scale(zero=False, nice=False)),
            y=alt.Y("value:Q", title=None, axis=alt.Axis(tickCount=3)),
            color=alt.Color("series:N", title=None, scale=alt.Scale(range=list(PALETTE)),
                            legend=alt.Legend(orient="top", columns=1, labelLimit=300)),
        )
        .properties(height=_PANEL_PX, width=charts.WIDTH)
        .facet(row=charts.panels("panel", PANELS))
        .resolve_scale(y="independent")
    )  # fmt: skip
    return {**charts.specified(line), "description": "What the trial does, second by second"}
