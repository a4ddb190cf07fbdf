"""The per-second series of every trial as small multiples, one panel for a treatment in a condition.

A long run has more seconds than a page can carry: beyond `TRIALS_MAX` trials the last ones of each panel are shown,
beyond `POINTS_MAX` points in a trial their means over equal stretches; the caption of the page says which.
"""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import altair as alt

from pgassay.record.values import TrialRecord
from pgassay.report.courses import told
from pgassay.report.legends import WIDTH
from pgassay.report.style import apart, chart_of, panels

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

TRIALS_MAX = 120
POINTS_MAX = 240
POINTS_FOR_A_LINE = 3
"""A series shorter than this is marked by points, since a line needs two of them to be seen at all."""
SOURCE = "pgbench"
NAME = "tps"


def per_second(findings: "Findings") -> Any | None:
    """The chart_of, or None where no trial has a series of transactions per second."""
    if not told(findings.run.responses):
        return None
    names = _panels(findings)
    rows = rows_of(findings, names)
    if not rows:
        return None
    base = chart_of(rows).encode(
        x=alt.X("second:Q", title="seconds since the measured window began"),
        y=alt.Y("value:Q", title="tps"),
        detail="trial:N",
    )
    shades = alt.Scale(domain=["measured", "warm-up"], range=["#0072B2", "#aaaaaa"])
    shortest = min(Counter((row["trial"], row["phase"]) for row in rows).values())
    lines = base.mark_line(strokeWidth=1.1, opacity=0.75, point=shortest < POINTS_FOR_A_LINE).encode(
        color=alt.Color("phase:N", scale=shades, title=None, legend=alt.Legend(orient="top")),
        tooltip=["trial:Q", "block:Q", "second:Q", alt.Tooltip("value:Q", format=",.0f")],
    )
    faceted = lines.properties(width=WIDTH, height=110).facet(row=panels("panel", names))
    return faceted.resolve_scale(y="independent") if apart(rows, "panel") else faceted


def _panel(trial: TrialRecord) -> str:
    return trial.place.name


def _panels(findings: "Findings") -> tuple[str, ...]:
    """In the study's order, then whatever else was run."""
    return tuple(dict.fromkeys([*(arm.name for arm in findings.study.arms), *map(_panel, findings.trials)]))


def rows_of(findings: "Findings", names: Sequence[str]) -> list[dict[str, Any]]:
    """Points to draw: trial, panel, block, second, value, phase."""
    import polars as pl

    chosen = _chosen(findings, names)
    if not chosen:
        return []
    about = {trial.number: trial for trial in findings.trials if trial.number in chosen}
    table = findings.seconds.gather(
        lambda series: (
            series.filter(pl.col("trial").is_in(sorted(chosen)) & (pl.col("name") == NAME))
            .filter(pl.col("source").is_in([SOURCE, f"{SOURCE}_warmup"]))
            .select("trial", "source", "monotonic_ns", "value")
            .drop_nulls()
        )
    )
    rows: list[dict[str, Any]] = []
    for (number,), part in table.group_by("trial", maintain_order=True):
        measured = part.filter(pl.col("source") == SOURCE)
        if measured.is_empty():
            continue
        origin = int(str(measured["monotonic_ns"].min()))
        step = max(1, part.height // POINTS_MAX)
        thinned = part.with_columns(
            pl.col("monotonic_ns").sub(origin).truediv(1e9).alias("second"),
            pl.int_range(pl.len()).floordiv(step).over("source").alias("stretch"),
        )
        means = thinned.group_by("source", "stretch", maintain_order=True).agg(
            pl.col("second").mean(), pl.col("value").mean()
        )
        trial = about[int(str(number))]
        rows += [
            {
                "trial": trial.number,
                "panel": _panel(trial),
                "block": trial.block,
                "second": round(second, 2),
                "value": round(value, 1),
                "phase": "measured" if source == SOURCE else "warm-up",
            }
            for source, second, value in means.select("source", "second", "value").iter_rows()
        ]
    return rows


def _chosen(findings: "Findings", names: Sequence[str]) -> set[int]:
    share = max(1, TRIALS_MAX // max(1, len(names)))
    chosen: set[int] = set()
    numbers: dict[str, list[int]] = {}
    for trial in findings.trials:
        numbers.setdefault(_panel(trial), []).append(trial.number)
    for name in names:
        chosen.update(numbers.get(name, [])[-share:])
    return chosen
