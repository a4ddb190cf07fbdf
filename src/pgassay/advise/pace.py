"""What the trials of a screening took, against their forecast.

Where they took longer, all that follows shares the time that is left, at the pace that was seen; so an advice keeps its
budget on a machine that is slower, or busier, than the forecast had it. Records tell the pace, so an advice that was
cut short decides the same when it goes on.
"""

from collections.abc import Callable, Mapping, MutableSequence, Sequence
from dataclasses import dataclass, replace

from pgassay.advise import budget
from pgassay.advise.space import Configuration, differing
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
        names = differing(start, wanted)
        asked.append(Asked(name, task.trial_s(names) * (1 + len(wanted)), task.in_turns(names)))
        return trials(name, start, wanted, seed)

    return measure


def over_s(asked: Sequence[Asked], spent_s: Callable[[str], float]) -> float:
    """How much longer than forecast these batches took together."""
    return max(0.0, sum(took_s - each.forecast_s for each, took_s in _taken(asked, spent_s) if took_s))


def kept(planned: Task, screened: Task, asked: Sequence[Asked], spent_s: Callable[[str], float]) -> Task:
    """The task after its screening, with the time that is left where these batches took longer than was `planned`."""
    taken = _taken(asked, spent_s)
    if _times(taken) <= SLOWER:
        return screened
    usual = _times([each for each in taken if not each[0].turned] or taken)
    turned = _times([each for each in taken if each[0].turned] or taken)
    took_s = sum(took_s for _, took_s in taken)
    return replace(screened, amounts=budget.at_pace(planned.amounts, took_s, max(usual, 1.0), max(turned, 1.0)))


def _taken(asked: Sequence[Asked], spent_s: Callable[[str], float]) -> list[tuple[Asked, float]]:
    """Each with the seconds that it took: a record is read for it, once."""
    return [(each, spent_s(each.name)) for each in asked]


def _times(taken: Sequence[tuple[Asked, float]]) -> float:
    """How many times their forecast these batches took together; 1 where nobody knows."""
    forecast_s, took_s = sum(each.forecast_s for each, _ in taken), sum(took_s for _, took_s in taken)
    return took_s / forecast_s if forecast_s and took_s else 1.0
