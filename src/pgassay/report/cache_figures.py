"""The cache study's figures: box plots of the three times over shared_buffers, and what lies in which cache.

Boxes are computed here and not by Vega, so that a run of 13 554 trials makes a small page.
"""

from collections.abc import Sequence
from typing import Any

import altair as alt

from pgassay.report.cache import BUFFERS, MOMENTS, SHARES, CacheFindings
from pgassay.report.findings import Findings
from pgassay.report.style import PALETTE, WIDTH, chart_of, panels
from pgassay.study.units import format_bytes

TIMES = ("idx1", "seq", "idx2")
WHISKER = 1.5
FLAT_SIZES = 12
OUTLIERS_MAX = 20
"""Of each box: the farthest ones."""


def boxes(findings: Findings, time: str) -> Any | None:
    """Box plots of one time, sizes along the axis, a colour for each series; None where there is nothing."""
    cache = CacheFindings(findings)
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
    colour = alt.Color("series:N", scale=_colours(series), sort=series, title=None, legend=alt.Legend(orient="top"))
    x, offset = (
        alt.X("size:N", sort=order, title="shared_buffers", axis=_sizes(order)),
        alt.XOffset("series:N", sort=series),
    )
    scale = alt.Scale(type="log", nice=True) if _wide(rows) else alt.Scale(zero=False, nice=True)
    tooltip = [alt.Tooltip(each) for each in ("size:N", "series:N", "trials:Q")]
    tooltip += [alt.Tooltip(f"{each}:Q", format=",.4~g") for each in _FIVE]
    y = alt.Y("low:Q", scale=scale, title=f"{time}, ms")
    base = chart_of(rows).encode(x=x, xOffset=offset, color=colour, tooltip=tooltip)
    layered = base.mark_rule().encode(y=y, y2="high:Q") + base.mark_bar(opacity=0.55).encode(
        y=alt.Y("q1:Q", scale=scale, title=f"{time}, ms"), y2="q3:Q"
    )
    layered += base.mark_tick(thickness=2, color="black").encode(y=alt.Y("median:Q", scale=scale))
    if points:
        layered += (
            chart_of(points)
            .mark_point(size=14, opacity=0.6)
            .encode(x=x, xOffset=offset, color=colour, y=alt.Y("value:Q", scale=scale))
        )
    return layered.properties(width=WIDTH, height=260)


_FIVE = ("low", "q1", "median", "q3", "high")


def box_of(values: Sequence[float]) -> tuple[dict[str, float], list[float]]:
    """The five numbers of a box (Tukey: whiskers to the last value within 1.5 times the box) and what lies outside."""
    ordered = sorted(values)
    q1, middle, q3 = (_quantile(ordered, share) for share in (0.25, 0.5, 0.75))
    reach = WHISKER * (q3 - q1)
    inside = [value for value in ordered if q1 - reach <= value <= q3 + reach]
    outside = sorted((v for v in ordered if not q1 - reach <= v <= q3 + reach), key=lambda v: -abs(v - middle))
    # A quartile between two values may lie beyond the last one inside; a whisker never ends within its box.
    five = dict(zip(_FIVE, (min(inside[0], q1), q1, middle, q3, max(inside[-1], q3)), strict=True))
    return {**five, "trials": len(ordered)}, outside[:OUTLIERS_MAX]


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


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
    return alt.Legend(orient="top", symbolType="stroke", symbolStrokeWidth=2)


def residency(findings: Findings) -> Any | None:
    """Shares of index and heap in both caches along the sizes, before the probes and after the scan."""
    cache = CacheFindings(findings)
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
    lines = (
        chart_of(rows)
        .mark_line(point=True)
        .encode(
            x=alt.X("size:N", sort=order, title=BUFFERS.removeprefix("server."), axis=_sizes(order)),
            y=alt.Y("share:Q", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1], clamp=True), title="share"),
            color=alt.Color("what:N", scale=_colours(what), sort=what, title=None, legend=alt.Legend(orient="top")),
            strokeDash=alt.StrokeDash("when:N", sort=list(MOMENTS.values()), title=None, legend=_dashes()),
            shape=alt.Shape("what:N", sort=what, legend=None),
            tooltip=["size:N", "series:N", "what:N", "when:N", alt.Tooltip("share:Q", format=".0%")],
        )
        .properties(width=WIDTH, height=200)
    )
    if len(cache.series) > 1:
        return lines.facet(row=panels("series", [each or "all" for each in cache.series]))
    return lines
