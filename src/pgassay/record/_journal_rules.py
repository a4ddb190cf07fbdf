"""What must hold between the lines of a journal: nothing is committed that was not begun, nothing begun after the end.

The order of decisions against the design (replaying them) is the lab's to check; here is only what needs no study.
"""

from collections.abc import Iterator, Sequence

import msgspec

from pgassay.record.decisions import Step, decision_of
from pgassay.record.journal import Entry, Kind

_WORK = frozenset({Kind.DECISION, Kind.TRIAL_STARTED, Kind.TRIAL_COMMITTED})


def broken_rules(entries: Sequence[Entry], seed: int) -> Iterator[tuple[int, str]]:
    """Line number and what is wrong with it, for every line that breaks a rule."""
    started: set[object] = set()
    committed: set[object] = set()
    for position, entry in enumerate(entries):
        number = entry.data.get("number")
        former = entries[position - 1].kind if position else None
        if (entry.kind == Kind.RUN_STARTED) != (position == 0):
            yield entry.seq, "a run starts with its first line, once"
        if entry.kind == Kind.RUN_STARTED and entry.data.get("seed") != seed:
            yield entry.seq, "the seed is not the one in run.json"
        if former == Kind.FINISHED and entry.kind in _WORK:
            yield entry.seq, "work goes on after the run was finished, without being resumed"
        if entry.kind == Kind.TRIAL_STARTED:
            if number in committed:
                yield entry.seq, f"trial {number} starts although it is committed"
            started.add(number)
        if entry.kind == Kind.TRIAL_COMMITTED:
            if number not in started and not entry.data.get("adopted"):
                yield entry.seq, f"trial {number} is committed but never started"
            if number in committed:
                yield entry.seq, f"trial {number} is committed a second time"
            committed.add(number)
    yield from _decisions(entries)


def _decisions(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """Decisions can be read, the budget only grows, and a dropped arm is not run again."""
    dropped: set[str] = set()
    budget_used_s = 0.0
    for entry in entries:
        if entry.kind != Kind.DECISION:
            continue
        try:
            decision = decision_of(entry)
        except msgspec.ValidationError as failure:
            yield entry.seq, f"is no decision: {failure}"
            continue
        if decision.budget_used_s < budget_used_s:
            yield entry.seq, "the budget used is less than it was"
        budget_used_s = decision.budget_used_s
        if decision.step is Step.DROP:
            dropped.add(decision.arm)
        if decision.step is Step.NEXT and decision.arm in dropped:
            yield entry.seq, f'"{decision.arm}" is run although it was dropped'
