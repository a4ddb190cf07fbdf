"""The figure of scaling: the primary over clients, two lines and their kink, the scalability law with its band.

A panel a curve. The CPU yardstick, where it was measured, is drawn at the scale that lays its first point on the
curve's, so that the two shapes can be compared although their units differ.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pgassay.analysis.curves import Curve
from pgassay.report import words
from pgassay.report.colours import GREY, INK, PALETTE, SOFT
from pgassay.report.covariates import number_of
from pgassay.report.curves import has_band
from pgassay.report.scaling import YARDSTICK, Scaling, place
from pgassay.report.section import Drawing, Figure

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

MEASURED, LINES, LAW, CPU = "measured", "two lines with a kink", "Universal Scalability Law", "sysbench cpu, scaled"
_STEPS = 80
_HEIGHT = 280
_SHADES: Mapping[str, str] = dict(zip((MEASURED, LINES, LAW, CPU), (INK, *PALETTE[1:4]), strict=True))
_DASHES: Mapping[str, list[int]] = {MEASURED: [1, 0], LINES: [6, 3], LAW: [1, 0], CPU: [2, 3]}


def figure(findings: "Findings") -> Figure:
    """The curves with their fits, a panel a curve."""
    return Figure("scaling", lambda: _drawing(findings))


def _drawing(findings: "Findings") -> Drawing | None:
    """None without a fit."""
    import altair as alt

    fitted = {(each.treatment, each.condition): each for each in findings.scalings if each.law or each.kink}
    curves = [curve for curve in findings.curves if (curve.treatment, curve.condition) in fitted]
    if not curves:
        return None
    panels = (_panel(findings, curve, fitted[curve.treatment, curve.condition]) for curve in curves)
    return Drawing(
        "Fitted bend and peak",
        "Points: means over blocks with their intervals. Grey: where the kink lies. Shaded: where the data allow the "
        "Universal Scalability Law, point by point. A fit far from the points is not drawn. The yardstick is scaled to "
        "the curve's first point. Secondary.",
        alt.vconcat(*panels),
    )


def _panel(findings: "Findings", curve: Curve, scaling: Scaling) -> Any:
    import altair as alt

    from pgassay.report.charts import NARROW, WIDTH, at_points, chart_of, columns_of, tip, wrapped

    rows = list(rows_of(findings, curve, scaling))
    seen = [row for row in rows if row["series"] == MEASURED]
    name = findings.study.arms[0].covariate.name.partition("=")[0]
    ticks = at_points([0.0, *(row["clients"] for row in seen)])
    x = alt.X("clients:Q", title=name, scale=alt.Scale(zero=True), axis=ticks)
    y = alt.Y("value:Q", title=wrapped(words.titled(findings.primary), _HEIGHT), scale=alt.Scale(zero=True))
    names = [name for name in _SHADES if any(row["series"] == name for row in rows)]
    scale = alt.Scale(domain=names, range=[_SHADES[name] for name in names])
    dashes = alt.Scale(domain=names, range=[_DASHES[name] for name in names])
    legend = alt.Legend(
        title=None, orient="top", columns=columns_of(names), symbolOpacity=1.0, symbolType="stroke", symbolSize=300
    )
    colours = alt.Color("series:N", scale=scale, legend=legend)
    dashed = alt.StrokeDash("series:N", scale=dashes, legend=legend)
    lined = [row for row in rows if row["series"] != MEASURED]
    lines = (
        chart_of(lined).mark_line(strokeWidth=2).encode(x=x, y=y, color=colours, strokeDash=dashed, detail="series:N")
    )
    bands = chart_of([row for row in lined if "low" in row]).mark_area(opacity=0.15)
    measured = chart_of(seen)
    tooltip = [tip("clients:Q"), tip("value:Q"), tip("low:Q"), tip("high:Q")]
    dots = measured.mark_point(filled=True, size=60, opacity=1).encode(x=x, y=y, color=colours, tooltip=tooltip)
    bars = measured.mark_rule(strokeWidth=2).encode(x=x, y="low:Q", y2="high:Q", color=colours)
    shown = bands.encode(x=x, y="low:Q", y2="high:Q", color=colours) + lines + bars + dots
    kink = _kink(scaling)
    if kink is not None:
        shown = kink + shown
    return shown.properties(width=WIDTH, height=_HEIGHT, title=wrapped(place(scaling, findings.primary), NARROW))


def _kink(scaling: Scaling) -> Any | None:
    """The kink's interval as a grey band with a line at its estimate."""
    found = scaling.usable_kink
    if found is None or not found.seen:
        return None
    from pgassay.report.charts import chart_of

    row = [{"at": found.at.value, "low": found.at.low, "high": found.at.high}]
    span = chart_of(row).mark_rect(color=GREY, opacity=0.2).encode(x="low:Q", x2="high:Q")
    return span + chart_of(row).mark_rule(color=SOFT, strokeDash=[4, 3]).encode(x="at:Q")


def rows_of(findings: "Findings", curve: Curve, scaling: Scaling) -> Iterator[dict[str, Any]]:
    """Measured points with their intervals, and the fitted and scaled lines; no law that describes the points badly."""
    points = [(number_of(point.covariate), point) for point in curve.points if point.value == point.value]
    for clients, point in points:
        row = {"clients": clients, "value": point.value, "series": MEASURED}
        shown = has_band(point, findings.primary.scale)
        yield row | ({"low": point.low, "high": point.high} if shown else {})
    last = max((clients for clients, _ in points if clients is not None), default=1.0)
    kink, law = scaling.usable_kink, scaling.usable_law
    if kink is not None:
        at = kink.at.value
        corners = np.asarray(sorted({0.0, at, scaling.upto} if at < scaling.upto else {0.0, scaling.upto}))
        for clients, value in zip(corners[1:], kink.value(corners[1:]), strict=True):
            yield {"clients": float(clients), "value": float(value), "series": LINES}
        yield {"clients": 0.0, "value": 0.0, "series": LINES}
    if law is not None:
        grid = np.linspace(1.0, last, _STEPS)
        low, high = law.band(grid)
        for cells in zip(grid, law.value(grid), low, high, strict=True):
            yield {**dict(zip(("clients", "value", "low", "high"), map(float, cells), strict=True)), "series": LAW}
    yield from _yardstick(findings, curve)


def _yardstick(findings: "Findings", curve: Curve) -> Iterator[dict[str, Any]]:
    if YARDSTICK not in findings.responses:
        return
    rows = [
        (clients, row.avg)
        for row in findings.summaries(findings.responses[YARDSTICK])
        if (row.treatment, row.condition) == (curve.treatment, curve.condition) and row.n
        if (clients := number_of(row.covariate)) is not None
    ]
    first = min(rows, default=None)
    start = next((point.value for point in curve.points if first and number_of(point.covariate) == first[0]), None)
    if first is None or start is None or first[1] <= 0.0:
        return
    for clients, value in sorted(rows):
        yield {"clients": clients, "value": value * start / first[1], "series": CPU}
