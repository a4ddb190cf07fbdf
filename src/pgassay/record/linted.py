"""A run directory as `analysis.lint` judges it: a plain table of runs.

Of one's own run only the valid trials are results. Of an imported one all are: its source counted them.
"""

from collections.abc import Sequence

from pgassay.analysis.lint import Benchmark
from pgassay.analysis.lint import Run as Linted
from pgassay.record.formats import IMPORTED
from pgassay.record.reading import Run
from pgassay.record.values import NO_VALUE, SHORT, Reason, TrialRecord
from pgassay.study.model import Study
from pgassay.study.responses import Status


def results_of(run: Run) -> Sequence[TrialRecord]:
    """The trials that stand as results."""
    imported = isinstance(run.host.get(IMPORTED), dict)
    return [trial for trial in run.trials if imported or trial.status is Status.VALID]


def benchmark_of(run: Run, study: Study, response: str) -> Benchmark:
    """The results of one response, with what `study` says of baseline and resolution."""
    source = run.host.get(IMPORTED)
    ordered = bool(source.get("order_known")) if isinstance(source, dict) else True
    varied = {name for arm in study.arms for name in arm.levels}
    return Benchmark(
        tuple(_of_trial(trial, response, varied, ordered) for trial in results_of(run)),
        baseline=study.design.baseline.name,
        resolution=study.design.resolution,
        ordered=ordered or isinstance(source, dict),
    )


def gave_up(reasons: Sequence[Reason]) -> str:
    """The reasons that no other check of lint tells."""
    return "; ".join(reason.detail for reason in reasons if reason.code not in (SHORT, NO_VALUE))


def _of_trial(trial: TrialRecord, response: str, varied: set[str], ordered: bool) -> Linted:
    return Linted(
        treatment=trial.treatment,
        value=trial.responses.get(response),
        position=trial.number if ordered else None,
        levels={name: level.typed for name, level in trial.levels.items() if name in varied},
        seconds=_seconds(trial, "window_s"),
        planned_s=_seconds(trial, "planned_s"),
        aborted=gave_up(trial.reasons),
        condition=", ".join(part for part in (trial.condition, trial.covariate) if part),
        place=str(trial.regime.get("imported_from") or f"trial {trial.number}"),
    )


def _seconds(trial: TrialRecord, name: str) -> float | None:
    value = trial.regime.get(name)
    return float(value) if isinstance(value, int | float) else None
