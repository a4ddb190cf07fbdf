"""How often does `pgassay advise --quick` confirm a gain, from a server that was made bad? Its whole run, simulated.

usage: python -m benchmarks.advise_quick [--runs 40] [--noises 0.03,0.05,0.08,0.12] [--losses 0.2] [--hiding]
           [--disturbed SHARE] [--in-turns SHARE]

The space, the budget of 20 minutes and the schedule are the quick form's own; only the trials are made up: of the
settings that were made bad one loses `--losses` (a log-ratio), one loses 3 %, the others nothing. A trial has the noise
that is named, a block a common one of 10 %. Printed: how many runs confirmed an interval above the start, with at most
eight lines and at least five settings shown not to matter; the settings so shown, the widths of the screening's
intervals, lines that do nothing, and the minutes. All figures are of a simulation.

`--hiding`: `commit_delay` costs 94 % of the speed beside, and while it does other settings matter more and trials are
noisier, as on the real server that was seen. `--disturbed 0.05`: one trial in twenty is half as fast. `--in-turns 0.5`:
settings whose effect shows in slices are screened by servers in turns, whose trials have half of the noise and take
1.6 times as long, as seen on that server.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log
from statistics import fmean, median

from benchmarks.advise import Server
from pgassay.advise.asking import as_many_as_fit, settings_of
from pgassay.advise.budget import LINES_QUICK, Amounts, Turns, amounts
from pgassay.advise.constraints import Limits
from pgassay.advise.screening import Standing
from pgassay.advise.screenings import in_turns
from pgassay.advise.space import Configuration, Machine, Space, index_of, space_of
from pgassay.advise.task import Task
from pgassay.advise.walk import walk

BAD = {
    "shared_buffers": "1MB", "wal_buffers": "32kB", "work_mem": "64kB", "random_page_cost": "100",
    "commit_delay": "3000", "effective_cache_size": "8MB",
}  # fmt: skip
HIDING, SLOWED, NOISIER = 2.8, 0.7, 1.7
"""What the setting that hides the others gains (a log-ratio), what a disturbed trial loses, and how much noisier trials
under the worse level of that setting are."""
BUDGET_S, MARGIN = 1200.0, 0.10
TURNED = 1.6
"""A trial of servers in turns takes so many times as long."""
LINES_MOST, PLACEBOS_LEAST = 8, 5
MACHINE = Machine(8 << 30, 2, 15)


@dataclass
class BadServer(Server):
    """Slow by `wal_buffers`, and a little by `shared_buffers`; nothing else matters, but where `commit_delay` hides."""

    loss: float = 0.2
    hiding: bool = False
    disturbed: float = 0.0
    """The share of disturbed trials."""

    def truth(self, configuration: Configuration) -> float:
        """The true log-speed: 0 at the start."""

        def up(name: str) -> float:
            """How far it is from its start: 1 two levels away."""
            levels, value = self.space.dimension(name).levels, configuration.values[name]
            if value not in levels:  # PostgreSQL's default, which is none of them
                return 1.0
            return min(1.0, abs(index_of(levels, value) - index_of(levels, self.space.start.values[name])) / 2)

        found = self.loss * up("wal_buffers") + 0.03 * up("shared_buffers")
        if self.hiding:
            slow = 1 - up("commit_delay")
            found += HIDING * up("commit_delay") + slow * 0.4 * up("wal_buffers")
            found += slow * (1 - up("wal_buffers")) * 0.5 * up("wal_writer_delay")
        return found

    def noise_of(self, configuration: Configuration) -> float:
        """More under the level that hides the others."""
        slow = self.hiding and configuration.values["commit_delay"] == BAD["commit_delay"]
        return self.noise * (NOISIER if slow else 1.0)

    def measure(self, configuration: Configuration, common: float = 0.0) -> float | None:
        """One trial; now and then it is disturbed."""
        value = super().measure(configuration, common)
        return value * exp(-SLOWED) if value and self.chance.random() < self.disturbed else value

    def best(self) -> float:
        """The truth of the best configuration."""
        return self.loss + 0.03 + HIDING * self.hiding


@dataclass(frozen=True)
class Run:
    """What one quick run came to."""

    passed: bool
    confirmed: bool
    placebos: int
    half_width: float
    idle: int
    regret: float
    minutes: float


def steps_of(space: Space, trial_s: float, turned: bool) -> Amounts:
    """How the budget is spent."""
    turns = Turns(len(in_turns(space)), TURNED * trial_s) if turned else None
    return amounts(BUDGET_S, trial_s, len(space.dimensions), finalists=1, turns=turns, lines_max=LINES_QUICK)


def space_and_fit(trial_s: float, turned: bool) -> Space:
    """The quick form's space, without what it has no time for."""
    space = space_of(settings_of({}, ()), MACHINE, BAD, window_s=3.0, quick=True)
    for name in [each.name for each in space.dimensions if each.name.startswith("table.")]:
        space = space.without(name, "")
    return as_many_as_fit(space, BAD, lambda space: steps_of(space, trial_s, turned))


def ran(
    noise: float, loss: float, trial_s: float, seed: int, hiding: bool, disturbed: float, quieter: float | None
) -> Run:
    """One run."""
    space = space_and_fit(trial_s, quieter is not None)
    server = BadServer(space, noise, seed, trial_s=trial_s, loss=loss, hiding=hiding, disturbed=disturbed)
    server.turned_noise = None if quieter is None else noise * quieter
    steps = steps_of(space, trial_s, quieter is not None)
    turned = () if quieter is None else in_turns(space)
    found = walk(Task(space, Limits(MACHINE.memory_bytes, 4), steps, True, MARGIN, seed, turned=turned), server)
    kept = [each for each in found.lines if each.kept]
    placebos = sum(each.standing is Standing.PLACEBO for each in found.known)
    good = found.confirmed
    final = found.recommended if good and found.recommended else space.start
    return Run(
        good and len(kept) <= LINES_MOST and placebos >= PLACEBOS_LEAST,
        good,
        placebos,
        median(log(each.high / each.low) / 2 for each in found.screened),
        sum(
            each not in ("wal_buffers", "shared_buffers", *(("commit_delay",) if hiding else ()))
            for each in final.changes_from(space.start)
        ),
        server.best() - server.truth(final),
        (server.trials + (TURNED - 1) * server.turned) * trial_s / 60,
    )


HEAD = "noise   loss   passed  confirmed  placebos  half-width  idle lines  regret  minutes (most)"


def row(noise: float, loss: float, runs: Sequence[Run]) -> str:
    """A line of the table."""
    return (
        f"{noise:5.0%}  {loss:5.0%}  {fmean(each.passed for each in runs):>6.0%}"
        f"  {fmean(each.confirmed for each in runs):>9.0%}  {fmean(each.placebos for each in runs):>8.1f}"
        f"  {fmean(each.half_width for each in runs):>10.1%}  {fmean(each.idle > 0 for each in runs):>10.0%}"
        f"  {fmean(each.regret for each in runs):>6.1%}"
        f"  {fmean(each.minutes for each in runs):>7.1f} ({max(each.minutes for each in runs):.1f})"
    )


def main() -> None:
    """Simulate, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--noises", default="0.03,0.05,0.08,0.12")
    parser.add_argument("--losses", default="0.2")
    parser.add_argument("--trial", type=float, default=6.6, help="seconds of a trial")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hiding", action="store_true", help="one setting hides the others")
    parser.add_argument("--disturbed", type=float, default=0.0, help="the share of trials that are half as fast")
    parser.add_argument("--in-turns", type=float, help="noise of servers in turns, as a share of the others'")
    arguments = parser.parse_args()
    how = arguments.hiding, arguments.disturbed, arguments.in_turns
    print(f"{len(space_and_fit(arguments.trial, arguments.in_turns is not None).dimensions)} settings")
    print(HEAD)
    for loss in map(float, arguments.losses.split(",")):
        for noise in map(float, arguments.noises.split(",")):
            seeds = range(arguments.seed, arguments.seed + arguments.runs)
            print(row(noise, loss, [ran(noise, loss, arguments.trial, seed, *how) for seed in seeds]), flush=True)


if __name__ == "__main__":
    main()
