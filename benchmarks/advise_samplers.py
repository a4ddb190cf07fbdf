"""Ways to propose the next batch of a search, beside each other in benchmarks/advise.py (`--samplers`).

Optuna's samplers, and what `pgassay advise` does: half of a batch from a Gaussian process of its own. The process and
CMA-ES of Optuna know what is under way, or how far they are, only by their study: so these have one study throughout.
What a sampler needs beside Optuna (torch, cmaes) is not in our lock files, since nothing of pgassay takes it.
"""

import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Protocol

import optuna
from optuna.samplers import BaseSampler, CmaEsSampler, GPSampler, RandomSampler, TPESampler

from pgassay.advise.budget import BATCH
from pgassay.advise.search import GUESSES, Search
from pgassay.advise.smoothing import Gains, expected, hopeful, promising
from pgassay.advise.space import Configuration, Dimension, Limits, Space

HALF = "tpe and process"
GP, CMA_ES = "gaussian process", "cma-es"
WAYS = ("random", "tpe", "tpe multivariate", GP, CMA_ES, HALF)
NEEDS = {GP: "torch", CMA_ES: "cmaes"}
"""The package that a way needs beside Optuna."""
_TRIES = 5


def possible(wanted: Sequence[str] = WAYS) -> tuple[str, ...]:
    """The wanted ways that can be tried here; what lacks a package is said by name."""
    missing = {way: NEEDS[way] for way in wanted if way in NEEDS and find_spec(NEEDS[way]) is None}
    for way, package in missing.items():
        print(f"{way}: not compared, {package} is not installed")
    return tuple(way for way in wanted if way not in missing)


def sampler_of(name: str, seed: int) -> BaseSampler:
    """One of Optuna's samplers; CMA-ES with the margin that keeps whole numbers apart."""
    if name == "random":
        return RandomSampler(seed=seed)
    if name == GP:
        return GPSampler(seed=seed, warn_independent_sampling=False)
    if name == CMA_ES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            return CmaEsSampler(seed=seed, with_margin=True, warn_independent_sampling=False)
    return TPESampler(seed=seed, multivariate=name == "tpe multivariate")


class Proposer(Protocol):
    """Proposes batches, and learns what became of them."""

    def batch(self) -> list[Configuration]:
        """So many configurations as share a trial of the start."""
        ...

    def learn(self, gains: Sequence[tuple[Configuration, float | None]]) -> None:
        """Their log-ratios to the start; None where one failed."""
        ...

    def choice(self) -> Configuration | None:
        """The configuration of which most is expected by all that was learnt; None: take the best sample."""
        ...


def proposer_of(way: str, space: Space, limits: Limits, seed: int) -> Proposer:
    """The way of that name."""
    if way in NEEDS:
        return Living(space, sampler_of(way, seed))
    if way == HALF:
        return Half(space, limits, Search(space, limits, seed))
    return Anew(space, Search(space, limits, seed, sampler_of(way, seed)))


class Anew:
    """The product's search with any sampler."""

    def __init__(self, space: Space, search: Search) -> None:
        self.space, self._search = space, search

    def batch(self) -> list[Configuration]:
        """All by the sampler."""
        return self.filled([])

    def filled(self, batch: list[Configuration]) -> list[Configuration]:
        """The batch with as many proposals of the sampler as it lacks."""
        while len(batch) < BATCH:
            batch.append(self._search.ask([*batch, self.space.start]))
        return batch

    def learn(self, gains: Sequence[tuple[Configuration, float | None]]) -> None:
        """One by one."""
        for configuration, gain in gains:
            self._search.tell(configuration, gain)

    def choice(self) -> Configuration | None:
        """The best sample."""
        return None


class Half(Anew):
    """As `pgassay advise` does, without what a screening knows: half where our process hopes, half by TPE."""

    def __init__(self, space: Space, limits: Limits, search: Search) -> None:
        super().__init__(space, search)
        self._limits = limits
        self._seen: list[Sequence[tuple[Configuration, Gains | None]]] = []

    def batch(self) -> list[Configuration]:
        """Where most is expected, or may be hoped for; the others by TPE."""
        process, found = expected(self.space, self._seen), list[Configuration]()
        if process is not None:
            near = self._best()
            for spreads in GUESSES:
                guess = hopeful(process, near, self._limits, [*found, self.space.start], spreads)
                found += [] if guess is None else [guess]
        return self.filled(found)

    def learn(self, gains: Sequence[tuple[Configuration, float | None]]) -> None:
        """By both."""
        super().learn(gains)
        self._seen.append([(each, None if gain is None else (gain,)) for each, gain in gains])

    def choice(self) -> Configuration | None:
        """By the process."""
        return self._best()

    def _best(self) -> Configuration:
        known = promising(expected(self.space, self._seen), self._seen)
        return max(known, key=lambda each: known[each])


class Living:
    """A sampler that has one study from the first trial to the last."""

    def __init__(self, space: Space, sampler: BaseSampler) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._space = space
        self._study = optuna.create_study(direction="maximize", sampler=sampler)
        self._under_way: dict[Configuration, optuna.trial.Trial] = {}

    def batch(self) -> list[Configuration]:
        """One after the other, each told of those before it as trials under way."""
        for _ in range(BATCH * _TRIES):
            if len(self._under_way) == BATCH:
                break
            trial = self._study.ask()
            chosen = {each.name: _suggested(trial, each) for each in self._space.dimensions}
            found = self._space.start.with_values(chosen)
            if found in self._under_way or found == self._space.start:
                self._study.tell(trial, state=optuna.trial.TrialState.FAIL)  # it is measured already
            else:
                self._under_way[found] = trial
        return list(self._under_way)

    def learn(self, gains: Sequence[tuple[Configuration, float | None]]) -> None:
        """What was under way has ended."""
        for configuration, gain in gains:
            state = optuna.trial.TrialState.FAIL if gain is None else None
            self._study.tell(self._under_way.pop(configuration), gain, state=state)

    def choice(self) -> Configuration | None:
        """The best sample."""
        return None


def _suggested(trial: optuna.trial.Trial, dimension: Dimension) -> str:
    """A level: of ordered ones by its number."""
    if dimension.ordered:
        return dimension.levels[trial.suggest_int(dimension.name, 0, len(dimension.levels) - 1)]
    return str(trial.suggest_categorical(dimension.name, dimension.levels))
