"""The trials second by second: how each went, what of it a reader should distrust, and the figure of all of them.

The record says how a trial went since trials are judged when they are committed; older ones are judged here, all in one
pass over the series. A trial's result does not hang on its series, so one that is cut or missing takes nothing from a
verdict; but a line missing from a figure, or an unknown course, has to be reported.

A long run has more seconds than a page can carry: beyond `TRIALS_MAX` trials the last ones of each panel are shown,
beyond `POINTS_MAX` points in a trial their means over equal stretches.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pgassay.analysis.numbers import plural
from pgassay.analysis.seconds import BATCH_S, LEAST_BATCHES, UNKNOWN, Steadiness, TrialCourse, courses_of_samples
from pgassay.record.reading import Run
from pgassay.record.values import TrialRecord
from pgassay.report.section import Drawing
from pgassay.report.vega import GREY, PALETTE, SOFT
from pgassay.study.responses import Response, Status
from pgassay.study.work import COUNTED

if TYPE_CHECKING:
    import polars as pl

    from pgassay.report.findings import Findings

    Gather = Callable[[Callable[[pl.LazyFrame], pl.LazyFrame]], pl.DataFrame]

TPS = "tps"
WARM_UP = "_warmup"
NAMED_MAX = 12
"""A sentence names no more trials than this."""
TRIALS_MAX = 120
POINTS_MAX = 240
MEASURED, WARMING_UP = "measured", "warm-up"
LEFT_OUT: Mapping[Status, str] = {Status.INVALID: "discarded trial", Status.OUTCOME: "failed trial"}
"""Trials that are drawn, marked, although they do not count."""
_SHADES = {MEASURED: PALETTE[0], WARMING_UP: GREY, "discarded trial": PALETTE[1], "failed trial": PALETTE[3]}
_DASHES = {MEASURED: [1, 0], WARMING_UP: [1, 0], "discarded trial": [5, 3], "failed trial": [2, 2]}
POINTS_FOR_A_LINE = 3
"""A series shorter than this is marked by points, since a line needs two of them to be seen at all."""
SLICES = "slices"
SOURCES = ("pgbench", SLICES)
"""Of the series that are drawn: a load's own seconds, or the slices of a server that took turns."""
_HEIGHT = 110


@dataclass(eq=False)
class Seconds:
    """Of one run; remembers which trials' series could not be read."""

    run: Run
    _unread: dict[int, str] = field(default_factory=dict, init=False)

    def gather(self, query: "Callable[[pl.LazyFrame], pl.LazyFrame]") -> "pl.DataFrame":
        """What a query gives on all series, see `Run.gather`."""
        table, unread = self.run.gather(query)
        self._unread |= dict(unread)
        return table

    @property
    def unread(self) -> tuple[str, ...]:
        """What was asked of the record so far, cannot be read and is left out, a sentence each."""
        lost = dict(self.run.left_out)
        series = (each for each in sorted(self._unread.items()) if each[0] not in lost)
        return (
            *(unread_trial(*each) for each in self.run.left_out),
            *(
                f"the seconds of trial {number} cannot be read, so its course is not known: {reason}"
                for number, reason in series
            ),
        )


MEANINGS: Mapping[Steadiness, str] = {
    Steadiness.WARMING: "were still warming up in their window: set a longer load.warmup",
    Steadiness.SLOWING: "slowed down in their window and stayed slower: their first speed does not last",
    Steadiness.DRIFTING: "drifted throughout their window: they had no steady state to measure",
    Steadiness.CYCLIC: "went up and down in cycles, as with checkpoints: windows must cover whole cycles",
    Steadiness.UNSETTLED: "jumped between levels",
    Steadiness.UNKNOWN: "have too few values a second to judge whether they were steady",
}
TOO_SHORT = "are too short (below 30 s) to judge whether they were steady"


def courses_of(trials: Sequence[TrialRecord], gather: "Gather | None") -> Mapping[int, TrialCourse]:
    """Trial number to its course, for every committed trial; `gather` answers a query on all series.

    None where the load tells no seconds: there is nothing to read then.
    """
    known = {trial.number: course for trial in trials if (course := _recorded(trial)) is not None}
    missing = [trial.number for trial in trials if trial.number not in known]
    judged = _judged(gather, missing, every=not known) if missing and gather else {}
    return {trial.number: known.get(trial.number) or judged.get(trial.number, UNKNOWN) for trial in trials}


def has_seconds(responses: Iterable[Response]) -> bool:
    """Does the load record transactions per second at all?"""
    return any(response.name == TPS for response in responses)


def warnings(
    trials: Sequence[TrialRecord], courses: Mapping[int, TrialCourse], responses: Iterable[Response]
) -> Iterator[str]:
    """A sentence for each class but flat, about the trials that count; none for a load without a series per second."""
    if not has_seconds(responses):
        return
    valid = [each.number for each in trials if each.status is Status.VALID and COUNTED not in each.regime]
    lengths = {each.number: each.regime.get("window_s") for each in trials}
    least = LEAST_BATCHES * BATCH_S
    short = [number for number, each in lengths.items() if isinstance(each, int | float) and 0.0 < each < least]
    found = {
        meaning: [number for number in valid if courses[number].kind is kind] for kind, meaning in MEANINGS.items()
    }
    unknown = found.pop(MEANINGS[Steadiness.UNKNOWN])
    found[TOO_SHORT] = [number for number in unknown if number in short]
    found[MEANINGS[Steadiness.UNKNOWN]] = [number for number in unknown if number not in short]
    for meaning, numbers in found.items():
        if not numbers:
            continue
        if len(numbers) == len(valid):
            yield f"all valid trials ({len(valid)}) {meaning}"
        else:
            named = ", ".join(map(str, numbers[:NAMED_MAX])) + (", …" if len(numbers) > NAMED_MAX else "")
            yield f"{len(numbers)} of {len(valid)} valid trials ({named}) {meaning}"


def _recorded(trial: TrialRecord) -> TrialCourse | None:
    kind = trial.regime.get("steadiness")
    if not isinstance(kind, str) or kind not in list(Steadiness):
        return None
    numbers = [trial.regime.get(name) for name in ("truncation_s", "tps_error", "cycle_s")]
    truncation_s, error, cycle_s = (float(each) if isinstance(each, int | float) else None for each in numbers)
    return TrialCourse(Steadiness(kind), truncation_s, error, cycle_s)


def _judged(gather: "Gather", numbers: Sequence[int], *, every: bool) -> dict[int, TrialCourse]:
    import polars as pl

    wanted = pl.col("name") == TPS
    if not every:
        wanted &= pl.col("trial").is_in(list(numbers))
    rows = gather(lambda series: series.filter(wanted).select("trial", "monotonic_ns", "source", "value"))
    table = rows.filter(~pl.col("source").str.ends_with(WARM_UP))  # apart: costly on all rows, cheap on these
    table = table.drop_nulls(["trial", "monotonic_ns"])  # of no trial, or of no moment: only a forged record has such
    values = table["value"].fill_null(float("nan")).to_numpy()
    return courses_of_samples(table["trial"].to_numpy(), table["monotonic_ns"].to_numpy(), values)


def drawing(findings: "Findings") -> Drawing | None:
    """Transactions per second as small multiples, a panel a treatment; None where no trial has a series of them."""
    if not has_seconds(findings.run.responses):
        return None
    import altair as alt

    from pgassay.report import charts

    names = [arm.name for arm in findings.study.arms]
    names = list(dict.fromkeys([*names, *(trial.place.name for trial in findings.trials)]))
    rows = rows_of(findings.trials, findings.seconds, names)
    if not rows:
        return None
    drawn = [{**row, "kind": "second"} for row in rows] + _notes(rows)
    shown = tuple(name for name in names if any(row["panel"] == name for row in rows))
    seen = {str(row["phase"]) for row in rows}
    kinds = [each for each in _SHADES if each in seen]
    shades = alt.Scale(domain=kinds, range=[_SHADES[each] for each in kinds])
    dashes = alt.Scale(domain=kinds, range=[_DASHES[each] for each in kinds])
    shortest = min(Counter((row["trial"], row["phase"]) for row in rows).values())
    x = alt.X(
        "second:Q",
        title="seconds since the measured window began",
        axis=alt.Axis(grid=False, format="~g", tickMinStep=1),
    )
    y = alt.Y("value:Q", title="tps", axis=alt.Axis(tickCount=4), scale=alt.Scale(zero=True))
    lines = charts.of_kind("second").mark_line(strokeWidth=1.1, opacity=0.75, point=shortest < POINTS_FOR_A_LINE)
    began = charts.of_kind("began").mark_rule(color=GREY, strokeDash=[2, 3])
    notes = charts.of_kind("note").mark_text(align="right", baseline="bottom", dy=-3, color=SOFT, fontSize=11)
    layers = [
        began.encode(x=x),
        lines.encode(
            x=x,
            y=y,
            detail="trial:N",
            color=alt.Color("phase:N", scale=shades, legend=None),
            strokeDash=alt.StrokeDash("phase:N", scale=dashes, legend=None),
            tooltip=[charts.tip(each) for each in ("trial:N", "block:N", "phase:N", "second:Q", "value:Q")],
        ),
        notes.encode(x=x, y=y, text="name:N"),
    ]
    chart = charts.layered(layers, drawn, _HEIGHT, "panel", shown)
    dips = "Dips that recur are checkpoints."
    if any(row["slices"] for row in rows):
        dips = "Where servers took turns, a point is a slice: between two of them the other servers had their turns."
    counts = Counter(phase for _, phase in {(row["trial"], str(row["phase"])) for row in rows})
    left_out = [f"{counts[each]} {plural(each, counts[each])}" for each in LEFT_OUT.values() if counts[each]]
    marked = f"Dashed, not counted: {' and '.join(left_out)}. " if left_out else ""
    return Drawing(
        "Transactions per second, second by second",
        f"Every trial is a line; grey: the warm-up, kept and marked. {marked}{dips}",
        chart.resolve_scale(y="independent") if len(shown) > 1 and charts.apart(rows, "panel") else chart,
    )


def _notes(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Where each panel's window begins, if a warm-up is drawn, and the names of lines that do not count."""
    warmed = dict.fromkeys(row["panel"] for row in rows if row["phase"] == WARMING_UP)
    found = [{"kind": "began", "panel": panel, "second": 0.0} for panel in warmed]
    last = {row["trial"]: row for row in rows if row["phase"] in LEFT_OUT.values()}
    for row in last.values():
        name = f"trial {row['trial']}: {str(row['phase']).removesuffix(' trial')}"
        found.append({**{each: row[each] for each in ("panel", "second", "value")}, "kind": "note", "name": name})
    return found


def rows_of(trials: Sequence[TrialRecord], seconds: Seconds, names: Sequence[str]) -> list[dict[str, Any]]:
    """Points to draw in the panels of these names: trial, panel, block, second, value (tps), phase."""
    import polars as pl

    share = max(1, TRIALS_MAX // max(1, len(names)))
    numbers: dict[str, list[int]] = {}
    for each in trials:
        numbers.setdefault(each.place.name, []).append(each.number)
    chosen = {number for name in names for number in numbers.get(name, [])[-share:]}
    if not chosen:
        return []
    about = {trial.number: trial for trial in trials if trial.number in chosen}
    table = seconds.gather(
        lambda series: (
            series.filter(pl.col("trial").is_in(sorted(chosen)) & (pl.col("name") == TPS))
            .filter(pl.col("source").is_in([f"{each}{ending}" for each in SOURCES for ending in ("", WARM_UP)]))
            .select("trial", "source", "monotonic_ns", "value")
            .drop_nulls()
        )
    )
    rows: list[dict[str, Any]] = []
    for (number,), part in table.group_by("trial", maintain_order=True):
        measured = part.filter(pl.col("source").is_in(SOURCES))
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
                "panel": trial.place.name,
                "block": trial.block,
                "second": round(second, 2),
                "value": round(value, 1),
                "slices": source.startswith(SLICES),
                "phase": LEFT_OUT.get(trial.status, MEASURED) if source in SOURCES else WARMING_UP,
            }
            for source, second, value in means.select("source", "second", "value").iter_rows()
        ]
    return rows


def unread_trial(number: int, reason: str) -> str:
    """A trial of which nothing can be said."""
    return f"trial {number} cannot be read and is left out: {reason}"
