"""Space against speed as a picture: every trial small, every treatment's medians large, the Pareto front as a line.

A front joins only treatments whose speeds may be compared: on emulated drives without service times there is one for
each drive (see `tradeoff`).
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import altair as alt

from pgassay.analysis.comparable import refusal_by_levels
from pgassay.report import words
from pgassay.report.legends import WIDTH, legend_of, wrapped
from pgassay.report.style import chart_of, colour, data, panels
from pgassay.report.tradeoff import SPACE, Point, Tradeoff, front, tradeoffs
from pgassay.study.drives import DATA, WAL
from pgassay.study.responses import Status

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

_MEDIAN, _TRIAL = "median", "trial"
_HEIGHT = 300


def space_against_speed(findings: "Findings") -> Any | None:
    """The chart, a panel for each condition and covariate point; None where space or speed is not known."""
    every = tuple(tradeoffs(findings))
    if not every:
        return None
    space = findings.responses[every[0].space]
    divisor, unit = words.scale_of((point.space_bytes or 0.0 for each in every for point in each.points), space)
    rows = [row for each in every for row in (*_trials(findings, each), *_medians(each))]
    for row in rows:
        row["space"] /= divisor
    treatments = tuple(treatment.name for treatment in findings.study.treatments)
    several = len({row["place"] for row in rows}) > 1
    base = alt.Chart() if several else chart_of(rows)
    x = alt.X("space:Q", title=f"{SPACE[every[0].space]}, {unit}", scale=alt.Scale(zero=False, nice=True, padding=14))
    named = wrapped(findings.responses[every[0].speed].title, _HEIGHT)
    y = alt.Y("speed:Q", title=named, scale=alt.Scale(zero=False, nice=True))
    shades = colour(treatments)
    told = ["treatment:N", "space:Q", "speed:Q"]
    lines = base.transform_filter("datum.kind == 'median' && datum.front").mark_line(
        color="#777777", strokeDash=[5, 4], interpolate="linear"
    )
    shown = (
        lines.encode(x=x, y=y, detail="drives:N", order="space:Q")
        + base.transform_filter("datum.kind == 'trial'")
        .mark_circle(size=26, opacity=0.45)
        .encode(x=x, y=y, color=shades)
        + base.transform_filter("datum.kind == 'median'")
        .mark_point(filled=True, size=130, stroke="black", strokeWidth=1)
        .encode(x=x, y=y, color=shades, shape=_shape(rows), tooltip=told)
    ).properties(width=WIDTH, height=_HEIGHT)
    if several:
        places = tuple(dict.fromkeys(str(row["place"]) for row in rows))
        return shown.facet(data=data(rows), row=panels("place", places)).resolve_scale(y="independent")
    return shown


def _shape(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Of what is comparable with what; without a legend where everything is."""
    drives = list(dict.fromkeys(str(row["drives"]) for row in rows if row["kind"] == _MEDIAN))
    return alt.Shape("drives:N", legend=legend_of(drives, "comparable with each other"))


def _trials(findings: "Findings", found: Tradeoff) -> list[dict[str, Any]]:
    rows = []
    for trial in findings.trials:
        space, speed = trial.responses.get(found.space), trial.responses.get(found.speed)
        here = (trial.condition, trial.covariate) == (found.condition, found.covariate)
        if trial.status is Status.VALID and here and space is not None and speed is not None:
            rows.append(
                {"kind": _TRIAL, "place": found.place, "treatment": trial.treatment, "space": space, "speed": speed}
            )
    return rows


def _medians(found: Tradeoff) -> list[dict[str, Any]]:
    best, groups = front(found.points), _groups(found.points)
    return [
        {
            "kind": _MEDIAN,
            "place": found.place,
            "treatment": point.name,
            "space": point.space_bytes,
            "speed": point.speed,
            "front": point.name in best,
            "drives": groups[point.name],
        }
        for point in found.points
        if point.space_bytes is not None and point.speed is not None
    ]


def _groups(every: Sequence[Point]) -> dict[str, str]:
    """Treatment to the drives that it shares with all that its speed may be compared with."""
    found = {}
    for point in every:
        first = next(other for other in every if not refusal_by_levels(other.levels, point.levels))
        drives = [f"{name}={level.typed}" for name, level in first.levels.items() if name in (DATA, WAL)]
        found[point.name] = ", ".join(drives) or "all"
    return found
