"""What was measured: every response's trials in a table and a figure, the primary's also over blocks and seconds.

Beyond `charts.DOTS_MAX` trials dots would hide each other: boxes stand for them, and one line for the blocks' medians.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pgassay.analysis.numbers import per_cent
from pgassay.record.values import TrialRecord
from pgassay.report import latencies, seconds, turns, words
from pgassay.report.case import joined
from pgassay.report.colours import INK
from pgassay.report.phrases import of
from pgassay.report.section import Block, Drawing, Figure, Section, Table
from pgassay.report.trials import measured
from pgassay.study.model import Study
from pgassay.study.responses import Response, Status

if TYPE_CHECKING:
    import altair as alt

    from pgassay.report.findings import Findings

_HEIGHT, _BAND = 160, 36
"""Pixels of a panel over the blocks, and of a treatment with its dots."""
_DOTS = "Each dot is a trial, the first block on top; the bar is the median."
_BOXES = (
    "The middle half of the trials, their median, and whiskers to 1.5 times the box: too many trials for a dot each."
)
_BLOCKS = "What moves all lines together is the machine; effects are taken inside each block, where it cancels."
_MEDIANS = "The median of all treatments in each block: what moves it is the machine, and cancels in effects."


def _blocks(findings: "Findings") -> Iterator[Block]:
    yield summary(findings, findings.primary)
    bounded = any(each.effect.bounded for each in findings.verdicts)  # then the verdict has a figure
    if not bounded:
        yield Figure("distribution", lambda: distribution(findings, findings.primary), key=3)
    yield Figure("over-blocks", lambda: _over_blocks(findings))
    yield Figure("latency-distribution", lambda: latencies.distribution(findings))
    if not findings.once(turns.slices_of).played:  # else its seconds are slices, each drawn in what the machine did
        yield Figure("per-second", lambda: seconds.drawing(findings))
        yield Figure("latency-per-second", lambda: latencies.heat(findings))
    for response in findings.secondary:
        yield summary(findings, response)


def summary(findings: "Findings", response: Response) -> Table:
    """The published form of one response: average, deviation, least, median, greatest and number of trials."""
    primary = response.name == findings.study.primary
    rows = []
    for row in measured(findings.summaries(response), primary=primary):
        place = row.place.name
        baseline = " (baseline)" if row.treatment and row.treatment == findings.baseline else ""
        average, stdev, *cells = words.quantities((row.avg, row.stdev, row.min, row.median, row.max), response)
        rows.append((f"{place}{baseline}", f"{average} ± {stdev}", *cells, str(row.n)))
    title = f"{words.titled(response)}{'' if primary else ' (secondary)'}"
    return Table(("treatment", "avg ± stdev", "min", "median", "max", "trials"), rows, title)


def distribution(findings: "Findings", response: Response) -> Drawing | str | None:
    """Every valid trial's value by treatment, a panel for each condition and covariate point; None without any."""
    from pgassay.report import charts
    from pgassay.report.boxes import boxes

    rows = _values(findings.trials, response)
    if not rows:
        return None
    if constant(row["value"] for row in rows):
        return f"{words.titled(response, '')}: {_shown(findings, rows[0]['value'], response)} in every valid trial"
    treatments, places = _treatments(findings.study), _places(findings.study)
    if len(treatments) == 1 < len(places):  # places are compared then, on one axis
        rows = [{**row, "treatment": row["condition"], "condition": ""} for row in rows]
        treatments, places = places, ("",)
    name = f"{words.capital(response.title)} of every trial{charts.by(treatments)}"
    medians = charts.medians(rows)
    shown = {spot: f"median {_shown(findings, value, response)}" for spot, value in medians.items()}
    title = charts.wrapped(_axis_title(findings.trials, response), charts.NARROW)
    x = {"title": title, "scale": _spread_out(rows, response), "axis": _axis(response, grid=False)}
    if len(rows) > charts.DOTS_MAX:
        chart = boxes(rows, treatments, places, x, shown)
        return Drawing(name, _BOXES, _free(chart, rows, "x"))
    return Drawing(name, _DOTS, _free(_dots(rows, treatments, places, x, shown), rows, "x"))


def _dots(
    rows: Sequence[Mapping[str, Any]],
    treatments: tuple[str, ...],
    places: Sequence[str],
    x: Mapping[str, Any],
    shown: Mapping[tuple[str, str], str],
) -> Any:
    """A dot a trial, one block below the other, and a bar at the median; the treatment's name above them."""
    import altair as alt

    from pgassay.report import charts

    blocks = max(row["block"] for row in rows)
    band = _BAND if blocks > 1 else _BAND / 2
    lines, height = charts.labelled_rows(charts.longest(treatments, shown), band)
    drawn = [
        {**row, "kind": "trial", "_y": lines[row["treatment"]].mark_y + band * ((row["block"] - 0.5) / blocks - 0.5)}
        for row in rows
    ]
    for (name, place), value in charts.medians(rows).items():
        line = lines[name]
        drawn.append(
            {
                "kind": "median", "treatment": name, "condition": place, "value": value, "text": shown[name, place],
                "_label": line.label, "_label_y": line.label_y, "_text_y": line.text_y, "_y": line.mark_y,
            }
        )  # fmt: skip
    y = charts.down("_y", height)
    dots = charts.of_kind("trial").mark_circle(size=55, opacity=0.8)
    bars = charts.of_kind("median").mark_tick(thickness=2, size=band + 2, color=INK, orient="vertical")
    layers = [
        dots.encode(
            x=alt.X("value:Q", **x),
            y=y,
            color=charts.colour(treatments, legend=False),
            tooltip=[charts.tip(each) for each in ("treatment:N", "block:Q", "trial:Q", "value:Q")],
        ),
        bars.encode(x=alt.X("value:Q", **x), y=y),
        *charts.row_texts(charts.of_kind("median"), height, places),
    ]
    return charts.layered(layers, drawn, height, "condition", places)


def _over_blocks(findings: "Findings") -> Drawing | str | None:
    """The primary's values by block, a line a treatment."""
    import altair as alt

    from pgassay.report import charts

    rows, treatments, caption = _values(findings.trials, findings.primary), _treatments(findings.study), _BLOCKS
    if not rows or constant(row["value"] for row in rows) or len({row["block"] for row in rows}) < 2:
        return None  # the distribution says all of it
    if len(rows) > charts.DOTS_MAX:
        rows, treatments, caption = charts.block_medians(rows), (charts.ALL_TREATMENTS,), _MEDIANS
    places = _places(findings.study)
    free = len(places) > 1 and charts.apart(rows, "condition")
    domain = charts.domain_of(row["value"] for row in rows)
    named = len(treatments) > 1 and not free and charts.beside_lines(treatments)
    drawn = [{**row, "kind": "trial"} for row in rows]
    for place in places if named else ():
        here = [row for row in rows if row["condition"] == place]
        ends = {row["treatment"]: row["value"] for row in sorted(here, key=lambda row: int(row["block"]))}
        drawn += [{**label, "condition": place} for label in charts.end_labels(ends, domain, _HEIGHT)]
    scale = alt.Scale(zero=False) if free else alt.Scale(domain=domain, nice=False, zero=False)
    title = charts.wrapped(_axis_title(findings.trials, findings.primary), _HEIGHT)
    axis = _axis(findings.primary)
    lines = charts.of_kind("trial").mark_line(point=alt.OverlayMarkDef(size=40))
    blocks = alt.X("block:O", title="block (repetition)", axis=alt.Axis(labelAngle=0, grid=False))
    layers = [
        lines.encode(
            x=blocks,
            y=alt.Y("value:Q", scale=scale, title=title, axis=axis),
            color=charts.colour(treatments, legend=not named),
            shape=charts.shape(treatments),
            tooltip=[charts.tip(each) for each in ("treatment:N", "block:Q", "trial:Q", "value:Q")],
        )
    ]
    if named:
        layers.append(charts.end_texts(alt.Y("_at:Q", scale=scale), places))
    chart = charts.layered(layers, drawn, _HEIGHT, "condition", places)
    name = f"{words.capital(findings.primary.title)} over the blocks{charts.by(treatments)}"
    return Drawing(name, caption, chart.resolve_scale(y="independent") if free else chart)


def constant(values: Iterable[float]) -> bool:
    """Do all values say the same? Then a sentence says it, and no figure."""
    known = list(values)
    return max(known) - min(known) <= 1e-9 * max(map(abs, known))


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


def _places(study: Study) -> tuple[str, ...]:
    return tuple(dict.fromkeys(arm.place.cell.name for arm in study.arms))


def _axis_title(trials: Sequence[TrialRecord], response: Response) -> str:
    _, unit = _scale(trials, response)
    return f"{response.title}, {unit}" if unit else response.title


def _scale(trials: Sequence[TrialRecord], response: Response) -> tuple[float, str]:
    values = (trial.responses.get(response.name) for trial in trials if trial.status is Status.VALID)
    return words.scale_of((value for value in values if value is not None), response)


def _shown(findings: "Findings", value: float, response: Response) -> str:
    """A value in the unit of its axis, with that unit."""
    if response.unit == "share":
        return per_cent(value, 1)
    _, unit = _scale(findings.trials, response)
    return f"{words.number(value)} {unit}".strip() if unit != "1/s" else words.number(value)


def _axis(response: Response, *, grid: bool = True) -> "alt.Axis":
    """How an axis writes its numbers: shares in per cent. Without `grid` where labels stand inside the plot."""
    import altair as alt

    if response.unit == "share":
        return alt.Axis(labelExpr="format(datum.value * 100, ',.10~r') + ' %'", grid=grid)
    return alt.Axis(format=",.10~r", grid=grid)


def _free(chart: Any, rows: Sequence[Mapping[str, Any]], channel: str) -> Any:
    """Panels with axes of their own where a common one would flatten some."""
    from pgassay.report.charts import apart

    several = len({row["condition"] for row in rows}) > 1
    return chart.resolve_scale(**{channel: "independent"}) if several and apart(rows, "condition") else chart


def _spread_out(rows: Sequence[Mapping[str, Any]], response: Response) -> "alt.Scale":
    """From 0 on where values come near it, and of shares to all at most: no room for values that cannot be."""
    import altair as alt

    from pgassay.report import charts

    if response.unit == "share":
        low, high = charts.domain_of(row["value"] for row in rows)
        return alt.Scale(domain=(max(0.0, low), min(1.0, high)), nice=False, zero=False)
    least, most = min(row["value"] for row in rows), max(row["value"] for row in rows)
    near = 0.0 <= least < 0.1 * most
    return alt.Scale(zero=True, nice=True) if near else alt.Scale(zero=False, nice=True, padding=12)


def _plain(findings: "Findings") -> Mapping[str, object]:
    responses = (findings.primary, *findings.secondary)
    return {"summaries": {response.name: findings.summaries(response) for response in responses}}


def _brief(findings: "Findings") -> str:
    named = joined([of(each).name for each in dict.fromkeys((findings.primary, *findings.secondary))])
    return f"medians, spread and every trial: {named}"


SECTION = Section("measurements", "Measurements", _blocks, _plain, link="Measurements", brief=_brief)
