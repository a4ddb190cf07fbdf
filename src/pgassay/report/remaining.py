"""How long a run goes on at most, for a terminal and for its live page."""

from pgassay.record.values import TrialRecord
from pgassay.report import words
from pgassay.study.model import Study


class Remaining:
    """What a run may still take at most, by what its trials took so far and what is left of its budget.

    Empty where nothing is left, or nothing is known yet.
    """

    def __init__(self, study: Study) -> None:
        self._design = study.design
        self._arms = len(study.arms)
        self._lengths_s: list[float] = []
        self._used_s = 0.0
        self._block = self._in_block = 0

    def add(self, record: TrialRecord) -> None:
        """A trial has ended."""
        self._lengths_s.append(record.length_s)
        self._used_s += record.length_s
        self._in_block = self._in_block + 1 if record.block == self._block else 1
        self._block = record.block

    def used(self, seconds: float) -> None:
        """So much of the budget is gone, preparations included."""
        self._used_s = seconds

    def drop(self) -> None:
        """An arm has left."""
        self._arms -= 1

    def __str__(self) -> str:
        trials = self._arms * (self._design.blocks_max - self._block) + max(0, self._arms - self._in_block)
        left_s = trials * sum(self._lengths_s) / max(1, len(self._lengths_s))
        if self._design.budget_s is not None:
            left_s = min(left_s, max(0.0, self._design.budget_s - self._used_s))
        return f"at most {words.duration(left_s)} left" if left_s > 0.0 else ""
