"""The space that is searched: which settings may take which levels here, and which configurations may be tried.

Every dimension is a short list of levels as postgresql.conf writes them, in order where the setting has one: between
512MB and 513MB nothing is to be learnt in a noisy world. The start's own levels are always among them.

A trial that cannot work costs as much as one that can, and one that takes all memory hurts the machine. So a
configuration must keep within memory, the limits that settings set each other, and connections. The memory sum is of
the worst case that the manual warns of ("Resource Consumption", work_mem, hash_mem_multiplier and
max_parallel_workers_per_gather): every client and every parallel worker in so many hashes as the knowledge file says.
"""

import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import prod

from pgassay.advise.knowledge import Risk, Scale, Setting, unknown_setting
from pgassay.errors import UsageError
from pgassay.study.units import (
    BYTES_PER_UNIT,
    MS_PER_UNIT,
    canonical,
    format_bytes,
    format_number,
    format_size,
    split_quantity,
)

_SHARE = re.compile(r"(\d+(?:\.\d+)?)% of memory")
_PER_CORE = re.compile(r"(\d+(?:\.\d+)?) per core")
_LEVELS_MAX = 40


@dataclass(frozen=True)
class Machine:
    """What the levels depend on."""

    memory_bytes: int
    cores: int
    version: int = 999
    """The major version of PostgreSQL."""


@dataclass(frozen=True)
class Configuration:
    """Settings and their values, as postgresql.conf writes them."""

    values: Mapping[str, str] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Configuration) and self.key == other.key

    @cached_property
    def key(self) -> tuple[tuple[str, str], ...]:
        return tuple(sorted((name, canonical(value)) for name, value in self.values.items()))

    def with_values(self, values: Mapping[str, str]) -> "Configuration":
        return Configuration({**self.values, **values})

    def changes_from(self, start: "Configuration") -> dict[str, str]:
        """The values that differ from those of `start`; a setting that `start` does not have differs."""
        before = {name: canonical(value) for name, value in start.values.items()}
        return {name: value for name, value in self.values.items() if before.get(name) != canonical(value)}


def differing(first: Configuration, others: Iterable[Configuration]) -> set[str]:
    """The settings in which any of the others differs from the first."""
    return {name for each in others for name in each.changes_from(first)}


@dataclass(frozen=True)
class Dimension:
    """A setting with the levels that are tried here; `start` is one of them, and `rule` of the rule of thumb."""

    setting: Setting
    levels: tuple[str, ...]
    start: str
    rule: str

    @property
    def name(self) -> str:
        return self.setting.name

    @property
    def ordered(self) -> bool:
        """Do neighbouring levels act alike?"""
        return self.setting.scale is not Scale.ENUM

    @property
    def far(self) -> str:
        """The level furthest from the start; of words the rule of thumb's, or else the first other one."""
        at = index_of(self.levels, self.start)
        if self.ordered:
            return self.levels[0] if at > (len(self.levels) - 1) / 2 else self.levels[-1]
        others = [each for each in self.levels if canonical(each) != canonical(self.start)]
        return self.rule if canonical(self.rule) != canonical(self.start) else others[0]


@dataclass(frozen=True)
class Space:
    """Dimensions, the configuration that one starts from, and why settings that are known are not tried.

    `default` is the start with PostgreSQL's own default of every dimension.
    """

    dimensions: tuple[Dimension, ...]
    start: Configuration
    default: Configuration
    left_out: Mapping[str, str] = field(default_factory=dict)

    def dimension(self, name: str) -> Dimension:
        for each in self.dimensions:
            if each.name == name:
                return each
        raise unknown_setting(name, (each.name for each in self.dimensions))

    @property
    def rule_of_thumb(self) -> Configuration:
        """The start, but every setting for which there is a rule of thumb at its level."""
        return self.start.with_values({each.name: each.rule for each in self.dimensions if each.setting.rule})

    @property
    def size(self) -> int:
        return prod(len(each.levels) for each in self.dimensions)

    def narrowed(self, names: Collection[str]) -> "Space":
        """Only these dimensions; the others stay at the start."""
        return Space(
            tuple(each for each in self.dimensions if each.name in names), self.start, self.default, self.left_out
        )

    def without(self, name: str, why: str) -> "Space":
        """It is not tried: it stays at the start, and of the default, too."""
        rest = self.narrowed([each.name for each in self.dimensions if each.name != name])
        default = self.default.with_values({name: self.start.values[name]})
        return replace(rest, default=default, left_out={**self.left_out, name: why})


def index_of(levels: Iterable[str], value: str) -> int:
    """Where a value is among levels, however it is written; raises `ValueError` where it is not."""
    return [canonical(each) for each in levels].index(canonical(value))


def is_level(levels: Iterable[str], value: str) -> bool:
    """Is a value among levels, however it is written?"""
    return canonical(value) in map(canonical, levels)


def space_of(
    settings: Iterable[Setting],
    machine: Machine,
    start: Mapping[str, str],
    *,
    allowed: Collection[str] = (),
    barred: Mapping[str, str] | None = None,
    window_s: float = float("inf"),
    quick: bool = False,
) -> Space:
    """The space of these settings here; raises `UsageError` where it has one point.

    `allowed` names the settings that may cost durability, `barred` those that this load or machine cannot try, with the
    reason; `window_s` is the length of a measured window. Settings of the start always stay, whatever is tried: they
    are part of every configuration.
    """
    found: list[Dimension] = []
    left_out: dict[str, str] = {}
    for setting in (each.of_version(machine.version) for each in settings):
        why = (barred or {}).get(setting.name, "") or _unfit(
            setting, machine, allowed, window_s, quick=quick and setting.name not in start
        )
        if why:
            left_out[setting.name] = why
        else:
            found.append(_dimension(setting, machine, start.get(setting.name, setting.default)))
    fixed = [each.name for each in found if len(each.levels) < 2]
    dimensions = tuple(each for each in found if len(each.levels) >= 2)
    if not dimensions:
        reasons = [f"{', '.join(fixed)} can only be what they are"] if fixed else []
        reasons += [f"{name}: {why}" for name, why in left_out.items()]
        why = f": {'; '.join(reasons)}" if reasons else ""
        raise UsageError(f"the space has one point{why}", "give at least one setting two levels or more")
    own = Configuration({each.name: each.start for each in dimensions} | dict(start))
    default = own.with_values({each.name: each.setting.default for each in dimensions})
    return Space(dimensions, own, default, left_out)


def _unfit(setting: Setting, machine: Machine, allowed: Collection[str], window_s: float, *, quick: bool) -> str:
    if setting.risk is Risk.DURABILITY and setting.name not in allowed:
        return f"it trades durability: {setting.risks}; ask for it with --allow {setting.name}"
    if not setting.since <= machine.version <= setting.until:
        return f"PostgreSQL {machine.version} does not have it, or has another default"
    if setting.window_s > window_s:
        return f"its effect takes windows of {setting.window_s:g} s, and these are {window_s:g} s"
    if quick and not setting.quick and setting.name not in allowed:
        return "the quick form leaves it out"
    return ""


def _dimension(setting: Setting, machine: Machine, start: str) -> Dimension:
    if setting.scale is Scale.ENUM:
        levels, rule = list(setting.levels), setting.rule or start
        for own in (start, rule):
            levels += [] if is_level(levels, own) else [own]
        return Dimension(setting, tuple(levels), start, rule)
    quantity = split_quantity(setting.low or setting.default)
    unit = quantity[1] if quantity else ""
    unit = "B" if unit in BYTES_PER_UNIT else "ms" if unit in MS_PER_UNIT else ""
    low, high = (_amount(setting, text, machine) for text in (setting.low, setting.high))
    if low > high:
        raise UsageError(
            f"{setting.name} has no level between {setting.low} and {setting.high}", "give a low that is not above high"
        )
    numbers = [low]
    while len(numbers) < _LEVELS_MAX:
        following = numbers[-1] * setting.step if setting.scale is Scale.LOG else numbers[-1] + setting.step
        if following > high * (1 + 1e-9) or following <= numbers[-1]:
            break
        numbers.append(round(following, 9))
    texts = {each: f"{format_number(each)}{unit}" for each in numbers}
    if unit == "B":
        texts = {each: format_bytes(int(each)) if each else "0kB" for each in numbers}
    texts[_amount(setting, start, machine)] = start
    levels = [texts[number] for number in sorted(texts)]
    rule = start
    if setting.rule:
        wanted = _amount(setting, setting.rule, machine)
        rule = texts[max((number for number in texts if number <= wanted), default=min(texts))]
    return Dimension(setting, tuple(dict.fromkeys(levels)), start, rule)


def _amount(setting: Setting, text: str, machine: Machine) -> float:
    if share := _SHARE.fullmatch(text):
        return machine.memory_bytes * float(share[1]) / 100
    if per_core := _PER_CORE.fullmatch(text):
        return machine.cores * float(per_core[1])
    quantity = split_quantity(text)
    if quantity is None or quantity[1] not in {"", *BYTES_PER_UNIT, *MS_PER_UNIT}:
        raise UsageError(
            f'"{text}" is not an amount for {setting.name}',
            'give a quantity (64MB, 200ms, 4), "25% of memory" or "2 per core"',
        )
    number, unit = quantity
    return number * float(BYTES_PER_UNIT.get(unit) or MS_PER_UNIT.get(unit) or 1)


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


def limit_bytes(level: str) -> int:
    """The memory that a level of `host.memory` leaves a server; no limit where it sets none."""
    quantity = split_quantity(level)
    return int(quantity[0] * BYTES_PER_UNIT[quantity[1]]) if quantity and quantity[1] in BYTES_PER_UNIT else sys.maxsize


def objections(configuration: Configuration, limits: Limits) -> Iterator[str]:
    """Every reason not to try a configuration; none where it can be tried."""
    parts = _memory(configuration, limits)
    there_bytes = min(limits.memory_bytes, limit_bytes(configuration.values.get(MEMORY, "")))
    wanted, most = sum(size for _, size in parts), int(MEMORY_SHARE * there_bytes)
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
    return next(objections(configuration, limits), None) is None


def _contradiction(why: str) -> UsageError:
    hint = "lower what it names, in the space or in the start"
    return UsageError(f"no configuration of the space can be run: {why}", hint)


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
