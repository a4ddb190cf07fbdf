"""What `lint` judges: foreign files as their readers give them, or a run directory, as a plain table of runs.

Of one's own run only the valid trials are results. Of an imported one all are: its source counted them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pgassay.analysis.benchmark import NAMES, Benchmark, Run, Setup
from pgassay.importing import placement
from pgassay.importing.files import one_of, read_files
from pgassay.importing.reader import Options
from pgassay.record.formats import IMPORTED
from pgassay.record.linted import benchmark_of, gave_up, results_of
from pgassay.record.reading import Run as Recorded
from pgassay.record.values import TrialRecord

ALL_RUNS = "all runs"
"""What the one treatment is called when nothing tells treatments apart."""


@dataclass(frozen=True)
class Judged:
    """A benchmark with what to say of its source."""

    benchmark: Benchmark
    kind: str
    response: str
    left_out: tuple[tuple[str, str], ...] = ()
    remarks: tuple[str, ...] = ()


def of_files(paths: Sequence[Path], options: Options, primary: str, baseline: str) -> Judged:
    """Foreign files. `baseline` as a treatment's label; empty for the first."""
    reading, roles = read_files(paths, options, compared=False)
    names = [response.name for response in reading.responses]
    chosen = one_of(names, primary)
    runs, ordered = placement.in_time(reading.runs, reading.ordered)
    placed = placement.place(runs, roles, chosen)
    if not ordered and roles.block:
        placed = tuple(sorted(placed, key=lambda each: _number(each.run.fields.get(roles.block, ""))))
    found = tuple(
        Run(
            treatment=each.place.treatment or ALL_RUNS,
            value=each.run.responses.get(chosen),
            position=position if ordered else None,
            levels={**each.treatment, **each.condition, **each.covariate},
            seconds=each.run.seconds,
            planned_s=each.planned_s,
            aborted=gave_up(each.reasons),
            condition=each.place.cell.name,
            place=each.run.place,
            setup=_setup(each),
            course=tuple((each.monotonic_ns / 1e9, each.value) for each in each.run.series if each.name == "tps"),
        )
        for position, each in enumerate(placed)
    )
    benchmark = Benchmark(
        found,
        response=chosen,
        replicate="second" if roles.second else "run",
        baseline=baseline,
        ordered=ordered or bool(roles.block),
    )
    left_out = tuple((each.place, each.reason) for each in reading.left_out)
    remarks = reading.remarks
    return Judged(benchmark, reading.kind, chosen, left_out, (*remarks, *_of_order(benchmark)))


def _of_order(benchmark: Benchmark) -> tuple[str, ...]:
    return () if benchmark.in_order else ("the order in which the runs ran is not known, so it is not judged",)


def of_run(path: Path, primary: str) -> Judged:
    """A run directory; of one of ours only valid trials count. Raises `RecordError`, `UsageError`."""
    record = Recorded.open(path, leave_out=True)
    study = record.asked
    names = [response.name for response in record.responses]
    chosen = one_of(names, primary or study.primary)
    source = record.host.get(IMPORTED)
    imported = isinstance(source, dict)
    benchmark = benchmark_of(record, study, chosen)
    remarks = tuple(map(str, source.get("remarks", ()))) if isinstance(source, dict) else ()
    return Judged(
        benchmark, "imported run" if imported else "run", chosen, _left_out(record, results_of(record)),
        (*remarks, *_of_order(benchmark)),
    )  # fmt: skip


def _left_out(record: Recorded, counted: Sequence[TrialRecord]) -> tuple[tuple[str, str], ...]:
    """The trials that are no results, and those that cannot be read."""
    known = {trial.number for trial in counted}
    other = {
        trial.number: "; ".join([trial.status.value, *(reason.detail for reason in trial.reasons)])
        for trial in record.trials
        if trial.number not in known
    }
    return tuple((f"trial {number}", reason) for number, reason in sorted({**other, **dict(record.left_out)}.items()))


def with_resolution(judged: Judged, resolution: float) -> Judged:
    """The same, judged at another resolution."""
    return replace(judged, benchmark=replace(judged.benchmark, resolution=resolution))


def _setup(each: placement.Placed) -> Setup:
    """What the source said of the run's setup; the same as a record of it keeps."""
    said = {name: each.run.fields[name] for name in NAMES if each.run.fields.get(name)}
    return Setup.of({**said, **each.treatment, **each.condition, **each.covariate})


def _number(text: str) -> tuple[int, str]:
    return (int(text), "") if text.isdecimal() else (0, text)
