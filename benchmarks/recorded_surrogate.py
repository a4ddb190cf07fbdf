"""A surrogate of a real server: what a recorded advice's trials say of every configuration, and how noisy they are.

usage: python -m benchmarks.recorded_surrogate RUN --out FILE

RUN is the folder of an advice. FILE keeps its space, its limits and the first objective of every valid trial, and
benchmarks/advise.py --recorded FILE sets ways to search beside each other on it. A surrogate costs no server, and its
truth is known: K. Eggensperger and others, "Efficient benchmarking of hyperparameter optimizers via surrogates" (AAAI
2015). Its surface is a line for each setting that may bend at its levels, and the products of the few that do most
(heredity: M. Hamada and C. F. J. Wu, 1992), by ridge regression (A. E. Hoerl and R. W. Kennard, 1970). The advice
searches by trees and a Gaussian process, and a surrogate of their kind would judge them by their own beliefs.

Printed: the noise of a trial, by configurations that were tried repeatedly, and how much of the trials' spread the
surface predicts where a trial is left out. All that is found on a surrogate is simulated.
"""

import argparse
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import log
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from pgassay.advise import folder
from pgassay.advise.constraints import Limits, allowed
from pgassay.advise.knowledge import Scale, Setting
from pgassay.advise.space import Configuration, Dimension, Space, index_of, is_level
from pgassay.record.reading import Run
from pgassay.report.findings import Findings
from pgassay.report.words import counted
from pgassay.study.responses import Status

Floats = npt.NDArray[np.float64]
_LINES = 0.01
"""What the squares of the slopes are penalised with: next to nothing, since a screening has seen both their ends."""
_BENDS = (0.1, 1.0, 10.0, 100.0)
"""The same of a level's distance from the line, and of products: most levels were seen in few trials. The largest is
taken whose error for trials left out is within a standard error of the least (L. Breiman and others, 1984)."""
_STRAIGHT = 0.01
"""Of a setting that does less than this (a log-ratio) the line hardly bends."""
_TOGETHER = 4
"""So many settings, of those that do most alone, may do something together."""
_CLIMBS = 30
"""Starts of the search for the surface's highest point; each climbs setting by setting."""


@dataclass(frozen=True)
class Axis:
    """A setting of the recorded space."""

    name: str
    levels: tuple[str, ...]
    start: str
    default: str
    rule: str
    ordered: bool


@dataclass(frozen=True)
class Trial:
    """What a trial measured; `changes` are from the start, and a batch is what ran beside each other."""

    batch: str
    changes: Mapping[str, str]
    value: float


@dataclass(frozen=True)
class Recorded:
    """What is kept of an advice."""

    source: str
    objective: str
    higher: bool
    axes: tuple[Axis, ...]
    limits: Limits
    trial_s: float
    trials: tuple[Trial, ...]

    @property
    def space(self) -> Space:
        """The space that was searched."""
        dimensions = tuple(
            Dimension(
                Setting(
                    each.name, each.default, Scale.LOG if each.ordered else Scale.ENUM, levels=each.levels,
                    rule=each.rule,
                ),
                each.levels, each.start, each.rule,
            )
            for each in self.axes
        )  # fmt: skip
        start = Configuration({each.name: each.start for each in self.axes})
        default = {each.name: _known(each.default, each.rule, each.levels) for each in self.axes}
        return Space(dimensions, start, start.with_values(default))


def _known(value: str, other: str, levels: Sequence[str]) -> str:
    """A default that is no level, such as -1 of wal_buffers, was never measured: the rule of thumb takes its place."""
    return value if is_level(levels, value) else other


def recorded(path: Path) -> Recorded:
    """What the runs of an advice measured; raises as `folder.read`."""
    kept = folder.read(path)
    task = kept.task
    axes = tuple(
        Axis(each.name, each.levels, each.start, each.setting.default, each.rule, each.ordered)
        for each in task.space.dimensions
    )
    runs = [Run.open(each.parent) for each in sorted(path.glob("*/study.toml"))]
    trials = tuple(trial for run in runs for trial in _trials(Findings(run), task.space, kept.question.objective))
    facts = runs[0].host
    postgres = ", ".join(sorted({str(each["version"]) for each in facts.get("postgres", [])}))
    return Recorded(
        f"{postgres}, {runs[0].header.started_utc[:10]}, seed {task.seed}: {dict(kept.question.load)}",
        kept.question.objective,
        task.higher,
        axes,
        task.limits,
        task.amounts.trial_s,
        trials,
    )


def _trials(findings: Findings, space: Space, objective: str) -> Iterator[Trial]:
    start = space.start
    changes: dict[str, dict[str, str] | None] = {}
    for each in findings.study.treatments:
        levels = {name.removeprefix("server."): level.typed for name, level in each.levels.items()}
        values = {
            one.name: levels.get(one.setting.factor.removeprefix("server."), one.setting.default)
            for one in space.dimensions
        }
        known = all(is_level(space.dimension(name).levels, value) for name, value in values.items())
        changes[each.name] = Configuration(values).changes_from(start) if known else None
    for trial in findings.trials:
        value, changed = trial.responses.get(objective), changes[trial.treatment]
        if trial.status is Status.VALID and value and changed is not None and not trial.condition:
            yield Trial(f"{findings.run.path.name}/{trial.block}", changed, value)


@dataclass(frozen=True)
class Surface:
    """The log of the objective above the start, higher is better."""

    space: Space
    shapes: Mapping[str, Floats]
    """Of the settings that do something together what each does alone at its levels, 1 at the most."""
    weights: Floats
    noise: float
    """Of one trial, as a standard deviation of its logarithm, by the configurations that were tried repeatedly."""
    predicted: float
    """Of the trials' variance within batches, the share that is predicted for a trial that is left out."""

    def gain(self, configuration: Configuration) -> float:
        """The log-ratio to the start."""
        return float(_features(self.space, configuration, self.shapes) @ self.weights)

    def highest(self, limits: Limits) -> float:
        """The gain of the best configuration that is allowed, by climbing from many starts."""
        chance, best = random.Random("climb"), 0.0
        for number in range(_CLIMBS):
            found = self.space.start
            if number:
                found = found.with_values({each.name: chance.choice(each.levels) for each in self.space.dimensions})
            best = max(best, self._climbed(found, limits))
        return best

    def _climbed(self, found: Configuration, limits: Limits) -> float:
        best = self.gain(found) if allowed(found, limits) else -np.inf
        while True:
            before = best
            for dimension in self.space.dimensions:
                for level in dimension.levels:
                    tried = found.with_values({dimension.name: level})
                    if allowed(tried, limits) and self.gain(tried) > best + 1e-12:
                        found, best = tried, self.gain(tried)
            if best == before:
                return float(best)


def surface(kept: Recorded) -> Surface:
    """The straightest surface of those that predict left-out trials about as well as the best of them."""
    straight = _fitted(kept, {}, {})
    sizes = {each.name: float(np.ptp(_levels(straight, each))) for each in kept.space.dimensions}
    alone = _fitted(kept, {}, sizes)
    found = {each.name: _levels(alone, each) for each in kept.space.dimensions}
    most = sorted(found, key=lambda name: -float(np.ptp(found[name])))[:_TOGETHER]
    shapes = {name: found[name] / np.max(np.abs(found[name])) for name in most if np.any(found[name])}
    return _fitted(kept, shapes, sizes)


def _fitted(kept: Recorded, shapes: Mapping[str, Floats], sizes: Mapping[str, float]) -> Surface:
    """With `sizes` of what each setting does by its line, lines bend; a setting that does little bends little."""
    space, sign = kept.space, 1 if kept.higher else -1
    rows = np.array([_features(space, space.start.with_values(each.changes), shapes) for each in kept.trials])
    gains = np.array([sign * log(each.value) for each in kept.trials])
    batches = np.array([each.batch for each in kept.trials])
    shares = np.ones(len(gains))
    for batch in set(batches.tolist()):
        own = batches == batch
        rows[own] -= rows[own].mean(axis=0)
        gains[own] -= gains[own].mean()
        shares[own] = 1 / np.sum(own)
    bends = _bends(space)
    products = rows.shape[1] - len(bends)
    lines = np.array([*(name is None for name in bends), *[False] * products])
    scales = np.array([*(max(sizes.get(name or "", 0.0), _STRAIGHT) ** -2 for name in bends), *[1.0] * products])
    fits = [_ridge(rows, gains, shares, np.where(lines, _LINES, each * scales)) for each in _BENDS]
    best = min(fits, key=lambda each: each.left_out)
    found = [each for each in fits if each.left_out <= best.left_out + best.error][-1]
    return Surface(space, shapes, found.weights, _noise(kept), 1 - found.left_out / float(np.mean(gains**2)))


def _noise(kept: Recorded) -> float:
    """What is left of trials of the same configurations when each of these, and each batch, has its own mean."""
    repeated = Counter(tuple(sorted(each.changes.items())) for each in kept.trials)
    seen = [(tuple(sorted(each.changes.items())), each.batch, log(each.value)) for each in kept.trials]
    seen = [each for each in seen if repeated[each[0]] > 1]
    columns = {name: at for at, name in enumerate(dict.fromkeys(each for one in seen for each in one[:2]))}
    x, y = np.zeros((len(seen), len(columns))), np.array([value for *_, value in seen])
    for row, (configuration, batch, _) in enumerate(seen):
        x[row, [columns[configuration], columns[batch]]] = 1.0
    fit, _, rank, _ = np.linalg.lstsq(x, y, rcond=None)
    return float(np.sqrt(np.sum((y - x @ fit) ** 2) / max(1, len(y) - rank)))


def _levels(alone: Surface, dimension: Dimension) -> Floats:
    """What the levels of a setting do, all else at the start."""
    start = alone.space.start
    return np.array([alone.gain(start.with_values({dimension.name: each})) for each in dimension.levels])


@dataclass(frozen=True)
class _Ridge:
    weights: Floats
    left_out: float
    """The mean squared error of trials that are left out."""
    error: float
    """The standard error of that mean."""


def _ridge(rows: Floats, gains: Floats, batch_share: Floats, penalties: Floats) -> _Ridge:
    """One fit; errors of trials left out are by the hat matrix, of which the batch's mean takes a share."""
    inverse = np.linalg.inv(rows.T @ rows + np.diag(penalties))
    weights = inverse @ rows.T @ gains
    leverage = np.minimum(np.einsum("ij,jk,ik->i", rows, inverse, rows) + batch_share, 0.99)
    errors = gains - rows @ weights
    squares = (errors / (1 - leverage)) ** 2
    return _Ridge(weights, float(np.mean(squares)), float(np.std(squares)) / len(gains) ** 0.5)


def _features(space: Space, configuration: Configuration, shapes: Mapping[str, Floats]) -> Floats:
    """Zero at the start: of an ordered setting how far it is and where it is, of words where; products of shapes."""
    found, at = list[float](), dict[str, int]()
    for each in space.dimensions:
        at[each.name] = here = index_of(each.levels, configuration.values[each.name])
        start = index_of(each.levels, each.start)
        if each.ordered:
            found.append((here - start) / max(1, len(each.levels) - 1))
        found += [float(here == number) for number in range(len(each.levels)) if number != start]
    pairs = [shapes[one][at[one]] * shapes[other][at[other]] for one, other in combinations(shapes, 2)]
    return np.array([*found, *pairs])


def _bends(space: Space) -> list[str | None]:
    """Of the features of one setting alone whose distance from its line each is; None of lines and words."""
    found: list[str | None] = []
    for each in space.dimensions:
        found += [None, *[each.name] * (len(each.levels) - 1)] if each.ordered else [None] * (len(each.levels) - 1)
    return found


def read(path: Path) -> Recorded:
    """A file of ours."""
    return msgspec.json.decode(path.read_bytes(), type=Recorded)


def write(path: Path, kept: Recorded) -> None:
    """Keep it, a trial a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n")


def told(kept: Recorded, found: Surface) -> str:
    """What is printed."""
    return (
        f"{kept.source}\n{len(kept.trials)} trials, {counted(len(kept.axes), 'setting')}:"
        f" noise of a trial {found.noise:.1%},"
        f" {found.predicted:.0%} of the variance of {kept.objective} predicted for trials left out,"
        f" best configuration x{np.exp(found.highest(kept.limits)):.2f}"
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Read the runs, keep the trials, say how good the surface is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, metavar="RUN")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    arguments = parser.parse_args(argv)
    kept = recorded(arguments.run)
    write(arguments.out, kept)
    print(told(kept, surface(kept)))


if __name__ == "__main__":
    main()
