"""What was measured: every response's trials in a table and a figure, the primary's also over blocks and seconds.

Beyond `charts.DOTS_MAX` trials dots would hide each other: the table stands for them, and one line for the blocks'
medians.

Single latencies are drawn on a scale of nines (50 %, 90 %, 99 % …), as Tene's HdrHistogram plots do, so that the slow
ones, which users feel, take half of the figure. It needs a load that keeps its latencies (pgbench and tpcc do);
docs/record.md says where.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import floor, log10
from typing import TYPE_CHECKING, Any

import numpy as np

from pgassay.analysis.numbers import per_cent
from pgassay.record.latencies import Latencies, latencies
from pgassay.record.values import TrialRecord
from pgassay.report import formatting, seconds, turns
from pgassay.report.answer import joined, phrase_of
from pgassay.report.colours import INK
from pgassay.report.section import Brief, Drawing, Figure, Part, Section, Table, Values
from pgassay.report.trials import grouped
from pgassay.study.drives import dilation
from pgassay.study.model import Study
from pgassay.study.responses import Response, Status
from pgassay.study.work import COUNTED

if TYPE_CHECKING:
    import altair as alt

    from pgassay.report.findings import Findings

_LATENCY_HEIGHT = 200
_NINES = {0.0: "0 %", 0.30103: "50 %", 1.0: "90 %", 2.0: "99 %", 3.0: "99.9 %", 4.0: "99.99 %", 5.0: "99.999 %"}
"""Minus the logarithm of the share that is slower, and how the axis names it."""
_STEP = 0.1
_BEHIND_MIN = 10
"""So many transactions must be slower for a quantile to be drawn: fewer say little about it."""
NOT_KEPT = "this load keeps no single latencies, so how they are distributed is not known beyond the quantiles above"


def latencies_of(findings: "Findings") -> Mapping[int, Latencies]:
    """Valid trial to its latencies, where they were kept; by the drives' clock, where that is slower.

    None of a trial whose instructions were counted, which makes all times long.
    """
    valid = [each for each in findings.trials if each.status is Status.VALID and COUNTED not in each.regime]
    every = ((trial, latencies(findings.run, trial.number)) for trial in valid)
    return {trial.number: found.slowed(dilation(trial.levels)) for trial, found in every if found is not None}


def latency_distribution(findings: "Findings") -> Drawing | str | None:
    """Latency by share of transactions, a line a treatment; a sentence where single latencies were not kept."""
    if findings.counted or not any(name.startswith("latency_p") for name in findings.responses):
        return None
    rows = latency_rows(findings)
    if not rows:
        return NOT_KEPT
    import altair as alt

    from pgassay.report import charts

    treatments = tuple(each.name for each in findings.study.treatments)
    places = tuple(dict.fromkeys(str(row["condition"]) for row in rows))
    values = [row[each] for row in rows for each in ("low", "high")]
    most = max(row["nines"] for row in rows)
    domain = (min(values) / 1.1, max(values) * 1.1)
    ticks = [each for each in _NINES if each <= most]
    named = " : ".join(f"abs(datum.value - {each}) < 0.01 ? '{name}'" for each, name in _NINES.items()) + " : ''"
    axis = alt.Axis(values=ticks, labelExpr=named, labelOverlap="greedy")
    x = alt.X(
        "nines:Q", title="share of transactions that took no longer", scale=alt.Scale(domain=[0, most]), axis=axis
    )
    scale = alt.Scale(type="log", domain=domain, nice=False)
    y = alt.Y("latency_ms:Q", title="latency, ms", scale=scale, axis=alt.Axis(format="~g", tickCount=6))
    shades = charts.colour(treatments)
    tips = [charts.tip("treatment:N"), charts.tip("share:N")]
    tips += [charts.tip(f"{each}:Q") for each in ("latency_ms", "low", "high", "trials")]
    base = alt.Chart()
    layers = [
        base.mark_area(opacity=0.15).encode(x=x, y=alt.Y("low:Q", scale=scale), y2="high:Q", color=shades),
        base.mark_line(strokeWidth=2).encode(x=x, y=y, color=shades, tooltip=tips),
    ]
    return Drawing(
        f"Distribution of latency{charts.by(treatments)}",
        "Line: the median of the trials' quantiles; shaded: from the least to the greatest of the trials. Half of the "
        "transactions are left of 50 %. Secondary.",
        charts.layered(layers, rows, _LATENCY_HEIGHT, "condition", places),
    )


def latency_rows(findings: "Findings") -> list[dict[str, Any]]:
    """A row for each treatment, place and quantile: the median of its trials and their ends, in ms."""
    found = findings.once(latencies_of)
    known = (trial for trial in findings.trials if trial.number in found)
    by_place = grouped(known, lambda trial: (trial.treatment, formatting.place(trial.condition, trial.covariate)))
    rows: list[dict[str, Any]] = []
    for (treatment, condition), trials in by_place.items():
        mine = [found[trial.number] for trial in trials]
        fewest = min(int(each.whole.counts.sum()) for each in mine)
        last = floor(log10(fewest / _BEHIND_MIN) / _STEP) if fewest > _BEHIND_MIN else 0
        for nines in (step * _STEP for step in range(last + 1)):
            share = 1.0 - 10.0**-nines
            values = [each.whole.quantile_us(share) / 1e3 for each in mine]
            rows.append(
                {
                    "treatment": treatment, "condition": condition, "nines": round(nines, 3),
                    "share": f"{share * 100:.6g} %", "latency_ms": float(np.median(values)), "low": min(values),
                    "high": max(values), "trials": len(values),
                }
            )  # fmt: skip
    return [row for row in rows if row["low"] > 0.0]


_HEIGHT, _BAND = 160, 60
"""Pixels of a panel over the blocks, and of a treatment with its dots."""
_NAME_LETTERS = 24
"""Of a line of a treatment's name next to its dots."""
_DOTS = "Each dot is a trial, the first block on top; the bar is the median."
_BLOCKS = "What moves all lines together is the machine; effects are taken inside each block, where it cancels."
_MEDIANS = "The median of all treatments in each block: what moves it is the machine, and cancels in effects."


def _describe(findings: "Findings") -> Iterator[Part]:
    every = tuple(dict.fromkeys((findings.primary, *findings.secondary)))
    yield Values({"summaries": {response.name: findings.summaries(response) for response in every}})
    yield Brief(f"medians, spread and every trial: {joined([phrase_of(each).name for each in every])}")
    yield summary(findings, findings.primary)
    bounded = any(each.effect.bounded for each in findings.verdicts)  # then the verdict has a figure
    if not bounded:
        yield Figure("distribution", lambda: distribution(findings, findings.primary), key=3)
    yield Figure("over-blocks", lambda: _over_blocks(findings))
    yield Figure("latency-distribution", lambda: latency_distribution(findings))
    if not findings.once(turns.slices_of).played:  # else its seconds are slices, each drawn in what the machine did
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


def distribution(findings: "Findings", response: Response) -> Drawing | str | None:
    """Every valid trial's value by treatment, a panel for each condition and covariate point; None without any.

    None, too, of more than `charts.DOTS_MAX`.
    """
    from pgassay.report import charts

    rows = _values(findings.trials, response)
    if not rows or len(rows) > charts.DOTS_MAX:
        return None
    if constant(row["value"] for row in rows):
        return f"{formatting.titled(response, '')}: {_shown(findings, rows[0]['value'], response)} in every valid trial"
    treatments, places = _treatments(findings.study), _places(findings.study)
    if len(treatments) == 1 < len(places):  # places are compared then, on one axis
        rows = [{**row, "treatment": row["condition"], "condition": ""} for row in rows]
        treatments, places = places, ("",)
    name = f"{formatting.capital(response.title)} of every trial{charts.by(treatments)}"
    medians = charts.medians(rows)
    shown = {spot: f"median {_shown(findings, value, response)}" for spot, value in medians.items()}
    title = charts.wrapped(_axis_title(findings.trials, response), charts.NARROW)
    x = {"title": title, "scale": _spread_out(rows, response), "axis": _axis(response, grid=False)}
    chart = _dots(rows, treatments, places, x, shown)
    free = len({row["condition"] for row in rows}) > 1 and charts.apart(rows, "condition")
    return Drawing(name, _DOTS, chart.resolve_scale(x="independent") if free else chart)


def _dots(
    rows: Sequence[Mapping[str, Any]],
    treatments: tuple[str, ...],
    places: Sequence[str],
    x: Mapping[str, Any],
    shown: Mapping[tuple[str, str], str],
) -> Any:
    """A dot a trial, one block below the other in its treatment's row, and a bar at the median."""
    import altair as alt

    from pgassay.report import charts

    drawn = [{**row, "kind": "trial"} for row in rows]
    drawn += [
        {"kind": "median", "treatment": name, "condition": place, "value": value, "text": shown[name, place]}
        for (name, place), value in charts.medians(rows).items()
    ]
    expression = charts.wrapping(treatments, _NAME_LETTERS)
    names: dict[str, Any] = {"labelExpr": expression} if expression else {}
    axis = alt.Axis(labelOverlap=False, **names)
    y = alt.Y("treatment:N", title=None, sort=list(treatments), axis=axis, scale=alt.Scale(padding=0.4))
    dots = charts.of_kind("trial").mark_circle(size=55, opacity=0.8)
    bars = charts.of_kind("median").mark_tick(thickness=2, size=_BAND - 18, color=INK, orient="vertical")
    texts = charts.of_kind("median").mark_text(dy=-_BAND / 2, baseline="middle")
    layers = [
        dots.encode(
            x=alt.X("value:Q", **x),
            y=y,
            yOffset=alt.YOffset("block:O"),
            color=charts.colour(treatments, legend=False),
            tooltip=[charts.tip(each) for each in ("treatment:N", "block:Q", "trial:Q", "value:Q")],
        ),
        bars.encode(x=alt.X("value:Q", **x), y=y),
        texts.encode(x=alt.X("value:Q", **x), y=y, text="text:N"),
    ]
    return charts.layered(layers, drawn, _BAND * len(treatments), "condition", places)


def _over_blocks(findings: "Findings") -> Drawing | str | None:
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
    scale = alt.Scale(zero=False) if free else alt.Scale(domain=domain, nice=False, zero=False)
    title = charts.wrapped(_axis_title(findings.trials, findings.primary), _HEIGHT)
    axis = _axis(findings.primary)
    lines = alt.Chart().mark_line(point=alt.OverlayMarkDef(size=40))
    blocks = alt.X("block:O", title="block (repetition)", axis=alt.Axis(labelAngle=0, grid=False))
    layers = [
        lines.encode(
            x=blocks,
            y=alt.Y("value:Q", scale=scale, title=title, axis=axis),
            color=charts.colour(treatments),
            shape=charts.shape(treatments),
            tooltip=[charts.tip(each) for each in ("treatment:N", "block:Q", "trial:Q", "value:Q")],
        )
    ]
    chart = charts.layered(layers, rows, _HEIGHT, "condition", places)
    name = f"{formatting.capital(findings.primary.title)} over the blocks{charts.by(treatments)}"
    return Drawing(name, caption, chart.resolve_scale(y="independent") if free else chart)


def constant(values: Iterable[float]) -> bool:
    """Do all values say the same? Then a sentence says it, and no figure."""
    known = list(values)
    return max(known) - min(known) <= 1e-9 * max(map(abs, known))


def _values(trials: Sequence[TrialRecord], response: Response) -> list[dict[str, Any]]:
    valid = (trial for trial in trials if trial.status is Status.VALID)
    measured_values = [(trial, value) for trial in valid if (value := trial.responses.get(response.name)) is not None]
    divisor, _ = formatting.scale_of((value for _, value in measured_values), response)
    return [
        {
            "treatment": trial.treatment,
            "condition": formatting.place(trial.condition, trial.covariate),
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
    return formatting.scale_of((value for value in values if value is not None), response)


def _shown(findings: "Findings", value: float, response: Response) -> str:
    """A value in the unit of its axis, with that unit."""
    if response.unit == "share":
        return per_cent(value, 1)
    _, unit = _scale(findings.trials, response)
    return f"{formatting.number(value)} {unit}".strip() if unit != "1/s" else formatting.number(value)


def _axis(response: Response, *, grid: bool = True) -> "alt.Axis":
    """How an axis writes its numbers: shares in per cent. Without `grid` where labels stand inside the plot."""
    import altair as alt

    if response.unit == "share":
        return alt.Axis(labelExpr="format(datum.value * 100, ',.10~r') + ' %'", grid=grid)
    return alt.Axis(format=",.10~r", grid=grid)


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


SECTION = Section("measurements", "Measurements", _describe, link="Measurements")
