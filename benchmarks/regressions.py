"""Is the commit found, and in how many blocks? Bisection by probabilities beside one of fixed precision, simulated.

A history of 64 commits has one slow-down at a random place; every other commit is a placebo, whose speed differs a
little by the layout of its program alone. A block is a trial of each of two commits, and its contrast has noise, for
both ways the same. Both first show that good and bad differ, by the same blocks, and go by the effect that those found.

Then the one goes by `analysis.commits`. The other is what a careful engineer does: git bisect, in which each commit
is measured until its answer is sure. That is when half the interval of its mean is half of the effect, so that it
cannot hold both no effect and the whole one; 95 % for all six steps together, so 1 - 0.05 / 6 each (Bonferroni). It
stops as soon as that is so, and is not charged for looking after every block. Placebos alone must not be bisected.

python -m benchmarks.regressions [--runs 100] [--commits 64] [--slowdown 0.05] [--noise 0.1] [--layout 0.002] [--seed 1]
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log, log2, sqrt
from statistics import fmean

import numpy as np

from pgassay.analysis import commits
from pgassay.analysis.boundaries import fixed_critical
from pgassay.analysis.commits import Measured

HORIZON = 100
"""Blocks of good against bad at most."""
FINENESS = 0.5
"""Half an interval of fixed precision as a share of the measured effect: it cannot hold both no effect and that one."""
MOST = 300
"""Blocks in all that the effect's interval is made for, as `pgassay bisect` has them by default (`--most`)."""
LONGEST = 4000
"""Blocks after which a run counts as one that found nothing."""


@dataclass(frozen=True)
class Setting:
    """What is planted: the slow-down as a share, noise of a block and layout's share of it (standard deviations)."""

    commits: int
    slowdown: float
    noise: float
    layout: float


class History:
    """One simulated history; place 0 is good, the last one bad. `place` None: placebos alone."""

    def __init__(self, setting: Setting, place: int | None, rng: np.random.Generator) -> None:
        self.last = setting.commits
        self.place = place
        self.noise = setting.noise
        self.rng = rng
        self.speed = rng.normal(0.0, setting.layout, self.last + 1)
        if place is not None:
            self.speed[place:] += log(1.0 - setting.slowdown)
        self.blocks = 0

    def block(self, commit: int, beside: int = 0) -> float:
        """A contrast with the good commit, or another."""
        self.blocks += 1
        return float(self.speed[commit] - self.speed[beside] + self.rng.normal(0.0, self.noise))


@dataclass(frozen=True)
class Told:
    """One run: the commit that was named (None: good and bad not shown to differ), its blocks, is the effect inside?"""

    commit: int | None
    blocks: int
    first: int
    covered: bool = False


def good_against_bad(history: History) -> list[Measured] | None:
    """Blocks of the bad commit until the difference is known well enough; None if none is ever shown."""
    seen: list[Measured] = []
    mean = commits.difference([], HORIZON)
    while len(seen) < HORIZON and not commits.measured(mean):
        seen.append(Measured(history.last, history.block(history.last)))
        mean = commits.difference([each.contrast for each in seen], HORIZON)
    return seen if commits.shown(mean) else None


def by_probability(history: History, slowdown: float) -> Told:
    """As pgassay does it."""
    seen = good_against_bad(history)
    if seen is None:
        return Told(None, history.blocks, history.blocks)
    first, last = history.blocks, history.last
    while history.blocks < LONGEST:
        known = commits.spans(last, seen)
        span = commits.found(known)
        if span is not None:
            effect = commits.change(last, seen, span, MOST)
            return Told(
                span.upto,
                history.blocks,
                first,
                effect.low <= 1.0 - slowdown <= effect.high,
            )
        asked = commits.next_block(last, seen, known)
        assert asked is not None
        seen.append(Measured(asked.commit, history.block(asked.commit, asked.against), asked.against))
    return Told(0, history.blocks, first)


def by_fixed_precision(history: History) -> Told:
    """The middle of what is left, until half of its interval is this share of the measured effect."""
    seen = good_against_bad(history)
    if seen is None:
        return Told(None, history.blocks, history.blocks)
    first = history.blocks
    limit = fmean(each.contrast for each in seen) / 2.0
    steps = ceil(log2(history.last))
    below, upto = 0, history.last
    while upto - below > 1:
        middle = (below + upto) // 2
        mean = _measured(history, middle, 2.0 * FINENESS * abs(limit), 0.05 / steps)
        below, upto = (below, middle) if mean / limit > 1.0 else (middle, upto)
    return Told(upto, history.blocks, first)


def _measured(history: History, commit: int, half: float, alpha: float) -> float:
    values: list[float] = []
    while len(values) < 5 or fixed_critical(len(values), alpha) * np.std(values, ddof=1) / sqrt(len(values)) > half:
        values.append(history.block(commit))
    return fmean(values)


@dataclass(frozen=True)
class Rates:
    """Of many runs: how many named the planted commit, mean blocks in all and of these good against bad, coverage."""

    right: int
    blocks: float
    first: float
    covered: int


def rates(told: Sequence[Told], places: Sequence[int]) -> Rates:
    """Sum up."""
    return Rates(
        sum(each.commit == place for each, place in zip(told, places, strict=True)),
        fmean(each.blocks for each in told),
        fmean(each.first for each in told),
        sum(each.covered for each in told),
    )


@dataclass(frozen=True)
class Ratio:
    """Of two means over the same histories, with its 95 % interval."""

    estimate: float
    half: float

    def __str__(self) -> str:
        return f"{self.estimate:.3f} [{self.estimate - self.half:.3f}, {self.estimate + self.half:.3f}]"


def ratio(ours: Sequence[float], fixed: Sequence[float]) -> Ratio:
    """By the linearized ratio estimator (Cochran, Sampling Techniques, section 2.11)."""
    mean = fmean(fixed)
    estimate = fmean(ours) / mean
    residuals = [one - estimate * other for one, other in zip(ours, fixed, strict=True)]
    return Ratio(estimate, fixed_critical(len(ours), 0.05) * float(np.std(residuals, ddof=1)) / sqrt(len(ours)) / mean)


@dataclass(frozen=True)
class Tried:
    """Both ways on the same histories, and how many histories of placebos alone were bisected all the same."""

    ours: Rates
    fixed: Rates
    placebos: int

    share: Ratio
    """Blocks of ours by those of fixed precision, all of them."""
    after: Ratio
    """The same after good and bad differ."""


def tried(setting: Setting, runs: int, seed: int) -> Tried:
    """Simulate."""
    places = np.random.default_rng([seed, 0]).integers(1, setting.commits, runs, endpoint=True).tolist()

    def history(run: int, place: int | None) -> History:
        return History(setting, place, np.random.default_rng([seed, 1, run]))

    ours = [by_probability(history(run, place), setting.slowdown) for run, place in enumerate(places)]
    fixed = [by_fixed_precision(history(run, place)) for run, place in enumerate(places)]
    placebos = sum(good_against_bad(history(run, None)) is not None for run in range(runs))
    share = ratio([each.blocks for each in ours], [each.blocks for each in fixed])
    after = ratio([each.blocks - each.first for each in ours], [each.blocks - each.first for each in fixed])
    return Tried(rates(ours, places), rates(fixed, places), placebos, share, after)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print both figures; exit status 1 if a promise is broken, beyond what chance makes of so many runs."""
    parser = argparse.ArgumentParser(prog="benchmarks.regressions", description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--commits", type=int, default=64)
    parser.add_argument("--slowdown", type=float, default=0.05)
    parser.add_argument("--noise", type=float, default=0.10)
    parser.add_argument("--layout", type=float, default=0.002)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    setting = Setting(asked.commits, asked.slowdown, asked.noise, asked.layout)
    found = tried(setting, asked.runs, asked.seed)
    ours, placebos = found.ours, found.placebos
    print(
        f"simulated: {asked.runs} histories of {asked.commits} commits, {100 * asked.slowdown:g} % slower at one, noise"
        f" {100 * asked.noise:g} % a block, placebos ± {100 * asked.layout:g} %"
    )
    for name, rate in (("by probability", ours), ("fixed precision", found.fixed)):
        print(
            f"{name:<16} found {rate.right:>4} of {asked.runs}, {rate.blocks:6.1f} blocks "
            f"({rate.first:.1f} of them good against bad)"
        )
    print(f"blocks by probability ÷ fixed precision: {found.share} (goal ≤ 1/3)")
    print(f"the same after good and bad differ: {found.after}")
    print(f"effect inside its 95 % interval: {ours.covered} of {asked.runs}")
    print(f"placebos alone called different: {placebos} of {asked.runs}")
    chance = 3.0 * sqrt(0.05 * 0.95 / asked.runs)
    broken = [
        name
        for name, wrong in (
            (
                "found less often than in 95 of 100",
                ours.right / asked.runs < 0.95 - chance,
            ),
            ("more than a third of the blocks", found.share.estimate > 1.0 / 3.0),
            ("the effect outside its interval", ours.covered / asked.runs < 0.95 - chance),
            ("placebos bisected", placebos / asked.runs > 0.05 + chance),
        )
        if wrong
    ]
    print(*(broken or ["no bound broken"]), sep="\n")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
