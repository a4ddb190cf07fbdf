"""Every combination of some levels, as many at once as there are cores and memory for.

The model runs without the interpreter's lock, so threads do. Its tables grow with the drive: a machine that runs out of
memory ends programs that others may need more, so what does not fit is refused before.
"""

import copy
import itertools
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pgassay.bench.places import available_memory_bytes
from pgassay.flash import messages
from pgassay.flash.settings import Description, assign, describe
from pgassay.flash.simulation import Simulation, simulate

_MEMORY_SHARE_MAX = 0.9
"""Of the memory that the system calls available."""
_BLOCK_BYTES = 4096
_MAP_BYTES = 6
"""At most, for each block that a compressing drive promises beyond its user capacity."""
_SIZES_BYTES = 4
"""For each block of a compressing drive while it is filled: the size that the load gives it."""
_USER_BYTES_MAX = 1 << 44


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
            raise messages.not_an_assignment(sweep, "KEY=A,B,…")
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
        raise messages.wrong_value("--jobs", jobs, "must be at least 1")
    wanted = min(jobs or len(os.sched_getaffinity(0)), len(todo))
    workers = at_once([point.description for point in todo], wanted)
    with ThreadPoolExecutor(max_workers=workers) as pool:
        found = list(pool.map(lambda point: simulate(point.description), todo))
    return [Outcome(point.levels, result) for point, result in zip(todo, found, strict=True)]


def at_once(descriptions: Sequence[Description], wanted: int) -> int:
    """How many to simulate side by side, `wanted` at most; `UsageError` if the largest does not fit alone."""
    largest = max(map(forecast_bytes, descriptions))
    available = int(available_memory_bytes() * _MEMORY_SHARE_MAX)
    if largest > available:
        raise messages.too_large(largest, available)
    return max(1, min(wanted, available // max(1, largest)))


def forecast_bytes(description: Description) -> int:
    """About what the model of this drive takes; 0 for what cannot be a drive (the model will say why) and for one that
    is as large as its trace says (it has been emulated in memory before)."""
    drive = description.drive
    if drive.user_bytes is None or not 0 < drive.user_bytes < _USER_BYTES_MAX:
        return 0
    compresses = drive.kind == "compressing"
    share = min(map(_mean_share, description.input)) if compresses else 1.0
    block_bytes, _ = drive.table_bytes_per_block(drive.user_bytes, share)
    more = 0
    if compresses:
        logical_bytes = drive.capacity_bytes or 0
        more = max(0, logical_bytes - drive.user_bytes) * _MAP_BYTES + logical_bytes * _SIZES_BYTES
    return int(drive.user_bytes / _BLOCK_BYTES * block_bytes) + more // _BLOCK_BYTES


def _mean_share(part: Mapping[str, Any]) -> float:
    """What is left of the blocks of an input on average, from what its `sizes` say; a hundredth at least."""
    total, before = 0.0, 0.0
    for sizes in part.get("sizes", [{"bytes": _BLOCK_BYTES}]):
        up_to = sizes.get("up_to", 1.0)
        total += (up_to - before) * _mean_bytes(sizes)
        before = up_to
    return max(0.01, min(1.0, total / _BLOCK_BYTES))


def _mean_bytes(sizes: Mapping[str, Any]) -> float:
    if "between" in sizes:
        return float(sum(sizes["between"]) / 2)
    if "weights" in sizes:
        weights = sizes["weights"]
        return float(sum(size * weight for size, weight in weights) / sum(weight for _, weight in weights))
    if "quantiles" in sizes:
        knots = pairwise(sizes["quantiles"])
        return float(sum((right[0] - left[0]) * (left[1] + right[1]) / 2 for left, right in knots))
    return float(sizes.get("bytes", _BLOCK_BYTES))
