"""Does an advice hold? Simulated servers with known truth: effects, an interaction, an optimum inside, placebos, noise.

usage: python -m benchmarks.advise [--servers 40] [--noises 0.03,0.10,0.30] [--settings 15] [--samplers [WAYS]]
           [--seed 1] [--trial SECONDS] [--noise-from-start SHARE] [--only-ours] [--drift SHARE]

Each server has so many settings, of which four matter: two by their level, one with its best level inside, and one only
together with the first. A trial has log-normal noise, a batch or block a common one of 10 %. Printed for each noise:
the true gain left on the table (regret, in per cent of speed) after the same number of trials by pgassay advise, by
random search and by Optuna's TPE whose winner is the best sample; what winner's sample and our confirmation promised
too much; and how often a placebo was recommended. With --samplers only the search itself, without the proof, by the
ways of benchmarks/advise_samplers.py: which one to take. With --drift the machine changes by so much in a hundred
trials, steadily. All figures are of a simulation.

--noises are of trials of 6 s, of which 2.6 s are the server's start and the clone. With --trial a trial is shorter or
longer: so many more or fewer fit into the budget, and what is within the measured window, all but the share of the
noise (of its variance) that --noise-from-start says, is larger or smaller by the window's length.
"""

import argparse
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import exp, isfinite, log, sqrt
from statistics import fmean, median

from benchmarks import advise_samplers
from benchmarks.simulated_study import played
from pgassay.advise.budget import BLOCKS_MAX, BLOCKS_MIN, amounts
from pgassay.advise.knowledge import Scale, Setting
from pgassay.advise.screenings import in_turns
from pgassay.advise.smoothing import Holding, LimitChance, holding
from pgassay.advise.space import Configuration, Limits, Machine, Space, differing, index_of, space_of
from pgassay.advise.task import Compared, PointTrials, Task, Values, inverted
from pgassay.advise.walk import walk
from pgassay.analysis.observations import Observation
from pgassay.study.responses import Better, Response
from pgassay.study.thresholds import Limit

BATCH_NOISE = 0.10
ACTIVE = 4
TPS = Response("tps", "transactions per second", "1/s", Better.HIGHER)
TRIAL_S, START_S = 6.0, 2.6
"""A trial, and what of it is always the server's start and the clone."""
RESOLUTION = 0.02
BLOCKS = 10
LIMITS = Limits(64 << 30, 4)


def space_with(settings: int) -> Space:
    """Ordered settings of five levels, and every third one a word."""
    found = []
    for number in range(settings):
        if number % 3 == 2 and number >= ACTIVE:
            found.append(Setting(f"s{number}", "a", Scale.ENUM, levels=("a", "b"), rule="b" if number % 2 else ""))
        else:
            found.append(Setting(f"s{number}", "1", Scale.LOG, low="1", high="16", rule="4" if number % 2 else ""))
    return space_of(found, Machine(64 << 30, 8), {})


@dataclass
class Server:
    """A simulated server: its truth, and the trials that were asked of it. It is a `task.Laboratory`, too."""

    space: Space
    noise: float
    seed: int
    trials: int = 0
    fails: Callable[[Configuration], bool] = lambda configuration: False
    sizes: tuple[float, ...] = field(default=())
    response: Response = TPS
    trial_s: float = TRIAL_S
    room: Limits = LIMITS
    turned_noise: float | None = None
    """Of a trial of a batch that differs only in settings whose servers may take turns; None where none may."""
    turned: int = 0
    """Trials of such batches, among all."""
    drift: float = 0.0
    """What every trial adds to the log-speed of those after it: a machine that gets slower or faster."""
    limits: tuple[Limit, ...] = ()

    def __post_init__(self) -> None:
        self.chance = random.Random(f"advise/{self.seed}")
        self._spent_s: dict[str, float] = {}
        self.holding: dict[str, Holding] = {}
        self.sizes = self.sizes or tuple(self.chance.uniform(0.1, 0.5) for _ in range(ACTIVE))

    def truth(self, configuration: Configuration) -> float:
        """The true log-speed: 0 at the start."""
        at = [
            index_of(each.levels, configuration.values[each.name]) / (len(each.levels) - 1)
            for each in self.space.dimensions[:ACTIVE]
        ]
        one, two, inside, together = self.sizes
        peak = 1 - ((at[2] - 0.75) / 0.75) ** 2  # 0 at the start, 1 at three quarters
        return one * at[0] + two * at[1] + inside * peak + together * (at[0] * at[3] - 0.3 * at[3])

    def best(self) -> float:
        """The truth of the best configuration."""
        steps = [index / 4 for index in range(5)]
        one, two, inside, together = self.sizes
        pair = max(one * a + together * (a * d - 0.3 * d) for a in steps for d in steps)
        return pair + two + inside

    def noise_of(self, configuration: Configuration) -> float:
        """Of one trial of it."""
        return self.noise

    def measure(self, configuration: Configuration, common: float = 0.0) -> float | None:
        """One trial."""
        self.trials += 1
        noise = self.chance.gauss(0, self.noise_of(configuration)) + self.drift * self.trials
        return None if self.fails(configuration) else 1000 * exp(self.truth(configuration) + common + noise)

    @property
    def responses(self) -> Mapping[str, Response]:
        """The objectives."""
        return {"tps": self.response}

    def all_of(self, configuration: Configuration, common: float) -> tuple[float, ...] | None:
        """One trial, by each objective."""
        speed = self.measure(configuration, common)
        return None if speed is None else (speed,)

    def batch(self, name: str, start: Configuration, configurations: Sequence[Configuration], seed: int) -> Values:
        """One trial of each; one that breaks a limit has failed."""
        common, usual = self.chance.gauss(0, BATCH_NOISE), self.noise
        everything = (start, *configurations)
        if self.turned_noise is not None and self._in_turns(everything):
            self.turned += len(everything)
            self.noise = self.turned_noise
        found = {each: self.all_of(each, common) for each in everything}
        self.noise = usual
        named = {each: dict(zip(self.responses, values, strict=True)) for each, values in found.items() if values}
        self.holding[name] = held = holding(named, [*self.responses], self.limits)
        return {each: None if each in held and min(held[each].slacks) < 0 else values for each, values in found.items()}

    def _in_turns(self, everything: Sequence[Configuration]) -> bool:
        """Do all that these differ in show in slices?"""
        first, *others = everything
        return differing(first, others) <= {*in_turns(self.space)}

    def held(self, name: str) -> Holding:
        """What the trials of a batch have, and how far each is from the limits."""
        return self.holding.get(name, {})

    def study(
        self, name: str, baseline: Configuration, arms: Sequence[Configuration], seed: int, budget_s: float
    ) -> Mapping[Configuration, Compared]:
        """What the lab's own schedule and analysis make of simulated trials within the budget."""
        common: dict[int, float] = {}

        def measured(configuration: Configuration, block: int) -> float | None:
            return self.measure(configuration, common.setdefault(block, self.chance.gauss(0, BATCH_NOISE)))

        found = played(
            self.space,
            [baseline, *arms],
            self.response,
            measured,
            budget_s=max(budget_s, BLOCKS_MIN * (1 + len(arms)) * self.trial_s),
            trial_s=self.trial_s,
            blocks=(BLOCKS_MIN, BLOCKS_MAX),
            resolution=RESOLUTION,
            seed=seed,
        )
        self._spent_s[name] = found.took_s
        return found.compared

    def spent_s(self, name: str) -> float:
        """What the trials of a study took."""
        return self._spent_s.get(name, 0.0)

    def kept(self, name: str) -> tuple[LimitChance, ...]:
        """There are no limits."""
        return ()

    def points(
        self, name: str, start: Configuration, arms: Sequence[Configuration], seed: int, blocks: int, budget_s: float
    ) -> PointTrials:
        """So many blocks of all."""
        everything, observations = [start, *arms], {each: list[Observation]() for each in self.responses}
        failed: dict[Configuration, str] = {}
        for block in range(1, blocks + 1):
            common = self.chance.gauss(0, BATCH_NOISE)
            for number, each in enumerate(everything):
                values = self.all_of(each, common)
                if values is None:
                    failed[each] = "does not start"
                for response, value in zip(self.responses, values or (), strict=False):
                    observations[response].append(Observation(block, str(number), "", "", value))
        return PointTrials([*self.responses], everything, observations, self.responses, self.limits, RESOLUTION, failed)


@dataclass(frozen=True)
class Outcome:
    """One server, one way: how much true gain was missed, what was promised too much, and placebos that it changes."""

    regret: float
    promised: float | None
    placebos: int
    trials: int


def placebos(server: Server, configuration: Configuration) -> int:
    """How many of the changes do nothing."""
    real = {each.name for each in server.space.dimensions[:ACTIVE]}
    return sum(name not in real for name in configuration.changes_from(server.space.start))


def advised(server: Server, budget_s: float) -> Outcome:
    """By pgassay advise."""
    steps = amounts(budget_s, server.trial_s, len(server.space.dimensions), finalists=1)
    found = walk(Task(server.space, server.room, steps, True, 0.05, server.seed), server)
    if not found.confirmed or found.recommended is None:
        return Outcome(server.best(), None, 0, server.trials)
    promised = log(inverted(found.proof["start"])[0]) - server.truth(found.recommended)
    return Outcome(
        server.best() - server.truth(found.recommended), promised, placebos(server, found.recommended), server.trials
    )


def searched(server: Server, trials: int, way: str) -> Outcome:
    """By a search that has as many trials: what it expects most of, or else the best sample."""
    search = advise_samplers.proposer_of(way, server.space, server.room, server.seed)
    start, seen = server.space.start, dict[Configuration, float]()
    while server.trials < trials:
        batch = search.batch()
        values = server.batch("", start, batch, 0)
        base = values[start]
        gains = [(each, log(value[0] / base[0]) if (value := values[each]) and base else None) for each in batch]
        search.learn(gains)
        for each, gain in gains:
            if gain is not None:
                seen[each] = max(gain, seen.get(each, gain))
    winner = search.choice() or max(seen, key=lambda each: seen[each])
    truth = server.truth(winner)
    return Outcome(server.best() - truth, seen[winner] - truth, placebos(server, winner), server.trials)


def noise_at(noise: float, trial_s: float, from_start: float) -> float:
    """Of a trial of that length, where one of the usual length has `noise`."""
    window = (TRIAL_S - START_S) / (trial_s - START_S)
    return noise * sqrt(from_start + (1 - from_start) * window)


def row(name: str, noise: float, outcomes: Sequence[Outcome]) -> str:
    """A line of the table."""
    told = [each.promised for each in outcomes if each.promised is not None and isfinite(each.promised)]
    wrong = f"{fmean(each.placebos > 0 for each in outcomes):.0%}"
    return (
        f"{noise:5.1%}  {name:26}  {percent(median(each.regret for each in outcomes)):>8}"
        f"  {percent(fmean(each.regret for each in outcomes)):>8}  {percent(median(told)) if told else '-':>9}"
        f"  {wrong:>9}  {len(told):>5}/{len(outcomes)}  {fmean(each.trials for each in outcomes):>6.0f}"
    )


def percent(value: float) -> str:
    """A log-ratio as per cent of speed."""
    return f"{100 * (exp(value) - 1):+.1f} %"


SAMPLED = 130
"""Trials of a search by itself."""
HEAD = "noise  way                         regret    mean      promised   placebos  answers  trials"


def main() -> None:
    """Simulate, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", type=int, default=40)
    parser.add_argument("--noises", default="0.03,0.10,0.30", help="of a trial")
    parser.add_argument("--settings", type=int, default=15)
    parser.add_argument("--budget", type=float, default=1200.0, help="seconds")
    parser.add_argument(
        "--samplers",
        nargs="?",
        const=",".join(advise_samplers.WAYS),
        metavar="WAYS",
        help="the search alone (all ways)",
    )
    parser.add_argument("--drift", type=float, default=0.0, help="of speed in a hundred trials, such as -0.2")
    parser.add_argument("--trial", type=float, metavar="SECONDS", help=f"of a trial (default: {TRIAL_S:g})")
    parser.add_argument("--noise-from-start", type=float, default=0.0, metavar="SHARE", help="of the noise's variance")
    parser.add_argument("--only-ours", action="store_true", help="pgassay advise alone")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.trial is not None and (arguments.samplers or arguments.trial <= START_S):
        parser.error(f"--trial is longer than {START_S:g} s, and not with --samplers")
    trial_s = arguments.trial or TRIAL_S
    made = partial(Server, space_with(arguments.settings), trial_s=trial_s, drift=log(1 + arguments.drift) / 100)
    seeds = range(arguments.seed, arguments.seed + arguments.servers)
    ways: tuple[str, ...] = () if arguments.only_ours else ("random", "tpe")
    if arguments.samplers:
        ways = advise_samplers.possible(arguments.samplers.split(","))
    print(HEAD)
    for usual in map(float, arguments.noises.split(",")):
        noise = noise_at(usual, trial_s, arguments.noise_from_start)
        counts = dict.fromkeys(seeds, SAMPLED)
        if not arguments.samplers:
            ours = [advised(made(noise, seed), arguments.budget) for seed in seeds]
            counts = {seed: each.trials for seed, each in zip(seeds, ours, strict=True)}
            print(row("pgassay advise", noise, ours), flush=True)
        for way in ways:
            found = [searched(made(noise, seed), counts[seed], way) for seed in seeds]
            print(row(way if way == advise_samplers.HALF else f"{way}, best so far", noise, found), flush=True)


if __name__ == "__main__":
    main()
