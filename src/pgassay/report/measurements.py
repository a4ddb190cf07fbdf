"""What was measured: every response's trials in a table and a figure, the primary's also over blocks and seconds.

Beyond `boxes.DOTS_MAX` trials dots would hide each other: boxes stand for them, and one line for the blocks' medians.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pgassay.record.values import TrialRecord
from pgassay.report import seconds, words
from pgassay.report.section import Block, Drawing, Figure, Section, Table
from pgassay.report.trials import measured
from pgassay.study.model import Study
from pgassay.study.responses import Response, Status

if TYPE_CHECKING:
    import altair as alt

    from pgassay.report.findings import Findings

_HEIGHT, _BAND = 220, 58
"""Pixels of a panel over the blocks, and of a treatment with its dots."""
_DOTS = "Each dot is one trial, shifted by its block; the bar is the median."
_BOXES = (
    "The middle half of the trials, their median, and whiskers to 1.5 times the box: too many trials for a dot each."
)
_BLOCKS = "What moves all lines together is the machine; effects are taken inside each block, where it cancels."
_MEDIANS = "The median of all treatments in each block: what moves it is the machine, and cancels in effects."


def _blocks(findings: "Findings") -> Iterator[Block]:
    yield summary(findings, findings.primary)
    yield Figure("effects", lambda: _effects(findings), key=1)
    yield _figure(findings, findings.primary)
    yield Figure("over-blocks", lambda: _over_blocks(findings))
    yield Figure("per-second", lambda: seconds.drawing(findings))
    for response in findings.secondary:
        yield summary(findings, response)
        yield _figure(findings, response)


def summary(findings: "Findings", response: Response) -> Table:
    """The published form of one response: average, deviation, least, median, greatest and number of trials."""
    primary = response.name == findings.study.primary
    rows = []
    for row in measured(findings.summaries(response), primary=primary):
        place = row.place.name
        baseline = " (baseline)" if row.treatment and row.treatment == findings.baseline else ""
        cells = [words.quantity(value, response) for value in (row.min, row.median, row.max)]
        spread = f"{words.quantity(row.avg, response)} ± {words.quantity(row.stdev, response)}"
        rows.append((f"{place}{baseline}", spread, *cells, str(row.n)))
    title = f"{words.titled(response)}{'' if primary else ' (secondary)'}"
    return Table(("treatment", "avg ± stdev", "min", "median", "max", "trials"), rows, title)


def _figure(findings: "Findings", response: Response) -> Figure:
    name = f"distribution-{response.name}".replace("_", "-")
    key = 3 if response.name == findings.study.primary else 0
    return Figure(name, lambda: distribution(findings, response), key)


def distribution(findings: "Findings", response: Response) -> Drawing | None:
    """Every valid trial's value by treatment, a panel for each condition and covariate point; None without any."""
    import altair as alt

    from pgassay.report import charts

    rows = _values(findings.trials, response)
    if not rows:
        return None
    treatments, name = _treatments(findings.study), f"{words.capital(response.title)} of every trial"
    title = charts.wrapped(_axis_title(findings.trials, response), charts.WIDTH)
    if len(rows) > charts.DOTS_MAX:
        chart = charts.boxes(rows, treatments, title, _format(response))
        return Drawing(name, _BOXES, _by_place(chart, findings.study, rows, "x"))
    base = charts.chart_of(rows).encode(
        y=alt.Y("treatment:N", sort=list(treatments), title=None, axis=charts.levels_below_each_other(treatments)),
        x=alt.X("value:Q", scale=_spread_out(rows), title=title, axis=alt.Axis(format=_format(response))),
    )
    dots = base.mark_circle(size=55, opacity=0.75).encode(
        color=charts.colour(treatments).legend(None),
        yOffset=alt.YOffset("block:O"),
        tooltip=["treatment:N", "block:Q", "trial:Q", alt.Tooltip("value:Q", format=",.4~g")],
    )
    medians = base.mark_tick(thickness=3, size=34, color="black").encode(x=alt.X("median(value):Q"))
    height = charts.step(treatments, _BAND) * len(treatments)
    layered = (dots + medians).properties(width=charts.WIDTH, height=height)
    return Drawing(name, _DOTS, _by_place(layered, findings.study, rows, "x"))


def _effects(findings: "Findings") -> Drawing | None:
    """The verdicts' effects as a forest."""
    from pgassay.report import charts

    effects = [judged.effect for judged in findings.verdicts]
    rows = [row for effect in effects if (row := charts.forest_row(effect, effect.place.name))]
    if not rows:
        return None
    title = f"{findings.primary.title} against {findings.baseline}, %"
    colours = charts.colour(_treatments(findings.study)).legend(None)
    return Drawing(
        f"Effect on {findings.primary.title}",
        f"Point: estimate; bar: {effects[0].level:.0%} interval, valid for all comparisons together and at every look;"
        " a bar that reaches the edge goes beyond it, and what is not known is not drawn.",
        charts.forest(rows, [row["label"] for row in rows], title, colours),
    )


def _over_blocks(findings: "Findings") -> Drawing | None:
    """The primary's values by block, a line a treatment."""
    import altair as alt

    from pgassay.report import charts

    rows, treatments, caption = _values(findings.trials, findings.primary), _treatments(findings.study), _BLOCKS
    if not rows:
        return None
    if len(rows) > charts.DOTS_MAX:
        rows, treatments, caption = charts.block_medians(rows), (charts.ALL_TREATMENTS,), _MEDIANS
    title = charts.wrapped(_axis_title(findings.trials, findings.primary), _HEIGHT)
    lines = (
        charts.chart_of(rows)
        .mark_line(point=True)
        .encode(
            x=alt.X("block:O", title="block (repetition)", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("value:Q", scale=alt.Scale(zero=False), title=title),
            color=charts.colour(treatments),
            shape=charts.shape(treatments),
            tooltip=["treatment:N", "block:Q", "trial:Q", alt.Tooltip("value:Q", format=",.4~g")],
        )
        .properties(width=charts.WIDTH, height=_HEIGHT)
    )
    name = f"{words.capital(findings.primary.title)} over the blocks"
    return Drawing(name, caption, _by_place(lines, findings.study, rows, "y"))


def _values(trials: Sequence[TrialRecord], response: Response) -> list[dict[str, Any]]:
    """A row a valid trial that has a value, in the unit of the axis."""
    valid = (trial for trial in trials if trial.status is Status.VALID)
    measured_values = [(trial, value) for trial in valid if (value := trial.responses.get(response.name)) is not None]
    divisor, _ = words.scale_of((value for _, value in measured_values), response)
    return [
        {
            "treatment": trial.treatment,
            "condition": words.place(trial.condition, trial.covariate),
            "block": trial.block,
            "trial": trial.number,
            "value": value / divisor,
        }
        for trial, value in measured_values
    ]


def _treatments(study: Study) -> tuple[str, ...]:
    return tuple(treatment.name for treatment in study.treatments)


def _axis_title(trials: Sequence[TrialRecord], response: Response) -> str:
    values = (trial.responses.get(response.name) for trial in trials if trial.status is Status.VALID)
    _, unit = words.scale_of((value for value in values if value is not None), response)
    return f"{response.title}, {unit}" if unit else response.title


def _format(response: Response) -> str:
    """How an axis writes its numbers: shares in per cent."""
    return "%" if response.unit == "share" else ",.10~r"


def _by_place(chart: Any, study: Study, rows: Sequence[Mapping[str, Any]], channel: str) -> Any:
    """A panel a place."""
    from pgassay.report.charts import apart, panels

    places = dict.fromkeys(arm.place.cell.name for arm in study.arms)
    if len(places) < 2:
        return chart
    faceted = chart.facet(row=panels("condition", tuple(places)))
    return faceted.resolve_scale(**{channel: "independent"}) if apart(rows, "condition") else faceted


def _spread_out(rows: Sequence[Mapping[str, Any]]) -> "alt.Scale":
    """From 0 on where values come near it: room to the left of the least would show values that cannot be."""
    import altair as alt

    least, most = min(row["value"] for row in rows), max(row["value"] for row in rows)
    near = 0.0 <= least < 0.1 * most
    return alt.Scale(zero=True, nice=True) if near else alt.Scale(zero=False, nice=True, padding=12)


def _plain(findings: "Findings") -> Mapping[str, object]:
    responses = (findings.primary, *findings.secondary)
    return {"summaries": {response.name: findings.summaries(response) for response in responses}}


SECTION = Section("measurements", "Measurements", _blocks, _plain, link="Measurements")
