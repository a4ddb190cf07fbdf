"""How long a run goes on at most, for a terminal and for its live page."""

from math import inf

from pgassay.record.values import TrialRecord
from pgassay.report import words
from pgassay.study.model import Study


class Remaining:
    """What a run may still take at most, by what its trials took so far and what is left of its budget.

    Empty where nothing is left, or nothing is known yet.
    """

    def __init__(self, study: Study) -> None:
        self.design = study.design
        self._arms = len(study.arms)
        self._lengths_s: list[float] = []
        self.used_s = 0.0
        self._block = self._in_block = 0

    def add(self, record: TrialRecord) -> None:
        """A trial has ended."""
        self._lengths_s.append(record.length_s)
        self.used_s += record.length_s
        self._in_block = self._in_block + 1 if record.block == self._block else 1
        self._block = record.block

    def used(self, seconds: float) -> None:
        """So much of the budget is gone, preparations included."""
        self.used_s = seconds

    def drop(self) -> None:
        """An arm has left."""
        self._arms -= 1

    @property
    def left_s(self) -> float:
        """Seconds at most, by the blocks and by the budget; infinite while nothing is known of either."""
        trials = self._arms * (self.design.blocks_max - self._block) + max(0, self._arms - self._in_block)
        lengths_s, budget_s = self._lengths_s, self.design.budget_s
        by_blocks = trials * sum(lengths_s) / len(lengths_s) if lengths_s else inf
        return by_blocks if budget_s is None else min(by_blocks, max(0.0, budget_s - self.used_s))

    def __str__(self) -> str:
        return f"at most {words.duration(self.left_s)} left" if 0.0 < self.left_s < inf else ""
