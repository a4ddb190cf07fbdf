"""Who watches a run: the command line's progress bar, or nobody. Watching never changes what happens."""

from collections.abc import Sequence
from typing import Protocol

from pgassay.analysis.effects import Effect
from pgassay.lab.trial import Assignment
from pgassay.record.values import TrialRecord
from pgassay.study.levels import Arm


class Watcher(Protocol):
    """Told of every step."""

    def preparing(self, arm: Arm) -> None:
        """A golden snapshot is being made."""

    def prepared(self, arm: Arm, seconds: float) -> None:
        """It is there."""

    def trial_started(self, assignment: Assignment) -> None:
        """A trial begins."""

    def trial_finished(self, record: TrialRecord) -> None:
        """A trial is committed."""

    def estimated(self, effects: Sequence[Effect], used_s: float) -> None:
        """The estimates so far, before the next decision."""

    def dropped(self, arm_name: str, reason: str) -> None:
        """An arm is taken out of play."""


class Nobody:
    """Watches nothing."""

    def preparing(self, arm: Arm) -> None:
        """Nothing."""

    def prepared(self, arm: Arm, seconds: float) -> None:
        """Nothing."""

    def trial_started(self, assignment: Assignment) -> None:
        """Nothing."""

    def trial_finished(self, record: TrialRecord) -> None:
        """Nothing."""

    def estimated(self, effects: Sequence[Effect], used_s: float) -> None:
        """Nothing."""

    def dropped(self, arm_name: str, reason: str) -> None:
        """Nothing."""
