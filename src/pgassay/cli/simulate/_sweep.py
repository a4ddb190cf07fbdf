"""Every combination of some levels, as many at once as there are cores and room in memory.

The model runs without the interpreter's lock, so threads do.
"""

import copy
import itertools
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from pgassay.cli.simulate import _messages
from pgassay.cli.simulate._description import Description, assign, describe
from pgassay.cli.simulate._memory import at_once
from pgassay.cli.simulate._simulation import simulate


@dataclass(frozen=True)
class Point:
    """One combination: the levels by key, and what they describe."""

    levels: Mapping[str, str]
    description: Description


@dataclass(frozen=True)
class Outcome:
    """A point and what its simulation found."""

    levels: Mapping[str, str]
    found: Mapping[str, Any]


def points(document: Mapping[str, Any], sweeps: Sequence[str]) -> list[Point]:
    """The cross product of all sweeps `table.key=a,b,c`; one point without any."""
    factors: list[list[tuple[str, str]]] = []
    for sweep in sweeps:
        key, sign, values = sweep.partition("=")
        levels = [value.strip() for value in values.split(",") if value.strip()]
        if not sign or not key or not levels:
            raise _messages.not_an_assignment(sweep, "KEY=A,B,…")
        factors.append([(key, level) for level in levels])
    made = []
    for combination in itertools.product(*factors):
        changed = copy.deepcopy(dict(document))
        for key, level in combination:
            assign(changed, key, level)
        made.append(Point(dict(combination), describe(changed)))
    return made


def simulate_all(todo: Sequence[Point], jobs: int | None) -> list[Outcome]:
    """Simulate all points; the order is that of the points."""
    if jobs is not None and jobs < 1:
        raise _messages.wrong_value("--jobs", jobs, "must be at least 1")
    wanted = min(jobs or len(os.sched_getaffinity(0)), len(todo))
    workers = at_once([point.description for point in todo], wanted)
    with ThreadPoolExecutor(max_workers=workers) as pool:
        found = list(pool.map(lambda point: simulate(point.description), todo))
    return [Outcome(point.levels, result) for point, result in zip(todo, found, strict=True)]
