"""Would `pgassay advise` find more if it knew how noisy each configuration is? Simulated, with noise that differs.

usage: python -m benchmarks.advise_variances [--servers 12] [--noises 0.03,0.10] [--factors 1.7] [--settings 15]
           [--seed 1001]

The servers are those of benchmarks/advise.py, but trials under the start's level of the first setting that matters are
so many times as noisy as the others, as trials were under a `commit_delay` (benchmarks/advise_quick.py, `--hiding`).
The whole advice is walked twice on each: its Gaussian process counts all trials as equally noisy, as it does, or it is
told their true variances, which nobody knows of a real server. Printed, in per cent of speed: the mean regret of what
the search chose and of what was advised, both ways; and by how much the second does better, with its 95 % interval
(Student's, over servers). All figures are of a simulation.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from unittest.mock import patch

from benchmarks.advise import TRIAL_S, Server, percent, space_with
from benchmarks.ratios import interval
from pgassay.advise import walk as walking
from pgassay.advise.budget import amounts
from pgassay.advise.smoothing import smoothed
from pgassay.advise.space import Configuration
from pgassay.advise.task import Task

NOISY = "s0"


@dataclass
class Uneven(Server):
    """Noisier where `NOISY` is at its start."""

    factor: float = 1.0

    def times(self, configuration: Configuration) -> float:
        """How many times the others' noise a trial of it has."""
        return self.factor if configuration.values[NOISY] == self.space.start.values[NOISY] else 1.0

    def noise_of(self, configuration: Configuration) -> float:
        """Of one trial of it."""
        return self.noise * self.times(configuration)

    def variance(self, configuration: Configuration) -> float:
        """How many times the others' variance a trial of it has."""
        return self.times(configuration) ** 2


@dataclass(frozen=True)
class Regrets:
    """What one advice left on the table, as log-ratios: by what the search chose, and by what was advised."""

    search: float
    advice: float


def walked(server: Uneven, budget_s: float, *, told: bool) -> Regrets:
    """An advice whose process is told the variances, or not."""
    steps = amounts(budget_s, server.trial_s, len(server.space.dimensions), finalists=1)
    process = partial(smoothed, variance=server.variance) if told else smoothed
    with patch.object(walking, "smoothed", process):
        found = walking.walk(Task(server.space, server.room, steps, True, 0.05, server.seed), server)
    advised = found.recommended if found.confirmed and found.recommended else server.space.start
    return Regrets(*(server.best() - server.truth(each) for each in (found.best or server.space.start, advised)))


def compared(name: str, common: Sequence[float], known: Sequence[float]) -> str:
    """A line of the table: both means, and what knowing gains, server by server."""
    gained = [one - other for one, other in zip(common, known, strict=True)]
    return f"  {name:7}  {percent(fmean(common)):>8}  {percent(fmean(known)):>8}  {interval(gained)}"


HEAD = "         one noise     known  gained by knowing (ratio of speeds)"


def main() -> None:
    """Simulate, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", type=int, default=12)
    parser.add_argument("--noises", default="0.03,0.10", help="of a trial of those that are less noisy")
    parser.add_argument("--factors", default="1.7", help="how many times as noisy the others are")
    parser.add_argument("--settings", type=int, default=15)
    parser.add_argument("--budget", type=float, default=1200.0, help=f"seconds, of trials of {TRIAL_S:g} s")
    parser.add_argument("--seed", type=int, default=1001)
    arguments = parser.parse_args()
    print(HEAD)
    space, seeds = space_with(arguments.settings), range(arguments.seed, arguments.seed + arguments.servers)
    for factor in map(float, arguments.factors.split(",")):
        for noise in map(float, arguments.noises.split(",")):
            common, known = (
                [walked(Uneven(space, noise, seed, factor=factor), arguments.budget, told=told) for seed in seeds]
                for told in (False, True)
            )
            print(f"noise {noise:.1%}, {factor:g} times that under {NOISY}'s start, {len(seeds)} servers")
            print(compared("search", [each.search for each in common], [each.search for each in known]))
            print(compared("advice", [each.advice for each in common], [each.advice for each in known]), flush=True)


if __name__ == "__main__":
    main()
