"""What to try next: Optuna's tree-structured Parzen estimator over the levels of a space.

S. Watanabe, "Tree-structured Parzen estimator" (2023). It takes what was measured elsewhere, too (the screening), and
points that failed: those count as worse than any that worked, so that the search keeps away from them. Points that no
machine could run are never proposed. benchmarks/advise.py sets it against others.
"""

import random
from collections.abc import Collection, Sequence
from operator import mul
from typing import TYPE_CHECKING

from pgassay.advise import budget, screening
from pgassay.advise.front import picked
from pgassay.advise.screenings import Screening
from pgassay.advise.smoothing import Batches, ConstraintModel, Gains, Slacks, expected, hopeful, promising
from pgassay.advise.space import Configuration, Limits, Space, index_of, within
from pgassay.advise.task import Measure, Task

if TYPE_CHECKING:
    import optuna
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler

FAILED = 0.5
"""How much worse than the worst (a log-ratio) a point counts that failed."""
_TRIES = 20
CANDIDATES = 48
GUESSES = (0.0, 1.0, 2.0)
"""Of each batch so many proposals are where most is expected, or may be hoped for: spreads above what is expected."""
_AGAIN = 4
"""The best of a search are measured once more before one is chosen; of several objectives a whole batch of them."""


class Search:
    """Proposes configurations of `space` and learns from their values: log-ratios, higher is better.

    With several `objectives` a value is one of each, and what is proposed lies across their front: the same estimator,
    by the ranks of fronts (Y. Ozaki and others, "Multiobjective tree-structured Parzen estimator", 2022).
    """

    def __init__(
        self, space: Space, limits: Limits, seed: int, sampler: "BaseSampler | None" = None, objectives: int = 1
    ) -> None:
        import optuna
        from optuna.distributions import CategoricalDistribution, IntDistribution

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._space = space
        self._distributions: dict[str, BaseDistribution] = {
            each.name: IntDistribution(0, len(each.levels) - 1)
            if each.ordered
            else CategoricalDistribution(each.levels)
            for each in space.dimensions
        }
        self._limits = limits
        self._chance = random.Random(f"search/{seed}")
        self._known: list[tuple[Configuration, tuple[float, ...] | None]] = []
        self._objectives = objectives
        self._study: optuna.Study | None = None
        self._told: list[tuple[float, ...]] = []
        self._sampler = sampler or optuna.samplers.TPESampler(
            seed=seed, multivariate=False, n_startup_trials=0, n_ei_candidates=CANDIDATES
        )

    def tell(self, configuration: Configuration, value: float | Sequence[float] | None) -> None:
        """A configuration was measured; None where it failed."""
        values = value if value is None or isinstance(value, Sequence) else (value,)
        self._known.append((configuration, None if values is None else tuple(values)))

    def ask(self, taken: Collection[Configuration]) -> Configuration:
        """The next configuration to measure, none of `taken`."""
        from optuna.trial import TrialState

        study, dimensions = self._informed(), self._space.dimensions
        tried: list[optuna.Trial] = []
        for attempt in range(2 * _TRIES):
            if attempt < _TRIES:
                tried.append(study.ask(self._distributions))
                params = tried[-1].params
                chosen = {
                    each.name: each.levels[params[each.name]] if each.ordered else params[each.name]
                    for each in dimensions
                }
            else:  # a random one; a small space may have none left, and then one is measured again
                chosen = {each.name: self._chance.choice(each.levels) for each in dimensions}
            found = within(dimensions, self._space.start.with_values(chosen), self._limits)
            if found not in taken:
                break
        for each in tried:  # no longer under way: the next proposal does not keep away from them
            study.tell(each, state=TrialState.FAIL)
        return found

    def _informed(self) -> "optuna.Study":
        """The study with all that is known, begun again where what failed counts otherwise than before."""
        import optuna

        worked = [value for _, value in self._known if value is not None] or [(0.0,) * self._objectives]
        worst = tuple(min(column) - FAILED for column in zip(*worked, strict=True))
        values = [worst if value is None else value for _, value in self._known]
        if self._study is None or self._told != values[: len(self._told)]:
            self._study = optuna.create_study(directions=["maximize"] * self._objectives, sampler=self._sampler)
            self._told = []
        for configuration, _ in self._known[len(self._told) :]:
            at = {each.name: index_of(each.levels, configuration.values[each.name]) for each in self._space.dimensions}
            self._told.append(values[len(self._told)])
            self._study.add_trial(
                optuna.trial.create_trial(
                    params={
                        each.name: at[each.name] if each.ordered else each.levels[at[each.name]]
                        for each in self._space.dimensions
                    },
                    distributions=self._distributions,
                    values=self._told[-1],
                )
            )
        return self._study


def searched(
    task: Task, screened: Screening, names: Sequence[str], measure: Measure, slacks: Slacks
) -> tuple[Batches, Batches]:
    """What the screening saw in the settings that are searched, and what the search measured: gains by batch.

    For the estimator what breaks a limit has failed; the process knows how likely it is to do so.
    """
    space, start = task.space.narrowed(names), task.space.start
    search = Search(space, task.limits, task.seed, objectives=len(task.more))

    def learn(configuration: Configuration, gains: Gains | None) -> None:
        search.tell(configuration, None if slacks.breaks(configuration) else gains)

    for pair in screened.values:
        for configuration, value in pair.items():
            learn(configuration, task.gains(value))
    before = [
        [
            (task.space.start.with_values({name: each.values[name] for name in names}), task.gains(value))
            for at in batch
            for each, value in screened.values[at].items()
        ]
        for batch in screened.batches
    ]
    usual = {name: each for name, each in task.space.rule_of_thumb.values.items() if name in names}
    better = [
        screening.at_better_levels(space, [each for each in screened.found if each.objective == at], higher=more)
        for at, more in enumerate(task.more)
    ]
    first = [within(space.dimensions, each, task.limits) for each in (*better, space.start.with_values(usual))]
    found: list[list[tuple[Configuration, Gains | None]]] = []
    batches = budget.batches_of(task.amounts, space.size, task.trial_s(names))
    for number in range(1, batches + 1):
        constraints, batch, size = slacks.constraint_model(space), list[Configuration](), budget.BATCH
        if number == batches:  # the most promising once more, before some are chosen
            gains = promising(expected(space, [*before, *found]), found)
            if task.others:  # points across the front
                likely = {each: gains[each] for each in constraints.likely([*gains])}
                batch = [each for each in picked(likely, budget.BATCH) if each != start]
            else:
                batch = constraints.likely(sorted(gains, key=lambda each: -gains[each][0]))[:_AGAIN]
                size = _AGAIN if batch else size
        else:
            if number == 1:
                batch = [each for each in dict.fromkeys(first) if each != start]
            batch += _guesses(task, space, (before, found), [*batch, start], constraints, number)
        while len(batch) < size:
            batch.append(search.ask([*batch, start]))
        measured = measure(f"search-{number:02d}", batch, task.seed + 200 + number)
        found.append([(configuration, task.gains(value)) for configuration, value in measured.items()])
        for configuration, value in measured.items():
            learn(configuration, task.gains(value))
    return before, found


def _guesses(
    task: Task,
    space: Space,
    seen: tuple[Batches, Batches],
    taken: Sequence[Configuration],
    constraints: ConstraintModel,
    number: int,
) -> list[Configuration]:
    """Where all trials so far let expect or hope for most, of what is likely to keep its limits.

    Several objectives are added up with weights that are drawn anew for each guess.
    """
    before, found = seen
    process = expected(space, [*before, *found])
    guesses: list[Configuration] = []
    if process is None:
        return guesses
    chance, known = random.Random(f"weights/{task.seed}/{number}"), promising(process, found)
    for spreads in GUESSES:
        parts = [chance.random() for _ in task.more]
        weights = tuple(each / sum(parts) for each in parts) if task.others else (1.0,)
        ranked = sorted(known.items(), key=lambda each: -sum(map(mul, weights, each[1])))
        near = next((each for each, _ in constraints.safest(ranked)), taken[0])
        guess = hopeful(process, near, task.limits, [*taken, *guesses], spreads, weights, constraints.likely)
        guesses += [] if guess is None else [guess]
    return guesses
