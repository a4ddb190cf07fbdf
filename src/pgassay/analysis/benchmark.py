"""A benchmark as it can be judged from outside: its runs in order, how each was set up, and which ended early.

A setup is what a DBA asks for before looking at any number. Names of settings are those that tools and tables use. What
no source says is None and is never judged.

Where no plan says how long a run should last, a run is short when it lasted less than 95 % of the median run of its
condition, and either another run of its own arm lasted longer by as much, or it lasted less than half. An arm whose
runs were all planned for another time is not short.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from statistics import median_high

from pgassay.errors import PgassayError
from pgassay.study.units import parse_memory, split_quantity

_NAMES: Mapping[str, tuple[str, ...]] = {
    "load": (
        "script",
        "scenario",
        "workload",
        "mode",
        "test",
        "benchmark",
        "statements",
        "load.script",
        "load.scenario",
    ),
    "scale": ("scale", "scale_factor", "scaling_factor", "load.scale"),
    "clients": ("clients", "connections", "load.clients"),
    "threads": ("threads", "jobs", "load.jobs"),
    "rate_limited": ("rate_limited",),
    "rate": ("rate", "load.rate"),
    "lag_ms": ("schedule_lag_ms",),
    "checkpoint_timeout": ("checkpoint_timeout", "server.checkpoint_timeout"),
    "host": ("pg_host", "db_host", "server_host"),
    "memory": ("memory", "ram", "host.memory", "memory_total"),
    "database": ("database_bytes", "database_size"),
    "client": ("client_program",),
    "after_load": ("after_load",),
    "fsync": ("fsync", "server.fsync"),
    "synchronous_commit": ("synchronous_commit", "server.synchronous_commit"),
    "full_page_writes": ("full_page_writes", "server.full_page_writes"),
}  # fmt: skip
NAMES = tuple(name for names in _NAMES.values() for name in names)
"""Every name of a setting that is judged."""
DURABILITY = ("fsync", "synchronous_commit", "full_page_writes")
"""Settings that give up what a crash must not take, for speed."""
DURABILITY_NAMES = frozenset(name for setting in DURABILITY for name in _NAMES[setting])

_LOCAL = re.compile(r"localhost|127\.[0-9.]+|::1|/.*", re.IGNORECASE)
_TPC_B = re.compile(r"tpc-?b", re.IGNORECASE)
_READS_ONLY = re.compile(r"select.only|read.?only|\bro\b|point_select|^reads,", re.IGNORECASE)
_WRITES = re.compile(r"tpc-?[bc]|tpcc|update|read.?write|\brw\b|write.?only|insert|delete|writes", re.IGNORECASE)
_DISK = re.compile(
    r"(?<![a-z])(disks?|drives?|ssds?|nvme|hdds?|storage|iops|volumes?|mount(point|s)?|mnt|raid([ -]?[0-9]+)?"
    r"|file ?systems?|zfs|xfs|ext4|btrfs|f2fs|lvm|luks|nfs|iscsi|san|nas|ebs|gp[23]|optane)(?![a-z])",
    re.IGNORECASE,
)
_SCALE_BYTES = 15e6
"""What a unit of pgbench's scale takes: 100000 accounts of about 130 bytes, and their index."""


@dataclass(frozen=True)
class Setup:
    """What is known of a run's load and machine; None: not known. Times in s, sizes in bytes, `rate` in transactions/s.

    `tpc_b` says that each transaction updates one of as many branches as the scale; `about_disk` that levels or title
    speak of a drive; `cycles` is how many whole checkpoint cycles the window held. `client` is the load program with
    its version; `after_load` says that the data were loaded just before; `durability` what is known of `DURABILITY`.
    """

    tpc_b: bool = False
    writes: bool | None = None
    scale: float | None = None
    clients: float | None = None
    threads: float | None = None
    rate_limited: bool = False
    rate: float | None = None
    lag_ms: float | None = None
    checkpoint_timeout_s: float | None = None
    cycles: float | None = None
    same_machine: bool = False
    database_bytes: float | None = None
    memory_bytes: float | None = None
    about_disk: bool = False
    client: str = ""
    after_load: bool = False
    durability: tuple[tuple[str, str], ...] = ()

    @staticmethod
    def of(fields: Mapping[str, str], title: str = "") -> "Setup":
        """What fields of a run say, and the title of the study."""
        said = {
            key: next((fields[name].strip() for name in names if fields.get(name)), "") for key, names in _NAMES.items()
        }
        loads = [fields[name] for name in _NAMES["load"] if fields.get(name)]
        tpc_b = any(_TPC_B.search(each) for each in loads)
        reads_only, writes = (any(each.search(load) for load in loads) for each in (_READS_ONLY, _WRITES))
        scale, clients, rate = (_number(said[name]) for name in ("scale", "clients", "rate"))
        timeout = split_quantity(said["checkpoint_timeout"])
        database_bytes = _bytes(said["database"])
        if database_bytes is None and scale is not None and (tpc_b or "builtin" in " ".join(loads)):
            database_bytes = scale * _SCALE_BYTES
        return Setup(
            tpc_b=tpc_b,
            writes=False if reads_only else True if writes else None,
            scale=scale,
            clients=clients,
            threads=clients if said["threads"] == "clients" else _number(said["threads"]),
            rate_limited=said["rate_limited"] == "yes" or bool(rate),
            rate=rate,
            lag_ms=_number(said["lag_ms"]),
            checkpoint_timeout_s=timeout[0] * _SECONDS[timeout[1]] if timeout and timeout[1] in _SECONDS else None,
            same_machine=bool(_LOCAL.fullmatch(said["host"])),
            database_bytes=database_bytes,
            memory_bytes=_bytes(said["memory"]),
            about_disk=bool(_DISK.search(" ".join((title, *fields, *fields.values())))),
            client=said["client"],
            after_load=said["after_load"] == "yes",
            durability=tuple((name, _SWITCH.get(said[name].lower(), said[name])) for name in DURABILITY if said[name]),
        )


_SWITCH = {
    **dict.fromkeys(("on", "true", "yes", "1", "t"), "on"), **dict.fromkeys(("off", "false", "no", "0", "f"), "off"),
}  # fmt: skip


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


_SECONDS = {"": 1.0, "s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "ms": 0.001}


def _bytes(text: str) -> float | None:
    """A size as PostgreSQL writes it (`16GB`); a bare number is bytes."""
    quantity = split_quantity(text.replace(" ", ""))
    if quantity is None:
        return None
    try:
        return float(parse_memory(text.replace(" ", ""))) if quantity[1] else float(text)
    except (PgassayError, ValueError):
        return None


@dataclass(frozen=True)
class Run:
    """One published value. `position` is its place in time over the whole benchmark, None when that is not known.

    `levels` are factor levels as typed; `seconds` how long it ran, `planned_s` how long it should have; `aborted` what
    the tool said when it gave up, empty when it did not. `condition` is what a comparison never crosses (a scale, a mix
    of statements); `place` where the run stands in its source; `setup` how it was loaded; `course` its transactions per
    second as they were reported while it ran, each with the second at which it was.
    """

    treatment: str
    value: float | None
    position: int | None = None
    levels: Mapping[str, str] = field(default_factory=dict)
    seconds: float | None = None
    planned_s: float | None = None
    aborted: str = ""
    condition: str = ""
    place: str = ""
    setup: Setup = field(default_factory=Setup)
    course: tuple[tuple[float, float | None], ...] = ()

    @property
    def arm(self) -> str:
        """Treatment and condition: what repetitions are repetitions of."""
        return ", ".join(part for part in (self.treatment, self.condition) if part)


@dataclass(frozen=True)
class Benchmark:
    """All runs of one response. `replicate` is what one value is: a `run`, or a `second` of one.

    `response` is its name. `baseline` names the treatment that claims are made against, when one does; `resolution` is
    the smallest effect that somebody would act on, as a share. `ordered` says that the runs of an arm are listed in the
    order in which they ran even where no position is known; without it nothing is said about order.
    """

    runs: tuple[Run, ...]
    replicate: str = "run"
    response: str = ""
    baseline: str = ""
    resolution: float = 0.05
    ordered: bool = True

    @cached_property
    def short_of_s(self) -> tuple[float | None, ...]:
        """For each run the length that it did not reach; None for a whole one."""
        return fell_short_of([Length(run.arm, run.condition, run.seconds, run.planned_s) for run in self.runs])

    @cached_property
    def groups(self) -> Mapping[str, tuple[Run, ...]]:
        found: dict[str, list[Run]] = {}
        for run in self.runs:
            found.setdefault(run.arm, []).append(run)
        if all(run.position is not None for run in self.runs):
            for runs in found.values():
                runs.sort(key=lambda run: run.position or 0)
        return {treatment: tuple(runs) for treatment, runs in found.items()}

    def values(self, arm: str) -> tuple[float, ...]:
        """The values of an arm that can be results, in order: not those of aborted and truncated runs."""
        values = (run.value for run in self.groups[arm] if not run.aborted and id(run) not in self._truncated)
        return tuple(value for value in values if value is not None and isfinite(value))

    @cached_property
    def _truncated(self) -> frozenset[int]:
        return frozenset(id(run) for run, target in zip(self.runs, self.short_of_s, strict=True) if target is not None)

    @property
    def in_order(self) -> bool:
        """Is it known in which order the runs of an arm ran?"""
        return self.ordered or all(run.position is not None for run in self.runs)


SHORT = 0.95
"""A run shorter than this share of what was planned (or of its like) is short."""

HALF = 0.5
"""Below this share of the usual length even an arm's only run is no whole run."""


@dataclass(frozen=True)
class Length:
    """How long a run lasted, and should have; None where it is not known."""

    arm: str
    condition: str
    seconds: float | None
    planned_s: float | None


def fell_short_of(lengths: Sequence[Length]) -> tuple[float | None, ...]:
    """For each run the length in seconds that it did not reach; None for a whole run and for one of unknown length."""
    by_condition: dict[str, list[float]] = {}
    longest: dict[str, float] = {}
    for each in lengths:
        if each.seconds is not None:
            by_condition.setdefault(each.condition, []).append(each.seconds)
            longest[each.arm] = max(each.seconds, longest.get(each.arm, 0.0))
    usual = {condition: median_high(found) for condition, found in by_condition.items()}
    found: list[float | None] = []
    for each in lengths:
        target = None
        if each.seconds is not None and each.planned_s is not None:
            target = each.planned_s if each.seconds < SHORT * each.planned_s else None
        elif each.seconds is not None and each.seconds < SHORT * usual[each.condition]:
            alone = each.seconds >= SHORT * longest[each.arm]
            target = None if alone and each.seconds >= HALF * usual[each.condition] else usual[each.condition]
        found.append(target)
    return tuple(found)
