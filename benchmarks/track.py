"""Do the steps of a history hold? Simulated histories with a planted step, with none, and with placebos.

usage: python -m benchmarks.track [--histories 1000] [--noise 0.015] [--layout 0.003] [--seed 1]

Each point is a commit's mean log-ratio to a fixed reference: its noise, and the luck of its build (every build differs
a little by its layout). Printed by length and planted step: in how many histories a step was told, in how many the
planted one (within two points), how many points after it, whether the step's interval held the truth, and how often a
step was told where none was planted. Exit status 1 if false steps or missed truths are more than 5 % (+ 3 s.e.). All
figures are of a simulation.
"""

import argparse
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import log, sqrt
from statistics import fmean

from pgassay.analysis.tracking import LEVEL, POINTS_MIN, course_of

NEAR = 2
"""Points by which a told step may lie beside the planted one."""


@dataclass(frozen=True)
class Cell:
    """Histories of so many points; the step (a share, 0 for none) comes after two thirds of them."""

    points: int
    step: float

    @property
    def at(self) -> int:
        """The first point of the new level."""
        return self.points * 2 // 3


@dataclass
class Tally:
    """What was counted over the histories of a cell."""

    histories: int = 0
    told: int = 0
    right: int = 0
    wrong: int = 0
    """Told steps whose interval does not hold what the true means of its two stretches differ by."""
    delays: int = 0
    seen: int = 0


def simulated(cell: Cell, noise: float, layout: float, chance: random.Random) -> tuple[list[float], list[float]]:
    """True means and what was measured of them."""
    truth = [log(1.0 - cell.step) if cell.step and place >= cell.at else 0.0 for place in range(cell.points)]
    return truth, [each + chance.gauss(0.0, noise) + chance.gauss(0.0, layout) for each in truth]


def tried(cell: Cell, histories: int, noise: float, layout: float, seed: int) -> Tally:
    """Count over so many histories."""
    found = Tally()
    for number in range(histories):
        chance = random.Random(f"track/{seed}/{cell.points}/{cell.step}/{number}")
        truth, measured = simulated(cell, noise, layout, chance)
        course = course_of(measured)
        found.histories += 1
        found.told += bool(course.steps)
        near = [each for each in course.steps if cell.step and abs(each.at - cell.at) <= NEAR]
        found.right += bool(near)
        for step, old, new in zip(course.steps, course.levels, course.levels[1:], strict=False):
            true = fmean(truth[new.first : new.upto]) - fmean(truth[old.first : old.upto])
            found.wrong += not log(step.low) <= true <= log(step.high)
        delay = _delay(measured, cell) if near else None
        if delay is not None:
            found.delays += delay
            found.seen += 1
    return found


def _delay(measured: Sequence[float], cell: Cell) -> int | None:
    """Points of the new level when it was first told, had the history been looked at after each of them."""
    for upto in range(max(cell.at + 1, POINTS_MIN), cell.points + 1):
        if any(abs(each.at - cell.at) <= NEAR for each in course_of(measured[:upto]).steps):
            return upto - cell.at
    return None


def broken(share: float, histories: int) -> bool:
    """Is this share of errors more than 5 %, beyond what chance explains?"""
    allowed = 1.0 - LEVEL
    return share > allowed + 3.0 * sqrt(allowed * (1.0 - allowed) / histories)


def main(words: Sequence[str] | None = None) -> int:
    """Simulate, print the table, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--histories", type=int, default=1000)
    parser.add_argument("--noise", type=float, default=0.015, help="of a point: a block's ÷ the root of its blocks")
    parser.add_argument("--layout", type=float, default=0.003, help="of a build")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(words)
    print(f"simulated: {asked.histories} histories a row, noise {asked.noise:.1%}, layout {asked.layout:.1%}")
    print("points  planted  a step told  the planted one  points after it  interval misses the truth")
    failed = False
    for points in (8, 15, 30, 60):
        for step in (0.0, 0.03, 0.05, 0.10):
            cell = Cell(points, step)
            found = tried(cell, asked.histories, asked.noise, asked.layout, asked.seed)
            wrong = found.wrong / found.histories
            told = found.told / found.histories
            failed |= broken(wrong, found.histories) or (not step and broken(told, found.histories))
            after = f"{found.delays / found.seen:.1f}" if found.seen else "-"
            right = f"{found.right / found.histories:.1%}" if step else "-"
            print(f"{points:6}  {step:7.0%}  {told:11.1%}  {right:>15}  {after:>15}  {wrong:25.1%}")
    print("a bound is broken" if failed else "no bound broken")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
