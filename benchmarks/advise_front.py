"""Does a front hold? Simulated servers with two objectives of known truth: speed, and a cost that trades against it.

usage: python -m benchmarks.advise_front [--servers 40] [--noises 0.03,0.10,0.30] [--settings 15] [--seed 1]

The servers are those of benchmarks/advise.py. Printed for each noise: the share of the area below the true front that
the points to choose from miss, and how many of these points are false: truly no better than the start in anything, or
truly worse in both, by more than 2 %, than another configuration that was measured beside it. As many points are taken
of what random search and Optuna's samplers saw in as many trials, and of the true front itself: so much is missed by
being few. All figures are of a simulation.
"""

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import exp, log
from statistics import fmean, median

from optuna.samplers import BaseSampler, NSGAIISampler

from benchmarks.advise import ACTIVE, BATCH_NOISE, LIMITS, RESOLUTION, TPS, TRIAL_S, Server, sampler_of, space_with
from pgassay.advise.budget import BATCH, FRONT_POINTS, front_amounts
from pgassay.advise.front import Gains, Seen, picked
from pgassay.advise.front_walk import walk_front
from pgassay.advise.search import Search
from pgassay.advise.space import Configuration, index_of
from pgassay.advise.task import Task
from pgassay.analysis.observations import Observation
from pgassay.study.responses import Better, Response
from pgassay.study.thresholds import Limit

COST = Response("cost", "cost of a transaction", "us", Better.LOWER)
OBJECTIVES = ("tps", "cost")
COST_NOISE = 0.3
"""Of the noise of speed: costs repeat better."""


@dataclass
class TwoServer(Server):
    """Two objectives: what makes it fast costs, but for one setting. A `front_walk.FrontLaboratory`."""

    limits: tuple[Limit, ...] = ()

    def cost(self, configuration: Configuration) -> float:
        """The true log-cost: 0 at the start."""
        at = [index_of(each.levels, configuration.values[each.name]) / (len(each.levels) - 1)
              for each in self.space.dimensions[:ACTIVE]]  # fmt: skip
        one, two, inside, together = self.sizes
        return 0.8 * one * at[0] ** 2 + 0.6 * two * at[1] - 0.3 * inside * at[2] - 0.5 * together * at[3]

    def gains(self, configuration: Configuration) -> tuple[float, float]:
        """The truth of both, higher is better."""
        return self.truth(configuration), -self.cost(configuration)

    def configurations(self) -> list[Configuration]:
        """Every one of the settings that matter."""
        names = [each.name for each in self.space.dimensions[:ACTIVE]]
        levels = product(*(each.levels for each in self.space.dimensions[:ACTIVE]))
        return [self.space.start.with_values(dict(zip(names, each, strict=True))) for each in levels]

    def both(self, configuration: Configuration, common: float) -> tuple[float, ...] | None:
        """One trial."""
        speed = self.measure(configuration, common)
        noise = self.chance.gauss(0, COST_NOISE * self.noise)
        return None if speed is None else (speed, 100 * exp(self.cost(configuration) + noise - COST_NOISE * common))

    def vectors(
        self, name: str, start: Configuration, configurations: Sequence[Configuration], seed: int
    ) -> Mapping[Configuration, tuple[float, ...] | None]:
        """One trial of each; one that breaks a limit has failed."""
        common = self.chance.gauss(0, BATCH_NOISE)
        found = {each: self.both(each, common) for each in (start, *configurations)}
        return {each: values and (values if self._keeps(values) else None) for each, values in found.items()}

    def _keeps(self, values: tuple[float, ...]) -> bool:
        return all(values[OBJECTIVES.index(each.response.name)] < each.value for each in self.limits)

    def seen(
        self, name: str, start: Configuration, arms: Sequence[Configuration], seed: int, blocks: int, budget_s: float
    ) -> Seen:
        """So many blocks of all."""
        everything, observations = [start, *arms], {each: list[Observation]() for each in OBJECTIVES}
        failed: dict[Configuration, str] = {}
        for block in range(1, blocks + 1):
            common = self.chance.gauss(0, BATCH_NOISE)
            for number, each in enumerate(everything):
                values = self.both(each, common)
                if values is None:
                    failed[each] = "does not start"
                for response, value in zip(OBJECTIVES, values or (), strict=False):
                    observations[response].append(Observation(block, str(number), "", "", value))
        return Seen(everything, observations, {"tps": TPS, "cost": COST}, self.limits, failed)


def area(points: Iterable[tuple[float, ...]], corner: tuple[float, float]) -> float:
    """Of what these points dominate, from `corner` on."""
    found, height = 0.0, corner[1]
    for right, up, *_ in sorted(points, reverse=True):
        if right > corner[0] and up > height:
            found += (right - corner[0]) * (up - height)
            height = up
    return found


@dataclass(frozen=True)
class FrontOutcome:
    """One server, one way: the share of the front's area that is missed, and how many of how many points are false."""

    missed: float
    points: int
    false: int
    trials: int


def fronted(server: TwoServer, offered: Sequence[Configuration], beside: Sequence[Configuration]) -> FrontOutcome:
    """What was offered, by the truth; `beside` it others were measured."""
    every = [server.gains(each) for each in server.configurations()]
    corner = (min(each[0] for each in every), min(each[1] for each in every))
    truths = [server.gains(each) for each in offered]
    others = [server.gains(each) for each in beside]
    sure = log(1 + RESOLUTION)
    false = sum(
        max(mine) <= 0 or any(all(b > a + sure for a, b in zip(mine, theirs, strict=True)) for theirs in others)
        for mine in truths
    )
    missed = 1 - area([(0.0, 0.0), *truths], corner) / area(every, corner)
    return FrontOutcome(missed, len(offered), false, server.trials)


def advised_front(server: TwoServer, budget_s: float) -> FrontOutcome:
    """By pgassay advise with two objectives."""
    steps = front_amounts(budget_s, TRIAL_S, len(server.space.dimensions), points=FRONT_POINTS)
    task = Task(server.space, LIMITS, steps, True, 0.05, server.seed, (False,))
    found = walk_front(task, server, OBJECTIVES, RESOLUTION, lambda said: None)
    return fronted(server, [each.configuration for each in found.front], [each.configuration for each in found.points])


def searched_front(server: TwoServer, trials: int, sampler: str) -> FrontOutcome:
    """By the best samples of a search that has as many trials; of these as many as we confirm."""
    search = Search(server.space, LIMITS, server.seed, front_sampler(sampler, server.seed), len(OBJECTIVES))
    start, seen = server.space.start, dict[Configuration, Gains]()
    while server.trials < trials:
        batch: list[Configuration] = []
        while len(batch) < BATCH:
            batch.append(search.ask([*batch, start]))
        values = server.vectors("", start, batch, 0)
        base = values[start]
        for each in batch:
            value = values[each]
            gain = (log(value[0] / base[0]), -log(value[1] / base[1])) if value and base else None
            search.tell(each, gain)
            if gain is not None:
                seen[each] = gain
    chosen = [each for each in picked({**seen, start: (0.0, 0.0)}, FRONT_POINTS) if each != start]
    return fronted(server, chosen, [*chosen, start])


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


def ideal(server: TwoServer) -> FrontOutcome:
    """By as many points of the true front, picked as we pick: what no way with so few points can beat by much."""
    gains = {each: server.gains(each) for each in server.configurations()}
    return fronted(server, picked(gains, FRONT_POINTS), [])


def main() -> None:
    """Simulate, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", type=int, default=40)
    parser.add_argument("--noises", default="0.03,0.10,0.30")
    parser.add_argument("--settings", type=int, default=15)
    parser.add_argument("--budget", type=float, default=1200.0, help="seconds, of trials of 6 s")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print(HEAD)
    space, seeds = space_with(arguments.settings), range(arguments.seed, arguments.seed + arguments.servers)
    for noise in map(float, arguments.noises.split(",")):
        ours = [advised_front(TwoServer(space, noise, seed), arguments.budget) for seed in seeds]
        print(row("pgassay advise", noise, ours), flush=True)
        for way in ("random", "tpe", "nsga-ii"):
            found = [
                searched_front(TwoServer(space, noise, seed), each.trials, way)
                for seed, each in zip(seeds, ours, strict=True)
            ]
            print(row(f"{way}, best as seen", noise, found), flush=True)
        print(
            row("five of the true front", noise, [ideal(TwoServer(space, noise, seed)) for seed in seeds]), flush=True
        )


if __name__ == "__main__":
    main()
