"""A run directory as `analysis.lint` judges it: a plain table of runs.

Of one's own run only the valid trials are results. Of an imported one all are: its source counted them.
"""

from collections.abc import Sequence
from dataclasses import replace

from pgassay.analysis.benchmark import Benchmark, Setup
from pgassay.analysis.benchmark import Run as Linted
from pgassay.record.formats import IMPORTED
from pgassay.record.reading import Run
from pgassay.record.values import NO_VALUE, SHORT, Reason, TrialRecord
from pgassay.study.model import Study
from pgassay.study.responses import Status

SAID = "said."
"""How entries of an imported run's regime begin that hold what its source said of its setup."""


def results_of(run: Run) -> Sequence[TrialRecord]:
    imported = isinstance(run.host.get(IMPORTED), dict)
    return [trial for trial in run.trials if imported or trial.status is Status.VALID]


def benchmark_of(run: Run, study: Study, response: str) -> Benchmark:
    """The results of one response, with what `study` says of baseline and resolution."""
    source = run.host.get(IMPORTED)
    imported = isinstance(source, dict)
    ordered = bool(source.get("order_known")) if isinstance(source, dict) else True
    numbered = isinstance(source, dict) and bool(source.get("repetitions_numbered"))
    trials = results_of(run)
    if numbered and not ordered:
        trials = sorted(trials, key=lambda trial: trial.block)
    courses: dict[int, list[tuple[float, float | None]]] = {}
    if imported:
        import polars as pl

        wanted = pl.col("name") == "tps"
        rows, _ = run.gather(lambda series: series.filter(wanted).select("trial", "monotonic_ns", "value"))
        for number, moment, value in rows.iter_rows():
            courses.setdefault(number, []).append((moment / 1e9, value))
    varied = {name for arm in study.arms for name in arm.levels}
    return Benchmark(
        tuple(
            Linted(
                treatment=trial.treatment,
                value=trial.responses.get(response),
                position=trial.number if ordered else None,
                levels={name: level.typed for name, level in trial.levels.items() if name in varied},
                seconds=_seconds(trial, "window_s"),
                planned_s=_seconds(trial, "planned_s"),
                aborted=gave_up(trial.reasons),
                condition=", ".join(part for part in (trial.condition, trial.covariate) if part),
                place=str(trial.regime.get("imported_from") or f"trial {trial.number}"),
                setup=_setup(run, study, trial),
                course=tuple(courses.get(trial.number, ())),
            )
            for trial in trials
        ),
        response=response,
        baseline=study.design.baseline.name,
        resolution=study.design.resolution,
        ordered=ordered or numbered,
    )


def gave_up(reasons: Sequence[Reason]) -> str:
    """The reasons that no other check of lint gives."""
    return "; ".join(reason.detail for reason in reasons if reason.code not in (SHORT, NO_VALUE))


def _setup(run: Run, study: Study, trial: TrialRecord) -> Setup:
    levels = {name: level.typed for name, level in trial.levels.items()}
    if isinstance(run.host.get(IMPORTED), dict):
        said = {name.removeprefix(SAID): str(value) for name, value in trial.regime.items() if name.startswith(SAID)}
        return Setup.of({**said, **levels})
    memory, size = run.host.get("memory"), trial.responses.get("database_bytes")
    total = memory.get("total_bytes") if isinstance(memory, dict) else None
    if total and "host.memory" not in levels:
        levels["memory_total"] = str(total)
    found = Setup.of(levels, study.title)
    # fio reads files of its own, often past the page cache, so the database's size says nothing of it.
    known = size is not None and levels.get("load.driver") != "fio"
    return replace(
        found,
        cycles=_seconds(trial, "checkpoint_cycles"),
        same_machine="host.cpus" not in levels,
        database_bytes=size if known else None,
    )


def _seconds(trial: TrialRecord, name: str) -> float | None:
    value = trial.regime.get(name)
    return float(value) if isinstance(value, int | float) else None
