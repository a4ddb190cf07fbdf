"""How much faster a sweep of simulated drives is on two machines than on one: at least 1.8 times.

python -m benchmarks.fleet_cores [--rounds 5] [--points 24]

In five minutes on a machine of two cores that has nothing else to do: --drive 1GB.

Emulated: each machine is a worker that is pinned to one core of this one, behind a real Dask scheduler. One and two of
them simulate the same sweep in turns; the ratio is of times in pairs. Both answers must be those of `simulate_all`.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from math import log

from distributed import Client

from benchmarks.local_fleet import fleet
from benchmarks.ratios import bounds, interval
from pgassay import flash
from pgassay.fleet.simulations import simulate_on

GOAL = 1.8


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print; 1 where the ratio is shown to be below the goal."""
    parser = argparse.ArgumentParser(prog="benchmarks.fleet_cores", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--points", type=int, default=24)
    parser.add_argument("--drive", default="4GB", help="size of each drive: how long a point takes")
    asked = parser.parse_args(arguments)
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        print("two cores are needed")
        return 1
    document = flash.read(None, [f"drive.user_bytes={asked.drive}"])
    seeds = ",".join(map(str, range(asked.points)))
    points = flash.points(document, [f"run.seed={seeds}"])
    wanted = flash.simulate_all(points)
    logs = []
    with fleet([cores[:1]]) as one, fleet([[each] for each in cores]) as two:
        _timed(one, document, points[:2]), _timed(two, document, points[:2])  # imports
        for number in range(asked.rounds):
            order = (one, two) if number % 2 == 0 else (two, one)
            found = {client: _timed(client, document, points) for client in order}
            if any(outcomes != wanted for _, outcomes in found.values()):
                print("an answer is not that of one machine")
                return 1
            logs.append(log(found[one][0] / found[two][0]))
            print(f"round {number + 1}: one {found[one][0]:.1f} s, two {found[two][0]:.1f} s", flush=True)
    print(f"{asked.points} drives of {asked.drive}, one emulated machine ÷ two: {interval(logs)}, goal {GOAL}")
    return int(bounds(logs)[2] < GOAL)


def _timed(
    client: Client, document: dict[str, object], points: Sequence[flash.Point]
) -> tuple[float, list[flash.Outcome]]:
    started = time.perf_counter()
    outcomes = simulate_on(client, document, points)
    return time.perf_counter() - started, outcomes


if __name__ == "__main__":
    sys.exit(main())
