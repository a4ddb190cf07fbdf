"""What a run knows of itself: its committed trials and its journal, as the design's history; no more is remembered.

So a resumed run decides as an uninterrupted one would have: time is the sum of what was measured, pauses left out.
"""

from collections.abc import Mapping, Sequence

from pgassay.design.history import FinishedTrial, History
from pgassay.load import drivers
from pgassay.record.decisions import Step, decisions_in
from pgassay.record.journal import Entry, Kind
from pgassay.record.values import TrialRecord
from pgassay.study.levels import Arm
from pgassay.study.model import Study
from pgassay.study.units import parse_time_s

PREPARED = Kind.PREPARED
"""The kind of journal line that tells how long a snapshot took."""

OVERHEAD_S = 2.0
"""What decisions take a trial to need beyond its load until one has been measured. Their hashes hold it, so it stays as
it is, for the records that there are; users are told what `outlook` finds."""

DURATION = "60s"
"""What a window is taken to last when the study gives transactions instead of a time."""


def planned_s(study: Study) -> float:
    """What decisions take a trial to last before one has been measured, on average over the arms."""
    return sum(planned_trial_s(study, arm) for arm in study.arms) / len(study.arms)


def load_s(study: Study) -> float:
    """Warm-up and window of a trial, on average over the arms."""
    return sum(_load_s(study, arm) for arm in study.arms) / len(study.arms)


def length_known(study: Study) -> bool:
    """Does the study say how long its trials take? Not where an arm counts transactions instead of time."""
    return all(_timed({name: level.canonical for name, level in study.levels_of(arm).items()}) for arm in study.arms)


def _timed(options: Mapping[str, str]) -> bool:
    return drivers.find(options.get("load.driver", drivers.DEFAULT)).timed and (
        options.get("load.transactions", "none") == "none"
    )


def planned_trial_s(study: Study, arm: Arm) -> float:
    """What decisions take a trial of this arm to last before one has been measured."""
    return _load_s(study, arm) + OVERHEAD_S


def _load_s(study: Study, arm: Arm) -> float:
    options = {name: level.canonical for name, level in study.levels_of(arm).items()}
    lengths = [options.get("load.duration", DURATION), options.get("load.warmup", "0s")]
    return sum(parse_time_s(length) for length in lengths)


def preparation_s(entries: Sequence[Entry]) -> float:
    """What making the snapshots took; one made again after a pause counts once."""
    first: dict[str, float] = {}
    for entry in entries:
        if entry.kind == PREPARED:
            first.setdefault(str(entry.data["key"]), float(entry.data["seconds"]))
    return sum(first.values())


def history_of(study: Study, trials: Sequence[TrialRecord], entries: Sequence[Entry]) -> History:
    """The design's history from the record."""
    lengths: dict[str, list[float]] = {}
    for record in trials:
        lengths.setdefault(record.arm, []).append(record.length_s)
    return History(
        trials=tuple(FinishedTrial(each.block, each.arm, each.attempt, each.status) for each in trials),
        drops={each.arm: each.reason for each in decisions_in(tuple(entries)) if each.step is Step.DROP},
        elapsed_s=sum(sum(each) for each in lengths.values()) + preparation_s(entries),
        planned_s=planned_s(study),
        trial_s={arm: sum(each) / len(each) for arm, each in lengths.items()},
    )
