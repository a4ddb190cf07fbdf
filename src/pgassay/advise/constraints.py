"""What a configuration must keep before it is tried: memory, limits that settings set each other, connections.

A trial that cannot work costs as much as one that can, and one that takes all memory hurts the machine. The memory sum
is of the worst case that the manual warns of ("Resource Consumption", work_mem, hash_mem_multiplier and
max_parallel_workers_per_gather): every client and every parallel worker in so many hashes as the knowledge file says.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from pgassay.advise.space import Configuration, Dimension, Space, index_of
from pgassay.errors import UsageError
from pgassay.study.units import BYTES_PER_UNIT, format_size, split_quantity

MEMORY_SHARE = 0.8
"""Of the machine's memory: the rest is the system's, the page cache's and the load program's."""
_CONNECTION_BYTES = 10 << 20
_RESERVED = 5
_ORDERED = (
    ("min_wal_size", "max_wal_size"),
    ("max_parallel_workers", "max_worker_processes"),
    ("max_parallel_workers_per_gather", "max_parallel_workers"),
)
_USUAL = {
    "shared_buffers": "128MB", "work_mem": "4MB", "maintenance_work_mem": "64MB", "autovacuum_max_workers": "3",
    "hash_mem_multiplier": "2", "min_wal_size": "80MB", "max_wal_size": "1GB", "max_parallel_workers": "8",
    "max_worker_processes": "8", "max_parallel_workers_per_gather": "2", "max_connections": "100",
    "autovacuum_work_mem": "-1",
}  # fmt: skip
"""PostgreSQL's defaults, where a configuration does not say."""
_BARE_BYTES = {
    "shared_buffers": 8192,
    "work_mem": 1024,
    "maintenance_work_mem": 1024,
    "autovacuum_work_mem": 1024,
    "min_wal_size": 1 << 20,
    "max_wal_size": 1 << 20,
}
_PER_GATHER = "max_parallel_workers_per_gather"
_TAKING = ("shared_buffers", "work_mem", "maintenance_work_mem", "hash_mem_multiplier", _PER_GATHER)
_REDUCED = tuple(dict.fromkeys((*_TAKING, *(lower for lower, _ in _ORDERED))))
MEMORY = "host.memory"
"""The factor by which a server has less than the machine."""


@dataclass(frozen=True)
class Limits:
    """What the machine and the load leave."""

    memory_bytes: int
    clients: int
    nodes: int = 1
    """Sorts and hashes that a process may have at a time."""

    def bytes_of(self, configuration: Configuration) -> int:
        """The memory that a server of this configuration has."""
        return min(self.memory_bytes, limit_bytes(configuration.values.get(MEMORY, "")))


def limit_bytes(level: str) -> int:
    """The memory that a level of `host.memory` leaves a server; no limit where it sets none."""
    quantity = split_quantity(level)
    return int(quantity[0] * BYTES_PER_UNIT[quantity[1]]) if quantity and quantity[1] in BYTES_PER_UNIT else sys.maxsize


def objections(configuration: Configuration, limits: Limits) -> Iterator[str]:
    """Every reason not to try a configuration; none where it can be tried."""
    parts = _memory(configuration, limits)
    wanted, most = sum(size for _, size in parts), int(MEMORY_SHARE * limits.bytes_of(configuration))
    if wanted > most:
        parts.sort(key=lambda each: -each[1])
        largest = ", ".join(f"{name} {format_size(size)}" for name, size in parts[:3])
        yield (f"it may take {format_size(wanted)} of memory, and at most {format_size(most)} may be taken ({largest})")
    for lower, upper in _ORDERED:
        if lower in configuration.values or upper in configuration.values:
            low, high = (_number(configuration, name) for name in (lower, upper))
            if low > high:
                yield f"{lower} = {_value(configuration, lower)} is above {upper} = {_value(configuration, upper)}"
    if _number(configuration, "max_connections") < limits.clients + _RESERVED:
        yield (
            f"max_connections = {_value(configuration, 'max_connections')} leaves no room "
            f"for the load, which needs {limits.clients + _RESERVED}"
        )


def allowed(configuration: Configuration, limits: Limits) -> bool:
    """May it be tried?"""
    return next(objections(configuration, limits), None) is None


def require_room(space: Space, limits: Limits) -> None:
    """Raise `UsageError` where not even the most modest configuration of the space, or its start, may be tried."""
    modest = Configuration({each.name: each.levels[0] for each in space.dimensions if each.name in _TAKING})
    for configuration in (space.start.with_values(modest.values), space.start):
        why = next(objections(configuration, limits), None)
        if why is not None:
            raise _contradiction(why)


def within(
    dimensions: tuple[Dimension, ...], wanted: Configuration, limits: Limits, floor: Configuration | None = None
) -> Configuration:
    """The nearest configuration that may be tried: what takes memory goes down step by step, the most first.

    Nothing goes below its level in `floor`. Raises `UsageError` where no step is left.
    """
    found = wanted
    while not allowed(found, limits):
        lower: dict[int, Configuration] = {}
        for each in dimensions:
            if not each.ordered or each.name not in _REDUCED:
                continue
            at = index_of(each.levels, found.values[each.name])
            least = 0 if floor is None else index_of(each.levels, floor.values[each.name])
            if at > least:
                nearer = found.with_values({each.name: each.levels[at - 1]})
                lower.setdefault(sum(size for _, size in _memory(nearer, limits)), nearer)
        if not lower:
            raise _contradiction(next(objections(found, limits)))
        found = lower[min(lower)]
    return found


def _contradiction(why: str) -> UsageError:
    return UsageError(
        f"no configuration of the space can be run: {why}", "lower what it names, in the space or in the start"
    )


def _memory(configuration: Configuration, limits: Limits) -> list[tuple[str, int]]:
    """What may be taken at most, by whom; each worker of a parallel query may sort as its leader may."""
    number = partial(_number, configuration)
    workers = min(limits.clients * number(_PER_GATHER), number("max_parallel_workers"), number("max_worker_processes"))
    each = number("work_mem") * max(1.0, number("hash_mem_multiplier")) * limits.nodes
    own = number("autovacuum_work_mem")
    vacuum = (own if own > 0 else number("maintenance_work_mem")) * number("autovacuum_max_workers")
    parallel = f" and {workers:.0f} parallel workers" if workers else ""
    times = f", {limits.nodes} sorts or hashes each" if limits.nodes > 1 else ""
    return [
        ("shared_buffers", int(number("shared_buffers"))),
        (f"work_mem of {limits.clients} clients{parallel}{times}", int(each * (limits.clients + workers))),
        ("vacuum" if own > 0 else "maintenance_work_mem", int(vacuum)),
        ("connections", limits.clients * _CONNECTION_BYTES),
    ]


def _value(configuration: Configuration, name: str) -> str:
    return configuration.values.get(name, _USUAL[name])


def _number(configuration: Configuration, name: str) -> float:
    quantity = split_quantity(_value(configuration, name))
    if quantity is None:
        return 0.0  # PostgreSQL itself refuses it, in its own words
    number, unit = quantity
    return number * (BYTES_PER_UNIT.get(unit, 1) if unit else _BARE_BYTES.get(name, 1))
