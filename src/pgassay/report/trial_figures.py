"""Every valid trial's value, by treatment and over the blocks, a panel for each condition and covariate point.

Beyond `boxes.DOTS_MAX` trials dots would hide each other: boxes stand for them, and one line for the blocks' medians.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import altair as alt

from pgassay.report import boxes, words
from pgassay.report.legends import WIDTH, wrapped
from pgassay.report.style import apart, chart_of, colour, levels_below_each_other, panels, shape, step
from pgassay.study.responses import Response, Status

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

_HEIGHT, _BAND = 220, 58
"""Pixels of a panel over the blocks, and of a treatment with its dots."""
_DOTS = "Each dot is one trial, shifted by its block; the bar is the median."
_BLOCKS = "What moves all lines together is the machine; effects are taken inside each block, where it cancels."
_MEDIANS = "The median of all treatments in each block: what moves it is the machine, and cancels in effects."


def by_treatment(findings: "Findings", response: Response) -> tuple[Any, str] | None:
    """Chart and caption; None without any value."""
    rows = _values(findings, response)
    if not rows:
        return None
    treatments = _treatments(findings)
    title = wrapped(_title(findings, response), WIDTH)
    if len(rows) > boxes.DOTS_MAX:
        chart = boxes.boxed(rows, treatments, title, _format(response))
        return _by_place(chart, findings, rows, "x"), boxes.CAPTION
    base = chart_of(rows).encode(
        y=alt.Y("treatment:N", sort=list(treatments), title=None, axis=levels_below_each_other(treatments)),
        x=alt.X("value:Q", scale=_spread_out(rows), title=title, axis=alt.Axis(format=_format(response))),
    )
    dots = base.mark_circle(size=55, opacity=0.75).encode(
        color=colour(treatments).legend(None),
        yOffset=alt.YOffset("block:O"),
        tooltip=["treatment:N", "block:Q", "trial:Q", alt.Tooltip("value:Q", format=",.4~g")],
    )
    medians = base.mark_tick(thickness=3, size=34, color="black").encode(x=alt.X("median(value):Q"))
    layered = (dots + medians).properties(width=WIDTH, height=step(treatments, _BAND) * len(treatments))
    return _by_place(layered, findings, rows, "x"), _DOTS


def over_blocks(findings: "Findings") -> tuple[Any, str] | None:
    """The primary's chart and caption; None without any value."""
    rows, treatments, caption = _values(findings, findings.primary), _treatments(findings), _BLOCKS
    if not rows:
        return None
    if len(rows) > boxes.DOTS_MAX:
        rows, treatments, caption = boxes.together(rows), (boxes.TOGETHER,), _MEDIANS
    title = wrapped(_title(findings, findings.primary), _HEIGHT)
    lines = (
        chart_of(rows)
        .mark_line(point=True)
        .encode(
            x=alt.X("block:O", title="block (repetition)", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("value:Q", scale=alt.Scale(zero=False), title=title),
            color=colour(treatments),
            shape=shape(treatments),
            tooltip=["treatment:N", "block:Q", "trial:Q", alt.Tooltip("value:Q", format=",.4~g")],
        )
        .properties(width=WIDTH, height=_HEIGHT)
    )
    return _by_place(lines, findings, rows, "y"), caption


def _values(findings: "Findings", response: Response) -> list[dict[str, Any]]:
    valid = (trial for trial in findings.trials if trial.status is Status.VALID)
    told = [(trial, value) for trial in valid if (value := trial.responses.get(response.name)) is not None]
    divisor, _ = words.scale_of((value for _, value in told), response)
    return [
        {
            "treatment": trial.treatment,
            "condition": words.place(trial.condition, trial.covariate),
            "block": trial.block,
            "trial": trial.number,
            "value": value / divisor,
        }
        for trial, value in told
    ]


def _treatments(findings: "Findings") -> tuple[str, ...]:
    return tuple(treatment.name for treatment in findings.study.treatments)


def _title(findings: "Findings", response: Response) -> str:
    values = (trial.responses.get(response.name) for trial in findings.trials if trial.status is Status.VALID)
    _, unit = words.scale_of((value for value in values if value is not None), response)
    return f"{response.title}, {unit}" if unit else response.title


def _format(response: Response) -> str:
    """How an axis writes its numbers: shares in per cent."""
    return "%" if response.unit == "share" else ",.10~r"


def _by_place(chart: Any, findings: "Findings", rows: Sequence[Mapping[str, Any]], channel: str) -> Any:
    """A panel a place."""
    places = dict.fromkeys(arm.place.cell.name for arm in findings.study.arms)
    if len(places) < 2:
        return chart
    faceted = chart.facet(row=panels("condition", tuple(places)))
    return faceted.resolve_scale(**{channel: "independent"}) if apart(rows, "condition") else faceted


def _spread_out(rows: Sequence[Mapping[str, Any]]) -> alt.Scale:
    """From 0 on where values come near it: room to the left of the least would show values that cannot be."""
    least, most = min(row["value"] for row in rows), max(row["value"] for row in rows)
    near = 0.0 <= least < 0.1 * most
    return alt.Scale(zero=True, nice=True) if near else alt.Scale(zero=False, nice=True, padding=12)
