"""What tables ask of trials: the valid ones by place, the middle of what they told, the options they were run with.

A place is a condition with a covariate point, both names empty where the study has none.
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from pgassay.record.values import Status, TrialRecord

Place = tuple[str, str]


def valid_by_place(trials: Iterable[TrialRecord]) -> Mapping[Place, Sequence[TrialRecord]]:
    """The valid trials of each condition and covariate point, in the order of first trials."""
    found: dict[Place, list[TrialRecord]] = {}
    for trial in trials:
        if trial.status is Status.VALID:
            found.setdefault((trial.condition, trial.covariate), []).append(trial)
    return found


def middle(values: Iterable[float | None]) -> float | None:
    """The median of what is known; None where nothing is."""
    known = [value for value in values if value is not None]
    return median(known) if known else None


def load_level(trial: TrialRecord, option: str, default: str) -> str:
    """The canonical level of `load.OPTION`, or the `default` of a trial that names none."""
    level = trial.levels.get(f"load.{option}")
    return level.canonical if level is not None else default
