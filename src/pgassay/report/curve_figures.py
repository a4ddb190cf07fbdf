"""The primary along the covariates as lines with bands, one panel a condition; nothing without covariates.

A covariate that is a number (clients, scale, rate) gets a number's axis, any other its points in the study's order.
"""

from typing import TYPE_CHECKING, Any

import altair as alt

from pgassay.report import words
from pgassay.report.covariates import number_of
from pgassay.report.legends import WIDTH, wrapped
from pgassay.report.style import at_points, chart_of, colour, data, panels

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

_HEIGHT = 260


def along_covariates(findings: "Findings") -> Any | None:
    """The chart, or None without covariates or without a point."""
    rows = rows_of(findings)
    if not rows:
        return None
    numeric = all(isinstance(row["at"], float) for row in rows)
    title = ", ".join(findings.study.covariates)
    x = alt.X("at:N", title=title, sort=None)
    if numeric:
        x = alt.X("at:Q", title=title, scale=alt.Scale(zero=False), axis=at_points(row["at"] for row in rows))
    colours = colour(tuple(treatment.name for treatment in findings.study.treatments))
    _, unit = _scale(findings)
    tooltip = ["treatment:N", "value:Q", "low:Q", "high:Q", "blocks:Q"]
    several = len({row["condition"] for row in rows}) > 1
    base = alt.Chart() if several else chart_of(rows)  # panels share out the rows of the whole, not of a layer
    lines = base.mark_line(point=True).encode(x=x, color=colours, y="value:Q", tooltip=tooltip)
    bounded = base.transform_filter("isValid(datum.high)")
    band = bounded.mark_area(opacity=0.18) if numeric else bounded.mark_rule()
    named = f"{findings.primary.title}, {unit}" if unit else findings.primary.title
    y = alt.Y("low:Q", title=wrapped(named, _HEIGHT))
    shown = band.encode(x=x, color=colours, y=y, y2="high:Q") + lines
    chart = shown.properties(width=WIDTH, height=_HEIGHT)
    if several:
        names = tuple(dict.fromkeys(str(row["condition"]) for row in rows))
        return chart.facet(data=data(rows), row=panels("condition", names)).resolve_scale(y="independent")
    return chart


def _scale(findings: "Findings") -> tuple[float, str]:
    values = [point.value for curve in findings.companions.curves for point in curve.points]
    return words.scale_of(values, findings.primary)


def rows_of(findings: "Findings") -> list[dict[str, Any]]:
    """A row a point; low and high are None where there is no band yet."""
    found = []
    divisor, _ = _scale(findings)
    for curve in findings.companions.curves:
        for point in curve.points:
            if point.value == point.value:
                found.append(
                    {
                        "treatment": curve.treatment,
                        "condition": curve.condition,
                        "at": _place(point.covariate),
                        "value": point.value / divisor,
                        "low": point.low / divisor if point.bounded else None,
                        "high": point.high / divisor if point.bounded else None,
                        "blocks": point.blocks,
                    }
                )
    return found


def _place(covariate: str) -> float | str:
    number = number_of(covariate)
    return covariate if number is None else number
