"""Did every block find the drives in the same state? By what they had counted and how full they were before each trial.

An emulated drive is put back, flash and all, before each trial, so its counters must be those that were kept: a trial
that found others is invalid (`drive_state`). Between two trials that count they can differ only where the drive was
made again: when a run was resumed, or because its snapshot had to go. A real drive cannot be put back at all. It tells
how much had been written to it (SNIA's Performance Test Specification judges its state by write amplification over the
rounds instead, as the report does).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pgassay.record.values import TrialRecord
from pgassay.study.drives import HOST_BEFORE, STATE_BEFORE
from pgassay.study.responses import Status

SOURCES = ("drive", "drive_wal")


@dataclass(frozen=True)
class Change:
    """A trial that counts and found a drive (`source`) in another state than an earlier one of its arm, `before`."""

    trial: int
    source: str
    before: int


def changes(trials: Sequence[TrialRecord]) -> Iterator[Change]:
    """Against the latest earlier trial of the same arm; nothing for drives that do not tell."""
    latest: dict[tuple[str, str], tuple[int, str]] = {}
    for trial in sorted(trials, key=lambda each: each.number):
        for source in SOURCES:
            state = _state(trial, source)
            if state is None:
                continue
            known = latest.get((trial.arm, source))
            if known is not None and known[1] != state:
                yield Change(trial.number, source, known[0])
            latest[trial.arm, source] = trial.number, state


def proven(trials: Sequence[TrialRecord]) -> int:
    """How many trials that count told the state of a drive before them."""
    return sum(any(_state(trial, source) is not None for source in SOURCES) for trial in trials)


def written_between(trials: Sequence[TrialRecord]) -> float | None:
    """Bytes that a real drive was sent from the first trial to the last; None where it does not tell."""
    for source in SOURCES:
        values = [
            float(value)
            for trial in trials
            if isinstance(value := trial.regime.get(f"{source}.{HOST_BEFORE}"), int | float)
        ]
        if len(values) > 1:
            return max(values) - min(values)
    return None


def _state(trial: TrialRecord, source: str) -> str | None:
    """None where the trial does not count or the drive did not tell."""
    state = trial.regime.get(f"{source}.{STATE_BEFORE}")
    return state if trial.status is Status.VALID and isinstance(state, str) and state else None
