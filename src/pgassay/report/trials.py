"""What tables ask of trials: the valid ones by place, the middle of what they told, the options they were run with.

A place is a condition with a covariate point, both names empty where the study has none.
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from pgassay.analysis.summary import Summary
from pgassay.record.values import TrialRecord
from pgassay.study.levels import Arm, Cell, Place
from pgassay.study.responses import Status


def valid_by_place(trials: Iterable[TrialRecord], arms: Iterable[Arm] = ()) -> Mapping[Cell, Sequence[TrialRecord]]:
    """The valid trials of each condition and covariate point: places as in `arms`, others as their first trials ran."""
    found: dict[Cell, list[TrialRecord]] = {arm.place.cell: [] for arm in arms}
    for trial in trials:
        if trial.status is Status.VALID:
            found.setdefault(trial.place.cell, []).append(trial)
    return {place: mine for place, mine in found.items() if mine}


def by_treatment(trials: Iterable[TrialRecord]) -> Mapping[str, Sequence[TrialRecord]]:
    """The trials of each treatment, in one pass."""
    found: dict[str, list[TrialRecord]] = {}
    for trial in trials:
        found.setdefault(trial.treatment, []).append(trial)
    return found


def by_arm(trials: Iterable[TrialRecord]) -> Mapping[Place, Sequence[TrialRecord]]:
    """The trials of each treatment, condition and covariate point, in one pass."""
    found: dict[Place, list[TrialRecord]] = {}
    for trial in trials:
        found.setdefault(trial.place, []).append(trial)
    return found


def middle(values: Iterable[float | None]) -> float | None:
    """The median of what is known; None where nothing is."""
    known = [value for value in values if value is not None]
    return median(known) if known else None


def load_level(trial: TrialRecord, option: str, default: str) -> str:
    """The canonical level of `load.OPTION`, or the `default` of a trial that names none."""
    level = trial.levels.get(f"load.{option}")
    return level.canonical if level is not None else default


def measured(rows: Sequence[Summary], *, primary: bool) -> Sequence[Summary]:
    """What a table of summaries shows: all of the primary's, of another response those that it has a value for."""
    return rows if primary else [row for row in rows if row.n] or rows
