"""Does a front hold? Simulated servers with two objectives of known truth: speed, and a cost that trades against it.

usage: python -m benchmarks.advise_front [--servers 40] [--noises 0.03,0.10,0.30] [--settings 15] [--objectives 2|3]
           [--points 5] [--budget 1200] [--seed 1]

The servers are those of benchmarks/advise.py; with three objectives they are speed, a tail of latency, and bytes.
Printed for each noise: the share of the area (of three: the volume) below the true front that the points to choose from
miss, and how many of these points are false: truly no better than the start in anything, or truly worse in everything,
by more than 2 %, than another configuration that was measured beside it. As many points are taken
of what random search and Optuna's samplers saw in as many trials, and of the true front itself: so much is missed by
being few. All figures are of a simulation.
"""

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import exp, log
from statistics import fmean, median

from optuna.samplers import BaseSampler, NSGAIISampler

from benchmarks.advise import ACTIVE, LIMITS, RESOLUTION, TPS, TRIAL_S, Server, space_with
from benchmarks.advise_samplers import sampler_of
from pgassay.advise.budget import BATCH, POINTS, amounts
from pgassay.advise.front import picked
from pgassay.advise.search import Search
from pgassay.advise.smoothing import Gains
from pgassay.advise.space import Configuration, index_of
from pgassay.advise.task import Task
from pgassay.advise.walk import walk
from pgassay.study.responses import Better, Response

COST = Response("cost", "cost of a transaction", "us", Better.LOWER)
OBJECTIVES = ("tps", "cost")
TAIL = Response("p99", "99th percentile of latency", "ms", Better.LOWER)
SIZE = Response("bytes", "bytes on the drive", "bytes", Better.LOWER)
TWO = {"tps": TPS, "cost": COST}
THREE = {"tps": TPS, "p99": TAIL, "bytes": SIZE}
COST_NOISE = 0.3
"""Of the noise of speed: costs repeat better."""


@dataclass
class TwoServer(Server):
    """Two objectives: what makes it fast costs, but for one setting."""

    @property
    def responses(self) -> Mapping[str, Response]:
        """The objectives."""
        return TWO

    @property
    def others(self) -> tuple[bool, ...]:
        """Is more better, of each objective but speed?"""
        return tuple(each.better is Better.HIGHER for each in self.responses.values())[1:]

    def places(self, configuration: Configuration) -> list[float]:
        """Of each setting that matters where it is between its lowest level, 0, and its highest, 1."""
        return [index_of(each.levels, configuration.values[each.name]) / (len(each.levels) - 1)
                for each in self.space.dimensions[:ACTIVE]]  # fmt: skip

    def cost(self, configuration: Configuration) -> float:
        """The true log-cost: 0 at the start."""
        at = self.places(configuration)
        one, two, inside, together = self.sizes
        return 0.8 * one * at[0] ** 2 + 0.6 * two * at[1] - 0.3 * inside * at[2] - 0.5 * together * at[3]

    def gains(self, configuration: Configuration) -> tuple[float, ...]:
        """The truth of each, higher is better."""
        return self.truth(configuration), -self.cost(configuration)

    def configurations(self) -> list[Configuration]:
        """Every one of the settings that matter."""
        names = [each.name for each in self.space.dimensions[:ACTIVE]]
        levels = product(*(each.levels for each in self.space.dimensions[:ACTIVE]))
        return [self.space.start.with_values(dict(zip(names, each, strict=True))) for each in levels]

    def all_of(self, configuration: Configuration, common: float) -> tuple[float, ...] | None:
        """One trial."""
        speed = self.measure(configuration, common)
        noise = self.chance.gauss(0, COST_NOISE * self.noise)
        return None if speed is None else (speed, 100 * exp(self.cost(configuration) + noise - COST_NOISE * common))


@dataclass
class ThreeServer(TwoServer):
    """Three objectives: what makes it fast costs in the tail of latency or in bytes, and a setting trades these two.

    Each has noise of its own; what disturbs a whole batch slows its tail as well, and leaves bytes alone.
    """

    @property
    def responses(self) -> Mapping[str, Response]:
        """The objectives."""
        return THREE

    def tail(self, configuration: Configuration) -> float:
        """The true log of the tail of latency: 0 at the start."""
        at, (one, _, inside, _) = self.places(configuration), self.sizes
        return 0.7 * one * at[0] - 0.4 * inside * at[2]

    def size(self, configuration: Configuration) -> float:
        """The true log of the bytes: 0 at the start."""
        at, (_, two, inside, together) = self.places(configuration), self.sizes
        return 0.8 * two * at[1] + 0.3 * inside * at[2] ** 2 - 0.5 * together * at[3]

    def gains(self, configuration: Configuration) -> tuple[float, ...]:
        """The truth of each, higher is better."""
        return self.truth(configuration), -self.tail(configuration), -self.size(configuration)

    def all_of(self, configuration: Configuration, common: float) -> tuple[float, ...] | None:
        """One trial."""
        speed = self.measure(configuration, common)
        tail, size = self.chance.gauss(0, self.noise), self.chance.gauss(0, COST_NOISE * self.noise)
        if speed is None:
            return None
        return speed, 10 * exp(self.tail(configuration) + tail - common), 1e9 * exp(self.size(configuration) + size)


def volume(points: Iterable[tuple[float, ...]], corner: tuple[float, ...]) -> float:
    """Of what these points dominate, from `corner` on: an area, or a volume, slice by slice."""
    inside = [each for each in points if all(mine > low for mine, low in zip(each, corner, strict=True))]
    if len(corner) == 2:
        return area(inside, corner)
    found, low = 0.0, corner[-1]
    for height in sorted({each[-1] for each in inside}):
        found += (height - low) * volume([each[:-1] for each in inside if each[-1] >= height], corner[:-1])
        low = height
    return found


def area(points: Iterable[tuple[float, ...]], corner: tuple[float, ...]) -> float:
    """Of what these points dominate, from `corner` on."""
    found, height = 0.0, corner[1]
    for right, up, *_ in sorted(points, reverse=True):
        if right > corner[0] and up > height:
            found += (right - corner[0]) * (up - height)
            height = up
    return found


@dataclass(frozen=True)
class FrontOutcome:
    """One server, one way: the share of the front's area (or volume) that is missed, and how many points are false."""

    missed: float
    points: int
    false: int
    trials: int


def fronted(server: TwoServer, offered: Sequence[Configuration], beside: Sequence[Configuration]) -> FrontOutcome:
    """What was offered, by the truth; `beside` it others were measured."""
    every = [server.gains(each) for each in server.configurations()]
    corner = tuple(min(column) for column in zip(*every, strict=True))
    truths = [server.gains(each) for each in offered]
    others = [server.gains(each) for each in beside]
    sure = log(1 + RESOLUTION)
    false = sum(
        max(mine) <= 0 or any(all(b > a + sure for a, b in zip(mine, theirs, strict=True)) for theirs in others)
        for mine in truths
    )
    missed = 1 - volume([(0.0,) * len(corner), *truths], corner) / volume(every, corner)
    return FrontOutcome(missed, len(offered), false, server.trials)


def advised_front(server: TwoServer, budget_s: float, points: int = POINTS) -> FrontOutcome:
    """By pgassay advise with all of the server's objectives."""
    steps = amounts(budget_s, TRIAL_S, len(server.space.dimensions), finalists=points, objectives=len(server.responses))
    task = Task(server.space, LIMITS, steps, True, 0.05, server.seed, server.others)
    found = walk(task, server)
    return fronted(server, [each.configuration for each in found.front], [each.configuration for each in found.points])


def searched_front(server: TwoServer, trials: int, sampler: str, points: int = POINTS) -> FrontOutcome:
    """By the best samples of a search that has as many trials; of these as many as we confirm."""
    search = Search(server.space, LIMITS, server.seed, front_sampler(sampler, server.seed), len(server.responses))
    start, seen = server.space.start, dict[Configuration, Gains]()
    while server.trials < trials:
        batch: list[Configuration] = []
        while len(batch) < BATCH:
            batch.append(search.ask([*batch, start]))
        values = server.batch("", start, batch, 0)
        base = values[start]
        for each in batch:
            value = values[each]
            gain = _gain(server, value, base) if value and base else None
            search.tell(each, gain)
            if gain is not None:
                seen[each] = gain
    known = {**seen, start: (0.0,) * len(server.responses)}
    chosen = [each for each in picked(known, points) if each != start]
    return fronted(server, chosen, [*chosen, start])


def _gain(server: TwoServer, value: tuple[float, ...], base: tuple[float, ...]) -> Gains:
    """Log-ratios to the start, higher is better."""
    signs = (1 if each.better is Better.HIGHER else -1 for each in server.responses.values())
    return tuple(sign * log(mine / its) for sign, mine, its in zip(signs, value, base, strict=True))


def row(name: str, noise: float, outcomes: Sequence[FrontOutcome]) -> str:
    """A line of the table of fronts."""
    points, false = sum(each.points for each in outcomes), sum(each.false for each in outcomes)
    return (
        f"{noise:5.0%}  {name:26}  {median(each.missed for each in outcomes):>7.1%}"
        f"  {fmean(each.missed for each in outcomes):>7.1%}  {f'{false}/{points}':>9}"
        f"  {sum(each.false > 0 for each in outcomes):>5}/{len(outcomes)}"
        f"  {fmean(each.trials for each in outcomes):>6.0f}"
    )


HEAD = "noise  way                          missed     mean      false  servers  trials"


def front_sampler(name: str, seed: int) -> BaseSampler:
    """One of Optuna's samplers for several objectives."""
    return NSGAIISampler(seed=seed, population_size=4 * BATCH) if name == "nsga-ii" else sampler_of(name, seed)


def ideal(server: TwoServer, points: int = POINTS) -> FrontOutcome:
    """By as many points of the true front, picked as we pick: what no way with so few points can beat by much."""
    gains = {each: server.gains(each) for each in server.configurations()}
    return fronted(server, picked(gains, points), [])


def main() -> None:
    """Simulate, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", type=int, default=40)
    parser.add_argument("--noises", default="0.03,0.10,0.30")
    parser.add_argument("--settings", type=int, default=15)
    parser.add_argument("--budget", type=float, default=1200.0, help="seconds, of trials of 6 s")
    parser.add_argument("--points", type=int, default=POINTS, help="to choose from, at most")
    parser.add_argument("--objectives", type=int, choices=(2, 3), default=2)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    kind = TwoServer if arguments.objectives == 2 else ThreeServer
    print(HEAD)
    space, seeds = space_with(arguments.settings), range(arguments.seed, arguments.seed + arguments.servers)
    for noise in map(float, arguments.noises.split(",")):
        made = partial(kind, space, noise)
        ours = [advised_front(made(seed), arguments.budget, arguments.points) for seed in seeds]
        print(row("pgassay advise", noise, ours), flush=True)
        for way in ("random", "tpe", "nsga-ii"):
            found = [
                searched_front(made(seed), each.trials, way, arguments.points)
                for seed, each in zip(seeds, ours, strict=True)
            ]
            print(row(f"{way}, best as seen", noise, found), flush=True)
        best = [ideal(made(seed), arguments.points) for seed in seeds]
        print(row("as many of the true front", noise, best), flush=True)


if __name__ == "__main__":
    main()
