"""What the trials of a screening took, against their forecast.

Where they took longer, all that follows shares the time that is left, at the pace that was seen; so an advice keeps its
budget on a machine that is slower, or busier, than the forecast had it. Records tell the pace, so an advice that was
cut short decides the same when it goes on.
"""

from collections.abc import Callable, Mapping, MutableSequence, Sequence
from dataclasses import dataclass, replace

from pgassay.advise import budget
from pgassay.advise.space import Configuration
from pgassay.advise.task import Task, Trials, V

SLOWER = 1.1
"""Trials that took less than so many times their forecast change nothing: that much the plan holds."""


@dataclass(frozen=True)
class Asked:
    """A batch that was asked for, and how long it should have taken."""

    name: str
    forecast_s: float
    turned: bool
    """Did its servers take turns?"""


def noting(task: Task, trials: Trials[V], asked: MutableSequence[Asked]) -> Trials[V]:
    """The same trials; each batch goes to `asked`."""

    def measure(
        name: str, start: Configuration, wanted: Sequence[Configuration], seed: int
    ) -> Mapping[Configuration, V | None]:
        differing = {setting for each in wanted for setting in each.changes_from(start)}
        asked.append(Asked(name, task.trial_s(differing) * (1 + len(wanted)), task.in_turns(differing)))
        return trials(name, start, wanted, seed)

    return measure


def times(asked: Sequence[Asked], spent_s: Callable[[str], float]) -> float:
    """How many times their forecast these batches took together; 1 where nobody knows."""
    forecast_s, took_s = sum(each.forecast_s for each in asked), sum(spent_s(each.name) for each in asked)
    return took_s / forecast_s if forecast_s and took_s else 1.0


def over_s(asked: Sequence[Asked], spent_s: Callable[[str], float]) -> float:
    """How much longer than forecast these batches took together."""
    return max(0.0, sum(spent_s(each.name) - each.forecast_s for each in asked if spent_s(each.name)))


def kept(planned: Task, screened: Task, asked: Sequence[Asked], spent_s: Callable[[str], float]) -> Task:
    """The task after its screening, with the time that is left where these batches took longer than was `planned`."""
    if times(asked, spent_s) <= SLOWER:
        return screened
    usual = times([each for each in asked if not each.turned] or asked, spent_s)
    turned = times([each for each in asked if each.turned] or asked, spent_s)
    took_s = sum(spent_s(each.name) for each in asked)
    return replace(screened, amounts=budget.at_pace(planned.amounts, took_s, max(usual, 1.0), max(turned, 1.0)))
