"""Single latencies as figures: how they are distributed by treatment, and how that changes from second to second.

The distribution is drawn on a scale of nines (50 %, 90 %, 99 % …), as Tene's HdrHistogram plots do, so that the slow
ones, which users feel, take half of the figure. The heat map counts in bins of time and latency before anything is
embedded. Both need a load that keeps its latencies (pgbench and tpcc do); docs/record.md says where.
"""

from collections.abc import Mapping
from math import floor, log10
from typing import TYPE_CHECKING, Any

import numpy as np

from pgassay.record.latencies import Latencies, latencies
from pgassay.report import words
from pgassay.report.colours import HEAT
from pgassay.report.section import Drawing
from pgassay.study.drives import dilation
from pgassay.study.responses import Status

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

_HEIGHT, _MAP_HEIGHT = 200, 90
_NINES = {0.0: "0 %", 0.30103: "50 %", 1.0: "90 %", 2.0: "99 %", 3.0: "99.9 %", 4.0: "99.99 %", 5.0: "99.999 %"}
"""Minus the logarithm of the share that is slower, and how the axis names it."""
_STEP = 0.1
_BEHIND_MIN = 10
"""So many transactions must be slower for a quantile to be drawn: fewer say little about it."""
PER_DECADE = 10
"""Bins of the heat map, so each is 26 % wide."""
CELLS_MAX = 2000
"""Of a page's heat map, in all of its panels."""
_ROWS_GUESSED = 22
"""Bins of latency that a stretch of time fills."""
PANELS_MAX = 12
CLASSES = (1, 3, 10, 30, 100, 300)
"""Transactions a second in a bin from which the next colour begins."""
NOT_KEPT = "this load keeps no single latencies, so how they are distributed is not known beyond the quantiles above"


def kept(findings: "Findings") -> Mapping[int, Latencies]:
    """Valid trial to its latencies, where they were kept; by the drives' clock, where that is slower."""
    valid = [trial for trial in findings.trials if _valid(trial.status)]
    every = ((trial, latencies(findings.run, trial.number)) for trial in valid)
    return {trial.number: found.slowed(dilation(trial.levels)) for trial, found in every if found is not None}


def distribution(findings: "Findings") -> Drawing | str | None:
    """Latency by share of transactions, a line a treatment; a sentence where single latencies were not kept."""
    if not any(name.startswith("latency_p") for name in findings.responses):
        return None
    rows = rows_of(findings)
    if not rows:
        return NOT_KEPT
    import altair as alt

    from pgassay.report import charts

    treatments = tuple(each.name for each in findings.study.treatments)
    places = tuple(dict.fromkeys(str(row["condition"]) for row in rows))
    values = [row[each] for row in rows for each in ("low", "high")]
    most = max(row["nines"] for row in rows)
    domain = (min(values) / 1.1, max(values) * 1.1)
    beside = len(treatments) > 1 and charts.beside_lines(treatments)
    drawn = [{**row, "kind": "quantile"} for row in rows]
    for place in places if beside else ():
        ends = {row["treatment"]: log10(row["latency_ms"]) for row in rows if row["condition"] == place}
        labels = charts.end_labels(ends, (log10(domain[0]), log10(domain[1])), _HEIGHT)
        drawn += [{**label, "_at": 10 ** label["_at"], "condition": place} for label in labels]
    ticks = [each for each in _NINES if each <= most]
    named = " : ".join(f"abs(datum.value - {each}) < 0.01 ? '{name}'" for each, name in _NINES.items()) + " : ''"
    axis = alt.Axis(values=ticks, labelExpr=named, labelOverlap="greedy")
    x = alt.X(
        "nines:Q", title="share of transactions that took no longer", scale=alt.Scale(domain=[0, most]), axis=axis
    )
    scale = alt.Scale(type="log", domain=domain, nice=False)
    y = alt.Y("latency_ms:Q", title="latency, ms", scale=scale, axis=alt.Axis(format="~g", tickCount=6))
    shades = charts.colour(treatments, legend=len(treatments) > 1 and not beside)
    tips = [charts.tip("treatment:N"), charts.tip("share:N")]
    tips += [charts.tip(f"{each}:Q") for each in ("latency_ms", "low", "high", "trials")]
    base = charts.of_kind("quantile")
    layers = [
        base.mark_area(opacity=0.15).encode(x=x, y=alt.Y("low:Q", scale=scale), y2="high:Q", color=shades),
        base.mark_line(strokeWidth=2).encode(x=x, y=y, color=shades, tooltip=tips),
    ]
    if beside:
        layers.append(charts.end_texts(alt.Y("_at:Q", scale=scale), places))
    return Drawing(
        f"Distribution of latency{charts.by(treatments)}",
        "Line: the median of the trials' quantiles; shaded: from the least to the greatest of the trials. Half of the "
        "transactions are left of 50 %. Secondary.",
        charts.layered(layers, drawn, _HEIGHT, "condition", places),
    )


def rows_of(findings: "Findings") -> list[dict[str, Any]]:
    """A row for each treatment, place and quantile: the median of its trials and their ends, in ms."""
    by_place: dict[tuple[str, str], list[Latencies]] = {}
    found = findings.once(kept)
    for trial in findings.trials:
        if trial.number in found:
            spot = (trial.treatment, words.place(trial.condition, trial.covariate))
            by_place.setdefault(spot, []).append(found[trial.number])
    rows: list[dict[str, Any]] = []
    for (treatment, condition), mine in by_place.items():
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


def heat(findings: "Findings") -> Drawing | str | None:
    """Latency by time, as counts, a panel an arm; None where seconds were not kept or arms are too many."""
    cells = cells_of(findings)
    if not cells:
        return None
    import altair as alt

    from pgassay.report import charts

    panels = tuple(arm.name for arm in findings.study.arms if any(row["panel"] == arm.name for row in cells))
    wide = _width(findings)
    scale = alt.Scale(type="threshold", domain=list(CLASSES), range=list(HEAT))
    legend = alt.Legend(
        orient="top", columns=3, title="transactions a second and bin", type="symbol", symbolType="square"
    )
    base = alt.Chart().transform_calculate(
        end=f"datum.second + {wide}", upper=f"datum.latency_ms * {10 ** (1 / PER_DECADE)}"
    )
    tips = [charts.tip("second:Q"), charts.tip("latency_ms:Q", "latency from, ms"), charts.tip("transactions:Q")]
    y = alt.Y(
        "latency_ms:Q",
        title="latency, ms",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(format="~g", tickCount=4, grid=False),
    )
    x = alt.X("second:Q", title="seconds since the load began", axis=alt.Axis(grid=False, format="~g", tickMinStep=1))
    layer = base.mark_rect().encode(
        x=x, x2="end:Q", y=y, y2="upper:Q", color=alt.Color("transactions:Q", scale=scale, legend=legend), tooltip=tips
    )
    return Drawing(
        "Latency, second by second",
        "How many transactions took how long, means of the valid trials: darker is more (lighter on a dark page). A "
        "band that rises in all trials at once is a checkpoint; one that splits shows two kinds of transactions.",
        charts.layered([layer], cells, _MAP_HEIGHT, "panel", panels),
    )


def cells_of(findings: "Findings") -> list[dict[str, Any]]:
    """Filled bins of every arm: `second` and `latency_ms` of its lower corner, `transactions` a second and trial."""
    found = findings.once(kept)
    by_arm: dict[str, list[Latencies]] = {}
    for trial in findings.trials:
        if trial.number in found and found[trial.number].seconds:
            by_arm.setdefault(trial.arm, []).append(found[trial.number])
    if not 0 < len(by_arm) <= PANELS_MAX:
        return []
    wide = _width(findings)
    rows = []
    for arm, mine in by_arm.items():
        counts: dict[tuple[int, int], int] = {}
        for each in mine:
            for second, buckets in each.seconds[:-1] or each.seconds:  # the last second is cut short
                bins = np.floor(np.log10(np.maximum(buckets.middle_us, 1.0)) * PER_DECADE).astype(int)
                for bin_, count in zip(*_summed(bins, buckets.counts), strict=True):
                    cell = (floor(second / wide), int(bin_))
                    counts[cell] = counts.get(cell, 0) + int(count)
        rows += [
            {
                "panel": arm,
                "second": column * wide,
                "latency_ms": round(10 ** (bin_ / PER_DECADE) / 1e3, 6),
                "transactions": float(f"{count / len(mine) / wide:.3g}"),
            }
            for (column, bin_), count in sorted(counts.items())
        ]
    return rows


def _summed(bins: Any, counts: Any) -> tuple[Any, Any]:
    """Counts of equal bins together; bins are in rising order."""
    if not bins.size:
        return bins, counts
    starts = np.flatnonzero(np.diff(bins, prepend=bins[0] - 1))
    return bins[starts], np.add.reduceat(counts, starts)


def _width(findings: "Findings") -> int:
    """Seconds that a column of the heat map stands for, so that all panels together stay small."""
    found = findings.once(kept)
    longest = max((len(each.seconds) * each.interval_s for each in found.values()), default=1.0)
    arms = len({trial.arm for trial in findings.trials if trial.number in found})
    columns = max(10, CELLS_MAX // (_ROWS_GUESSED * max(1, arms)))
    return max(1, -int(-longest // columns))


def _valid(status: Status) -> bool:
    return status is Status.VALID
