"""Every combination of some levels, as many at once as there are cores and memory for.

The model runs without the interpreter's lock, so threads do.
"""

import copy
import itertools
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from pgassay.flash.memory import at_once
from pgassay.flash.settings import Description, assign, describe, not_an_assignment, wrong_value
from pgassay.flash.simulation import Simulation, simulate_described


@dataclass(frozen=True)
class Point:
    """One combination: the levels by key, and what they describe."""

    levels: Mapping[str, str]
    description: Description


@dataclass(frozen=True)
class Outcome:
    """A point and what its simulation found."""

    levels: Mapping[str, str]
    simulation: Simulation


def points(document: Mapping[str, Any], sweeps: Sequence[str]) -> list[Point]:
    """The cross product of all sweeps `table.key=a,b,c` over a document's tables; one point without any.

    `UsageError` for a sweep of another form and for a level that cannot be.
    """
    factors: list[list[tuple[str, str]]] = []
    for sweep in sweeps:
        key, sign, values = sweep.partition("=")
        levels = [value.strip() for value in values.split(",") if value.strip()]
        if not sign or not key or not levels:
            raise not_an_assignment(sweep, "KEY=A,B,…")
        factors.append([(key, level) for level in levels])
    made = []
    for combination in itertools.product(*factors):
        changed = copy.deepcopy(dict(document))
        for key, level in combination:
            assign(changed, key, level)
        made.append(Point(dict(combination), describe(changed)))
    return made


def simulate_all(todo: Sequence[Point], jobs: int | None = None) -> list[Outcome]:
    """Simulate all points, `jobs` at once (None: one a core), in the order of the points.

    `UsageError` before anything begins if the largest drive does not fit into memory.
    """
    if jobs is not None and jobs < 1:
        raise wrong_value("--jobs", jobs, "must be at least 1")
    wanted = min(jobs or len(os.sched_getaffinity(0)), len(todo))
    workers = at_once([point.description for point in todo], wanted)
    with ThreadPoolExecutor(max_workers=workers) as pool:
        found = list(pool.map(lambda point: simulate_described(point.description), todo))
    return [Outcome(point.levels, result) for point, result in zip(todo, found, strict=True)]
