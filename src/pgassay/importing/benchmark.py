"""What `lint` judges: foreign files as their readers give them, or a run directory, as a plain table of runs.

Of one's own run only the valid trials are results. Of an imported one all are: its source counted them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pgassay.analysis.benchmark import NAMES, Benchmark, Run, Setup
from pgassay.importing import imported_run
from pgassay.importing.files import one_of, read_files
from pgassay.importing.reader import Options
from pgassay.record.formats import IMPORTED
from pgassay.record.linted import benchmark_of, gave_up, results_of
from pgassay.record.reading import Run as Recorded

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
    runs, ordered = imported_run.in_time(reading.runs, reading.ordered)
    placed = imported_run.place(runs, roles, chosen)
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
            setup=Setup.of(
                {
                    **{name: each.run.fields[name] for name in NAMES if each.run.fields.get(name)},
                    **each.treatment,
                    **each.condition,
                    **each.covariate,
                }
            ),
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
    return Judged(benchmark, reading.kind, chosen, left_out, (*reading.remarks, *_of_order(benchmark)))


def _of_order(benchmark: Benchmark) -> tuple[str, ...]:
    return () if benchmark.in_order else ("the order in which the runs ran is not known, so it is not judged",)


def of_run(path: Path, primary: str) -> Judged:
    """A run directory; of one of ours only valid trials count. Raises `RecordError`, `UsageError`."""
    record = Recorded.open(path, leave_out=True)
    study = record.asked
    names = [response.name for response in record.responses]
    chosen = one_of(names, primary or study.primary)
    source = record.host.get(IMPORTED)
    benchmark = benchmark_of(record, study, chosen)
    remarks = tuple(map(str, source.get("remarks", ()))) if isinstance(source, dict) else ()
    known = {trial.number for trial in results_of(record)}
    other = {
        trial.number: "; ".join([trial.status.value, *(reason.detail for reason in trial.reasons)])
        for trial in record.trials
        if trial.number not in known
    }
    left_out = tuple((f"trial {number}", why) for number, why in sorted({**other, **dict(record.left_out)}.items()))
    kind = "imported run" if isinstance(source, dict) else "run"
    return Judged(benchmark, kind, chosen, left_out, (*remarks, *_of_order(benchmark)))


def with_resolution(judged: Judged, resolution: float) -> Judged:
    """The same, judged at another resolution."""
    return replace(judged, benchmark=replace(judged.benchmark, resolution=resolution))


def _number(text: str) -> tuple[int, str]:
    return (int(text), "") if text.isdecimal() else (0, text)
