"""The cache study's figures: box plots of the three times over shared_buffers, and what lies in which cache.

Boxes are computed here and not by Vega, so that a run of 13 554 trials makes a small page.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt

from pgassay.report.boxes import FIVE, box_of
from pgassay.report.cache import BUFFERS, MOMENTS, SHARES
from pgassay.report.findings import Findings
from pgassay.report.legends import WIDTH, legend_of
from pgassay.report.style import PALETTE, chart_of, panels
from pgassay.study.units import format_bytes

FLAT_SIZES = 12
_TIMES = {
    "idx1": "Index probes before the scan (idx1)",
    "seq": "Sequential scan (seq)",
    "idx2": "Index probes after the scan (idx2)",
}


def charts(findings: Findings) -> Iterator[tuple[str, str, str, Any]]:
    """Name, title, caption and chart of every figure that this run has data for."""
    for time, what in _TIMES.items():
        chart = boxes(findings, time)
        if chart is not None:
            yield f"cache-{time}", f"{what} over shared_buffers", _BOXES, chart
    chart = residency(findings)
    if chart is not None:
        caption = "Medians. What lies in both caches counts in both: memory spent twice."
        yield "cache-residency", "What lies in which cache", caption, chart


_BOXES = "Bar: the middle half of the trials; line: median; whiskers: to 1.5 times the bar; dots beyond."


def boxes(findings: Findings, time: str) -> Any | None:
    """Box plots of one time, sizes along the axis, a colour for each series; None where there is nothing."""
    cache = findings.caches
    name = next((each for each in (f"{time}_trimmed_ms", f"{time}_ms") if cache.spots and cache.values(each)), None)
    if name is None:
        return None
    rows, points = [], []
    for spot, values in cache.values(name).items():
        box, outside = box_of(values)
        place = {"size": format_bytes(spot.size), "series": spot.series or "all"}
        rows.append({**place, **box})
        points += [{**place, "value": value} for value in outside]
    order = [format_bytes(size) for size in cache.sizes]
    series = [each or "all" for each in cache.series]
    colour = alt.Color("series:N", scale=_colours(series), sort=series, title=None, legend=legend_of(series))
    x, offset = (
        alt.X("size:N", sort=order, title="shared_buffers", axis=_sizes(order)),
        alt.XOffset("series:N", sort=series),
    )
    scale = alt.Scale(type="log", nice=False, padding=8) if _wide(rows) else alt.Scale(zero=False, nice=True)
    tooltip = [alt.Tooltip(each) for each in ("size:N", "series:N", "trials:Q")]
    tooltip += [alt.Tooltip(f"{each}:Q", format=",.4~g") for each in FIVE]
    y = alt.Y("low:Q", scale=scale, title=f"{time}, ms")
    base = chart_of(rows).encode(x=x, xOffset=offset, color=colour, tooltip=tooltip)
    layered = base.mark_rule().encode(y=y, y2="high:Q") + base.mark_bar(opacity=0.55).encode(
        y=alt.Y("q1:Q", scale=scale, title=f"{time}, ms"), y2="q3:Q"
    )
    layered += base.mark_tick(thickness=2).encode(y=alt.Y("median:Q", scale=scale), color=alt.value("black"))
    if points:
        layered += (
            chart_of(points)
            .mark_point(size=14, opacity=0.6)
            .encode(x=x, xOffset=offset, color=colour, y=alt.Y("value:Q", scale=scale))
        )
    return layered.properties(width=WIDTH, height=260)


def _wide(rows: Sequence[dict[str, Any]]) -> bool:
    """A logarithmic axis where the boxes span more than a factor of ten."""
    least, most = min(row["low"] for row in rows), max(row["high"] for row in rows)
    return bool(least > 0 and most / least > 10)


def _colours(series: Sequence[str]) -> Any:
    return alt.Scale(domain=list(series), range=[PALETTE[place % len(PALETTE)] for place in range(len(series))])


def _sizes(order: Sequence[str]) -> Any:
    """Names of sizes lie flat while there is room for them."""
    return alt.Axis(labelAngle=0) if len(order) <= FLAT_SIZES else alt.Axis(labelAngle=-60)


def _dashes() -> Any:
    return alt.Legend(orient="bottom", symbolType="stroke", symbolStrokeWidth=2, symbolStrokeColor="black")


def residency(findings: Findings) -> Any | None:
    """Shares of index and heap in both caches along the sizes, before the probes and after the scan."""
    cache = findings.caches
    if not cache.spots or not cache.shares:
        return None
    rows = [
        {
            "size": format_bytes(spot.size),
            "series": spot.series or "all",
            "what": SHARES[name],
            "when": MOMENTS[moment],
            "share": value,
        }
        for spot, name, moment, value in cache.shares
    ]
    order = [format_bytes(size) for size in cache.sizes]
    what = list(SHARES.values())
    base = chart_of(rows).encode(
        x=alt.X("size:N", sort=order, title=BUFFERS.removeprefix("server."), axis=_sizes(order)),
        y=alt.Y("share:Q", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1], clamp=True), title="share"),
        color=alt.Color("what:N", scale=_colours(what), sort=what, title=None, legend=alt.Legend(orient="top")),
        tooltip=["size:N", "series:N", "what:N", "when:N", alt.Tooltip("share:Q", format=".0%")],
    )
    # Points in a layer of their own: with them the legend shows its dashes filled, which for strokes is invisible.
    dashes = alt.StrokeDash("when:N", sort=list(MOMENTS.values()), title=None, legend=_dashes())
    lines = base.mark_line().encode(strokeDash=dashes) + base.mark_point(filled=True, size=40, opacity=1).encode(
        shape=alt.Shape("what:N", sort=what, legend=None)
    )
    lines = lines.properties(width=WIDTH, height=200)
    if len(cache.series) > 1:
        return lines.facet(row=panels("series", [each or "all" for each in cache.series]))
    return lines
