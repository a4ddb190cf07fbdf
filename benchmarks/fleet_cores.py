"""How much faster work that needs processors alone is on two machines than on one: at least 1.8 times.

python -m benchmarks.fleet_cores [--work sweep|validity|pages] [--rounds 5] [--points 24] [--studies 200] [--runs 12]

The work is a sweep of simulated drives, `benchmarks.validity` with so many studies a cell, or the pages of so many
planted runs, whose records travel. A sweep in five minutes on a machine of two cores that has nothing else to do:
--drive 1GB.

Emulated: each machine is a worker that is pinned to one core of this one, behind a real Dask scheduler. One and two of
them do the same work in turns; the ratio is of times in pairs. All answers must be those of this process.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from math import log
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from distributed import Client

from benchmarks.local_fleet import fleet
from benchmarks.ratios import bounds, interval
from benchmarks.validity.parts import Numbers, done, done_on, parts
from pgassay import flash
from pgassay.fleet.pages import Style, Wanted, render_on, write_page
from pgassay.fleet.simulations import simulate_on
from pgassay.testing.planted import make_run

GOAL = 1.8


@dataclass(frozen=True)
class Work:
    """What is measured: `wanted` is what this process finds, `on` does it over a fleet, `warm` a little of it."""

    name: str
    wanted: list[Any]
    on: Callable[[Client], list[Any]]
    warm: Callable[[Client], Any]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print; 1 where the ratio is shown to be below the goal."""
    parser = argparse.ArgumentParser(prog="benchmarks.fleet_cores", description=__doc__)
    parser.add_argument("--work", choices=sorted(WORKS), default="sweep")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--points", type=int, default=24, help="of the sweep")
    parser.add_argument("--drive", default="4GB", help="size of each drive of the sweep: how long a point takes")
    parser.add_argument("--studies", type=int, default=200, help="of each cell of benchmarks.validity")
    parser.add_argument("--runs", type=int, default=12, help="whose pages are rendered")
    asked = parser.parse_args(arguments)
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        print("two cores are needed")
        return 1
    logs = []
    with ExitStack() as stack:
        work = WORKS[asked.work](asked, Path(stack.enter_context(TemporaryDirectory())))
        one, two = (stack.enter_context(fleet(each)) for each in ([cores[:1]], [[core] for core in cores]))
        work.warm(one), work.warm(two)  # imports
        for number in range(asked.rounds):
            order = (one, two) if number % 2 == 0 else (two, one)
            found = {client: _timed(work, client) for client in order}
            if any(answers != work.wanted for _, answers in found.values()):
                print("an answer is not that of one machine")
                return 1
            logs.append(log(found[one][0] / found[two][0]))
            print(f"round {number + 1}: one {found[one][0]:.1f} s, two {found[two][0]:.1f} s", flush=True)
    print(f"{work.name}, one emulated machine ÷ two: {interval(logs)}, goal {GOAL}")
    return int(bounds(logs)[2] < GOAL)


def _timed(work: Work, client: Client) -> tuple[float, list[Any]]:
    started = time.perf_counter()
    answers = work.on(client)
    return time.perf_counter() - started, answers


def _sweep(asked: argparse.Namespace, _: Path) -> Work:
    document = flash.read(None, [f"drive.user_bytes={asked.drive}"])
    points = flash.points(document, [f"run.seed={','.join(map(str, range(asked.points)))}"])
    return Work(
        f"{asked.points} drives of {asked.drive}",
        flash.simulate_all(points),
        lambda client: simulate_on(client, document, points),
        lambda client: simulate_on(client, document, points[:2]),
    )


def _validity(asked: argparse.Namespace, _: Path) -> Work:
    """Answers as texts: all digits of a number, and one that is not known is like another."""
    work = [part for each in parts("quick", Numbers(asked.studies, 1)).values() for part in each]
    return Work(
        f"benchmarks.validity with {asked.studies} studies a cell",
        [repr(done(part)) for part in work],
        lambda client: list(map(repr, done_on(client, work))),
        lambda client: list(done_on(client, work[:4])),
    )


def _pages(asked: argparse.Namespace, place: Path) -> Work:
    """Without pictures; answers are the bytes of all files of each page, which each time go where none are."""
    runs = [make_run(place / f"run-{number}").path for number in range(asked.runs)]
    style = Style(pictures=False)

    def on(client: Client, these: Sequence[Path] = runs) -> list[Any]:
        with TemporaryDirectory(dir=place) as out:
            render_on(client, [Wanted(run, Path(out, run.name)) for run in these], style)
            return [_files(Path(out, run.name)) for run in these]

    for run in runs:
        write_page(run, place / "here" / run.name, style)
    here = [_files(place / "here" / run.name) for run in runs]
    return Work(f"the pages of {asked.runs} runs", here, on, lambda client: on(client, runs[:2]))


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


WORKS = {"sweep": _sweep, "validity": _validity, "pages": _pages}


if __name__ == "__main__":
    sys.exit(main())
