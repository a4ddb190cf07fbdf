"""What has happened so far, as the schedule needs it: plain values that a journal can be replayed into."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pgassay.study.responses import Status


@dataclass(frozen=True)
class FinishedTrial:
    """One committed trial: `arm` is its label, `block` and `attempt` count from 1."""

    block: int
    arm: str
    attempt: int
    status: Status


@dataclass(frozen=True)
class History:
    """Finished trials in the order they ran, arms out of play with the reason, and the time used.

    `trial_s` is what a trial is expected to take, for each arm by label; `planned_s` for arms that it does not name.
    """

    trials: tuple[FinishedTrial, ...] = ()
    drops: Mapping[str, str] = field(default_factory=dict)
    elapsed_s: float = 0.0
    planned_s: float = 0.0
    trial_s: Mapping[str, float] = field(default_factory=dict)

    @property
    def block(self) -> int:
        """The number of the current block, which counts from 1; 0 before the first."""
        return max((trial.block for trial in self.trials), default=0)

    def in_block(self, block: int) -> dict[str, FinishedTrial]:
        """The last trial of each arm in `block`, by the arm's label."""
        return {trial.arm: trial for trial in self.trials if trial.block == block}

    def outcomes_in_a_row(self, arm: str) -> int:
        """How many of the arm's last trials failed because of its settings; invalid trials do not count.

        Of a block that was run again as a whole only the last trial counts.
        """
        count, seen = 0, set[int]()
        for trial in reversed(self.trials):
            if trial.arm != arm or trial.status is Status.INVALID or trial.block in seen:
                continue
            seen.add(trial.block)
            if trial.status is not Status.OUTCOME:
                break
            count += 1
        return count

    def block_s(self, arms: tuple[str, ...]) -> float:
        """How long a block of these arms (labels) is expected to take, in seconds."""
        return sum(self.trial_s.get(arm, self.planned_s) for arm in arms)
