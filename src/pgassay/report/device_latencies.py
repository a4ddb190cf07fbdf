"""What the devices of a drive study did under the load: I/Os and bytes read per second, latency of reads and writes.

A published comparison of drives draws each run as a dot, the latency of reads across and of writes up: a drive whose
writes are quick at the cost of its reads lies elsewhere than one that is quick at both. Both are the block layer's own
means over a window (docs/report.md, "The device"), whatever the load.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pgassay.record.values import TrialRecord
from pgassay.report import words
from pgassay.report.section import Block, Drawing, Figure, Table
from pgassay.report.trials import by_treatment, middle, valid_by_place
from pgassay.study.drives import DATA, emulated, timed
from pgassay.study.responses import Status

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

READ, WRITE = "disk_read_latency_ms", "disk_write_latency_ms"
_ROWS = (
    ("disk_iops", "reads and writes per second"),
    ("disk_read_bytes_per_s", "read per second"),
    (READ, "a read, mean, ms"),
    (WRITE, "a write, mean, ms"),
)
_HEIGHT = 280
_COUNTED_LEAST_MS = 20.0
"""The kernel counts whole milliseconds: a mean of less in all would be off by more than a twentieth."""
FEW = (
    "in some trials the device read, or wrote, for less than 20 ms: too little for a latency, which is left out here"
    " and in the figure (data that fit in memory are hardly read; host.memory limits it)"
)
UNTIMED = (
    "emulated drives without service times answer as fast as this machine can: compare no latency and no rate between"
    " two of them (drive.timing gives them a device's)"
)


def blocks(findings: "Findings") -> Iterator[Block]:
    """A table for each condition and covariate point, and the figure; nothing where the study names no drive."""
    trials = [each for each in findings.trials if DATA in each.levels]
    treatments = [each.name for each in findings.study.treatments]
    for place, mine in valid_by_place(trials, findings.study.arms).items():
        yield from _tables(mine, treatments, words.place(*place))
    if rows_of(findings):
        yield Figure("device-latencies", lambda: drawing(findings))


def _tables(trials: Sequence[TrialRecord], treatments: Sequence[str], where: str) -> Iterator[Table]:
    known = by_treatment(trials)
    rows = []
    for name, title in _ROWS:
        values = [middle(_value(trial, name) for trial in known.get(each, ())) for each in treatments]
        if any(value is not None for value in values):
            rows.append((title, *(_shown(name, value) for value in values)))
    if not rows:
        return
    alone = any(emulated(trial.levels) and not timed(trial.levels) for trial in trials)
    title = f"{where}: the device under the data" if where else "the device under the data"
    few = any(_value(trial, each) != trial.responses.get(each) for trial in trials for each in (READ, WRITE))
    notes = ((UNTIMED,) if alone else ()) + ((FEW,) if few else ())
    yield Table(("", *map(words.headed, treatments)), rows, title, notes)


def _value(trial: TrialRecord, name: str) -> float | None:
    """A response; None for a latency that was counted in too few milliseconds."""
    counted = {READ: "read_ms", WRITE: "write_ms"}.get(name)
    counted_ms = trial.counters.get(f"diskstats.{counted}")
    return None if counted_ms is not None and counted_ms < _COUNTED_LEAST_MS else trial.responses.get(name)


def _shown(name: str, value: float | None) -> str:
    if value is None:
        return words.MISSING
    return words.size(value) if name == "disk_read_bytes_per_s" else words.number(value)


def rows_of(findings: "Findings") -> list[dict[str, Any]]:
    """A row for each valid trial on a named drive whose device both read and wrote enough to tell, in ms."""
    found = []
    for trial in findings.trials:
        read, write = _value(trial, READ), _value(trial, WRITE)
        if trial.status is Status.VALID and DATA in trial.levels and read is not None and write is not None:
            place = words.place(trial.condition, trial.covariate)
            found.append({"treatment": trial.treatment, "condition": place, "block": trial.block,
                          "read_ms": read, "write_ms": write})  # fmt: skip
    return found


def drawing(findings: "Findings") -> Drawing | None:
    """A dot a trial, reads across and writes up, a panel for each place; None without both."""
    rows = rows_of(findings)
    if not rows:
        return None
    import altair as alt

    from pgassay.report import charts

    treatments = tuple(each.name for each in findings.study.treatments)
    places = tuple(dict.fromkeys(str(row["condition"]) for row in rows))
    x, y = (
        channel(
            f"{kind}_ms:Q",
            title=f"a {kind} of the device, mean, ms",
            scale=alt.Scale(domain=charts.domain_of((row[f"{kind}_ms"] for row in rows), zero=True), nice=False),
        )
        for channel, kind in ((alt.X, "read"), (alt.Y, "write"))
    )
    tips = [charts.tip("treatment:N"), charts.tip("block:Q"), charts.tip("read_ms:Q"), charts.tip("write_ms:Q")]
    dots = (
        alt.Chart()
        .mark_point(filled=True, size=45, opacity=0.7)
        .encode(
            x=x,
            y=y,
            color=charts.colour(treatments, legend=len(treatments) > 1),
            shape=charts.shape(treatments),
            tooltip=tips,
        )
    )
    return Drawing(
        f"Latency of the device: writes against reads{charts.by(treatments)}",
        "A dot a trial: the mean time of a read and of a write in its window, by the block layer. Left and low is "
        "quick at both. Secondary.",
        charts.layered([dots], rows, _HEIGHT, "condition", places),
    )
