"""What to try next: Optuna's tree-structured Parzen estimator over the levels of a space.

S. Watanabe, "Tree-structured Parzen estimator" (2023). It takes what was measured elsewhere, too (the screening), and
points that failed: those count as worse than any that worked, so that the search keeps away from them. Points that no
machine could run are never proposed. benchmarks/advise.py sets it against others.
"""

import random
from collections.abc import Collection, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from pgassay.advise.constraints import Limits, within
from pgassay.advise.space import Configuration, Dimension, Space, index_of
from pgassay.errors import UsageError
from pgassay.extras import install_command

if TYPE_CHECKING:
    import optuna
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler
    from optuna.trial import Trial

FAILED = 0.5
"""How much worse than the worst (a log-ratio) a point counts that failed."""
_TRIES = 20
CANDIDATES = 48


def require_optimiser() -> None:
    """Raise `UsageError` where Optuna is not installed."""
    if find_spec("optuna") is None:
        raise UsageError("pgassay advise needs Optuna, which is not installed", install_command("advise"))


class Search:
    """Proposes configurations of `space` and learns from their values: log-ratios, higher is better.

    With several `objectives` a value is one of each, and what is proposed lies across their front: the same estimator,
    by the ranks of fronts (Y. Ozaki and others, "Multiobjective tree-structured Parzen estimator", 2022).
    """

    def __init__(
        self, space: Space, limits: Limits, seed: int, sampler: "BaseSampler | None" = None, objectives: int = 1
    ) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._space = space
        self._limits = limits
        self._chance = random.Random(f"search/{seed}")
        self._known: list[tuple[Configuration, tuple[float, ...] | None]] = []
        self._objectives = objectives
        self._sampler = sampler or optuna.samplers.TPESampler(
            seed=seed, multivariate=False, n_startup_trials=0, n_ei_candidates=CANDIDATES
        )

    def tell(self, configuration: Configuration, value: float | Sequence[float] | None) -> None:
        """A configuration was measured; None where it failed."""
        values = value if value is None or isinstance(value, Sequence) else (value,)
        self._known.append((configuration, None if values is None else tuple(values)))

    def ask(self, taken: Collection[Configuration]) -> Configuration:
        """The next configuration to measure, none of `taken`."""
        study = self._study()
        for _ in range(_TRIES):
            trial = study.ask()
            chosen = {each.name: _suggested(trial, each) for each in self._space.dimensions}
            found = within(self._space.dimensions, self._space.start.with_values(chosen), self._limits)
            if found not in taken:
                return found
        return self._anywhere(taken)

    def _study(self) -> "optuna.Study":
        import optuna

        study = optuna.create_study(directions=["maximize"] * self._objectives, sampler=self._sampler)
        worked = [value for _, value in self._known if value is not None] or [(0.0,) * self._objectives]
        worst = [min(column) - FAILED for column in zip(*worked, strict=True)]
        for configuration, value in self._known:
            study.add_trial(
                optuna.trial.create_trial(
                    params={each.name: _parameter(each, configuration) for each in self._space.dimensions},
                    distributions={each.name: _distribution(each) for each in self._space.dimensions},
                    values=worst if value is None else value,
                )
            )
        return study

    def _anywhere(self, taken: Collection[Configuration]) -> Configuration:
        """A random one; a small space may have none left, and then one is measured again."""
        found = self._space.start
        for _ in range(_TRIES):
            chosen = {each.name: self._chance.choice(each.levels) for each in self._space.dimensions}
            found = within(self._space.dimensions, self._space.start.with_values(chosen), self._limits)
            if found not in taken:
                break
        return found


def _distribution(dimension: Dimension) -> "BaseDistribution":
    from optuna.distributions import CategoricalDistribution, IntDistribution

    if dimension.ordered:
        return IntDistribution(0, len(dimension.levels) - 1)
    return CategoricalDistribution(dimension.levels)


def _parameter(dimension: Dimension, configuration: Configuration) -> int | str:
    at = index_of(dimension.levels, configuration.values[dimension.name])
    return at if dimension.ordered else dimension.levels[at]


def _suggested(trial: "Trial", dimension: Dimension) -> str:
    if dimension.ordered:
        return dimension.levels[trial.suggest_int(dimension.name, 0, len(dimension.levels) - 1)]
    return str(trial.suggest_categorical(dimension.name, dimension.levels))
