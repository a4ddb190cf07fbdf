"""What was measured: every response's trials in a table, the primary's also over blocks and seconds.

Beyond `charts.DOTS_MAX` trials lines would hide each other: one of the blocks' medians stands for them.
"""

from collections.abc import Iterator
from statistics import median
from typing import TYPE_CHECKING, Any

from pgassay.report import formatting, seconds
from pgassay.report.answer import joined, phrase_of
from pgassay.report.section import Brief, Drawing, Figure, Part, Section, Table, Values
from pgassay.report.trials import grouped
from pgassay.study.responses import Response, Status

if TYPE_CHECKING:
    from pgassay.report.findings import Findings


_HEIGHT = 160
"""Pixels of a panel over the blocks."""
_ROUNDING = 1e-9
"""Values that differ by a smaller share say the same."""
_BLOCKS = "What moves all lines together is the machine; effects are taken inside each block, where it cancels."
_MEDIANS = "The median of all treatments in each block: what moves it is the machine, and cancels in effects."


def _describe(findings: "Findings") -> Iterator[Part]:
    every = tuple(dict.fromkeys((findings.primary, *findings.secondary)))
    yield Values({"summaries": {response.name: findings.summaries(response) for response in every}})
    yield Brief(f"medians, spread and every trial: {joined([phrase_of(each).name for each in every])}")
    yield summary(findings, findings.primary)
    bounded = any(each.effect.bounded for each in findings.verdicts)  # then the verdict has a figure
    yield Figure("over-blocks", lambda: _over_blocks(findings), key=0 if bounded else 3)
    yield Figure("per-second", lambda: seconds.drawing(findings))
    for response in findings.secondary:
        yield summary(findings, response)


def summary(findings: "Findings", response: Response) -> Table:
    """The published form of one response: average, deviation, least, median, greatest and number of trials."""
    primary, every = response.name == findings.study.primary, findings.summaries(response)
    rows = []
    for row in every if primary else [row for row in every if row.n] or every:
        place = row.place.name
        baseline = " (baseline)" if row.treatment and row.treatment == findings.baseline else ""
        average, stdev, *cells = formatting.quantities((row.avg, row.stdev, row.min, row.median, row.max), response)
        rows.append((f"{place}{baseline}", f"{average} ± {stdev}", *cells, str(row.n)))
    title = f"{formatting.titled(response)}{'' if primary else ' (secondary)'}"
    return Table(("treatment", "avg ± stdev", "min", "median", "max", "trials"), rows, title)


def _over_blocks(findings: "Findings") -> Drawing | None:
    """The primary of each valid trial; None where all are alike, or in a single block."""
    import altair as alt

    from pgassay.report import charts

    response, study = findings.primary, findings.study
    known = [
        (trial, value)
        for trial in findings.trials
        if trial.status is Status.VALID and (value := trial.responses.get(response.name)) is not None
    ]
    divisor, unit = formatting.scale_of((value for _, value in known), response)
    rows: list[dict[str, Any]] = [
        {
            "treatment": trial.treatment,
            "condition": formatting.place(trial.condition, trial.covariate),
            "block": trial.block,
            "trial": trial.number,
            "value": value / divisor,
        }
        for trial, value in known
    ]
    values = [row["value"] for row in rows]
    alike = not rows or max(values) - min(values) <= _ROUNDING * max(map(abs, values))
    if alike or len({row["block"] for row in rows}) < 2:
        return None
    treatments, caption = tuple(treatment.name for treatment in study.treatments), _BLOCKS
    if len(rows) > charts.DOTS_MAX:
        treatments, caption = ("median of all treatments",), _MEDIANS
        blocks = grouped(rows, lambda row: (row["block"], row["condition"]))
        rows = [
            {**mine[0], "treatment": treatments[0], "trial": None, "value": median(row["value"] for row in mine)}
            for mine in blocks.values()
        ]
    places = tuple(dict.fromkeys(arm.place.cell.name for arm in study.arms))
    free = len(places) > 1 and charts.apart(rows, "condition")
    domain = charts.domain_of(row["value"] for row in rows)
    scale = alt.Scale(zero=False) if free else alt.Scale(domain=domain, nice=False, zero=False)
    title = charts.wrapped(f"{response.title}, {unit}" if unit else response.title, _HEIGHT)
    axis = alt.Axis(format=",.10~r", grid=True)
    if response.unit == "share":
        axis = alt.Axis(labelExpr="format(datum.value * 100, ',.10~r') + ' %'", grid=True)
    line = alt.Chart().mark_line(point=alt.OverlayMarkDef(size=40))
    line = line.encode(
        x=alt.X("block:O", title="block (repetition)", axis=alt.Axis(labelAngle=0, grid=False)),
        y=alt.Y("value:Q", scale=scale, title=title, axis=axis),
        color=charts.colour(treatments),
        shape=charts.shape(treatments),
        tooltip=[charts.tip(each) for each in ("treatment:N", "block:Q", "trial:Q", "value:Q")],
    )
    chart = charts.layered([line], rows, _HEIGHT, "condition", places)
    name = f"{formatting.capital(response.title)} over the blocks{charts.by(treatments)}"
    return Drawing(name, caption, chart.resolve_scale(y="independent") if free else chart)


SECTION = Section("measurements", "Measurements", _describe, link="Measurements")
