"""A study's arms, each resolved once into all that its trials need: setup, programs, load, settings, drive, snapshot.

`resolve` is called once for a run, and once for a plan. All parts are asked of the `ResolvedArm`; no arm is
composed a second time. What may cost something is resolved when it is first asked for: an installation may have to be
built, a drive has to be attached.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from pgassay.drive.options import DriveOptions
from pgassay.errors import UsageError
from pgassay.interfaces.factor import BAKED, Factor, SetupDraft, Stage
from pgassay.interfaces.load import Load, LoadOptions
from pgassay.interfaces.places import UserFiles
from pgassay.interfaces.probe import Instrument
from pgassay.interfaces.server import Installation
from pgassay.interfaces.store import Drive, Needs
from pgassay.lab.catalogue import FactorCatalogue
from pgassay.lab.environment import Environment
from pgassay.lab.settings import MEMORY, PREPARING, STOCK_BYTES, STOCK_SHARED_BUFFERS, Setup, process_bytes, settings_of
from pgassay.load.options import PgbenchClientOptions, RatedOptions
from pgassay.study.document import COUNTED_LOAD, TIMED_LOAD
from pgassay.study.levels import Arm, Level
from pgassay.study.model import Study
from pgassay.study.units import format_bytes, parse_memory

WRITTEN_BYTES_PER_S_MAX = 4_000_000_000
"""No trial writes more in a second: as much as a drive at four lanes of PCIe 3.0 takes in any form, and PostgreSQL
writes pages of 8 kB."""
WAL_BYTES = 1 << 30
"""The least room for WAL along with a clone's data: what a server admits whose settings say nothing else."""
WAL_WRITTEN_BYTES_PER_S_MAX = 256_000_000
"""No load writes more WAL in a second: 30 000 transactions that each write one page whole, or 400 000 of pgbench's
that write none. A rate that no machine reaches would warn of studies that fit."""
_WAL_SLACK = 1.25
"""max_wal_size is no hard limit: WAL of checkpoints that are late lies there too (manual, "WAL Configuration")."""
_WAL_SPARE_BYTES = 64 << 20
_HEADER_BYTES = 128
"""Of a page: header and special space, and what is too little for one more row or key, on average."""


@dataclass(frozen=True)
class Bound:
    """A level with the factor that applies it."""

    name: str
    level: Level
    factor: Factor

    @property
    def paths(self) -> tuple[Path, ...]:
        return self.factor.paths_of(self.name, self.level)


@dataclass(frozen=True, eq=False)
class ResolvedArm:
    """One arm with its levels bound to factors (in the order of the stages) and all that follows from them."""

    whole: "ResolvedStudy"
    arm: Arm
    bound: tuple[Bound, ...]
    setup: Setup

    @property
    def study(self) -> Study:
        return self.whole.study

    @property
    def environment(self) -> Environment:
        """Where servers of the user's are compared, that of the arm's own server."""
        return self.whole.environment.sets.get(self.whole.set, {}).get(self.setup.server, self.whole.environment)

    @property
    def instrument(self) -> Instrument:
        """Of a load that is counted."""
        return self.environment.instruments[self.setup.load.counting]

    def at(self, *stages: Stage) -> tuple[Bound, ...]:
        return tuple(each for each in self.bound if each.factor.stage in stages)

    @cached_property
    def installation(self) -> Installation:
        """The PostgreSQL that serves the arm; the first call may build it. Raises `BenchError` if there is none."""
        return self.environment.installation(self.setup.version, self.setup.build)

    @cached_property
    def load(self) -> Load:
        return self.environment.load(slowed(self.setup.load, self.setup.drive.dilation), self.installation)

    @cached_property
    def warm_up(self) -> Load | None:
        """The same load for its warm-up, or for the shorter window of a count; None where neither is asked for."""
        if self.setup.load.warmup_s <= 0 and not self.setup.load.count:
            return None
        offered = slowed(self.setup.load, self.setup.drive.dilation)
        return self.environment.load(offered.warm_up(), self.installation)

    @cached_property
    def settings(self) -> Mapping[str, str]:
        """With what the server starts, GUC to value: the study's own settings and those that pin the regime."""
        return settings_of(self.study, self.setup, self.environment.server.pins)

    @cached_property
    def drive(self) -> Drive:
        """Where the arm's clusters live; attached at the first call. Raises `DriveError`."""
        asked = self.setup.drive
        return self.environment.drive(asked, Needs() if asked == DriveOptions() else self.whole.needs(asked))

    @cached_property
    def data_bytes(self) -> int:
        """What the load says that its rows take, at this FILLFACTOR and page size; or what is copied."""
        if self.setup.copied_database:
            return self.environment.server.database_bytes(self.setup.copied_database)
        return stored_bytes(self.setup, self.load.estimated_bytes())

    @cached_property
    def kept_bytes(self) -> int:
        """What its snapshot holds of `data_bytes`: all but what each trial makes for itself."""
        return self.data_bytes - stored_bytes(self.setup, self.setup.load.trial_bytes)

    @property
    def clone_bytes(self) -> int:
        """What a clone takes at most: all of its data, or of blocks shared with the snapshot those that its trial can
        write over.
        """
        load = self.setup.load
        shared = self.drive.mount().reflink and self.drive.snapshot_mount() is None
        if not shared or load.timed_s is None:
            return self.data_bytes
        rewritten = WRITTEN_BYTES_PER_S_MAX * (load.timed_s + load.warmup_s)
        return self.data_bytes - self.kept_bytes + min(self.kept_bytes, rewritten)

    @property
    def memory_bytes(self) -> int:
        """What its server needs at once: shared buffers, processes, and its data in the page cache; raises `UsageError`
        for buffers of no size.
        """
        typed = self.settings.get("shared_buffers", STOCK_SHARED_BUFFERS)
        try:
            buffers_bytes = int(typed) * self.setup.block_bytes
        except ValueError:
            buffers_bytes = parse_memory(typed)
        return buffers_bytes + process_bytes(self.setup.load) + self.data_bytes

    @property
    def wal_room_bytes(self) -> int:
        """What WAL takes at most besides a clone's data: what `max_wal_size` admits, or what the load can write in its
        time; never less than `WAL_BYTES`.
        """
        load, asked = self.setup.load, self.settings.get("max_wal_size", "")
        if load.reads_only or not load.connections:
            return WAL_BYTES
        admitted = _admitted_bytes(f"{asked}MB" if asked.isdecimal() else asked)
        if load.timed_s is not None:
            admitted = min(admitted, WAL_WRITTEN_BYTES_PER_S_MAX * (load.timed_s + load.warmup_s))
        return max(WAL_BYTES, admitted)

    @property
    def snapshot_key(self) -> str:
        """A short hash of everything that the golden snapshot depends on: programs, initdb options, data, their levels.

        Arms with one key share one snapshot. It is made again at each call, because a file with the user's data may
        change during a run; the load reads such a file again only if it did.
        """
        parts: dict[str, object] = {
            "bindir": str(self.installation.bindir),
            "version": self.installation.version.text,
            "init": dict(sorted(self.setup.init_options.items())),
            "load": self.load.name,
            "data": dict(sorted(self.load.data_key().items())),
            "levels": {each.name: each.level.canonical for each in self.at(*BAKED)},
        }
        if len(self.whole.on_sets) > 1:
            parts |= {"set": self.whole.set}
        if self.setup.copied_database:
            parts |= {"data": {}}
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]


class ResolvedStudy:
    """A study with every arm resolved, in the study's order; on the first set of the user's servers."""

    def __init__(self, study: Study, environment: Environment, set_: str | None = None) -> None:
        self.study = study
        self.environment = environment
        self.set = next(iter(environment.sets), "") if set_ is None else set_
        self.arms = tuple(
            ResolvedArm(self, arm, *_with_processes(study, bind(study, arm, environment.catalogue), environment.files))
            for arm in study.arms
        )
        self._by_name = {each.arm.name: each for each in self.arms}

    @cached_property
    def on_sets(self) -> "Sequence[ResolvedStudy]":
        """The study on each set of the user's servers that are compared; itself alone where there are not several."""
        others = (
            self if each == self.set else ResolvedStudy(self.study, self.environment, each)
            for each in self.environment.sets
        )
        return tuple(others) or (self,)

    @cached_property
    def counted(self) -> "ResolvedStudy | None":
        """The trials that count along with those that are timed, of the same arms and data; None where none do."""
        along = self.arms[0].setup.load.counted_along
        if along is None:
            return None
        timed = {f"load.{option}" for option in (*TIMED_LOAD, "rate")}
        held = {name: level for name, level in self.study.fixed.items() if name not in timed}
        for option, text in {**COUNTED_LOAD, "transactions": str(along), "count": "on"}.items():
            held[f"load.{option}"] = Level(text, text)
        return ResolvedStudy(replace(self.study, fixed=held), self.environment, self.set)

    @property
    def foreseen(self) -> "ResolvedStudy | None":
        """The study with its drives as a plan sees them: nothing is made or written over, but what a killed run left is
        removed. None without devices: there is nothing to look at before they are attached.
        """
        ahead = self.environment.ahead
        if ahead is None or all(drive.device is None for arm in self.arms for drive in arm.setup.drive.drives):
            return None
        return ResolvedStudy(self.study, replace(self.environment, drive=ahead(), ahead=None))

    def in_block(self, block: int) -> "ResolvedStudy":
        return self.on_sets[(block - 1) % len(self.on_sets)]

    def of(self, arm: Arm) -> ResolvedArm:
        return self._by_name[arm.name]

    def needs(self, drives: DriveOptions) -> Needs:
        """What the study will put on these drives: the largest data of *any* arm, and the snapshots of those that share
        them.

        Each arm gets the same size. A drive that is sized by one arm's own data would give a low fillfactor more spare
        flash to waste than a high one.
        """
        kept = {each.snapshot_key: each.kept_bytes for each in self.arms if each.setup.drive == drives}
        return Needs(
            data_bytes=max(each.data_bytes for each in self.arms),
            wal_bytes=WAL_BYTES,
            snapshots=len(kept),
            kept_bytes=sum(kept.values()),
            wal_least_bytes=wal_least_bytes(each.settings for each in self.arms),
            crash_states=any(each.setup.load.cuts for each in self.arms),
        )


def wal_least_bytes(settings: Iterable[Mapping[str, str]]) -> int:
    """What WAL grows to at most on a drive that is sized closely, by the settings of all arms' servers."""
    typed = [PREPARING["max_wal_size"], *(each.get("max_wal_size") for each in settings)]
    return min(WAL_BYTES, max(map(_admitted_bytes, typed)))


def bind(study: Study, arm: Arm, catalogue: FactorCatalogue) -> tuple[Bound, ...]:
    bound = []
    for name, level in study.levels_of(arm).items():
        factor = catalogue.find(name)
        if factor is None:
            raise KeyError(name)  # a parsed study holds only names that the catalogue knows
        bound.append(Bound(name, level, factor))
    order = list(Stage)
    return tuple(sorted(bound, key=lambda each: order.index(each.factor.stage)))


def setup_of(study: Study, arm: Arm, catalogue: FactorCatalogue) -> Setup:
    """What an arm asks of every room; raises `UsageError` for levels that do not go together."""
    return _with_processes(study, bind(study, arm, catalogue), UserFiles())[1]


def _with_processes(study: Study, bound: Sequence[Bound], files: UserFiles) -> tuple[tuple[Bound, ...], Setup]:
    """The levels as they are applied, and the setup of them.

    In a scale model an arm's server may have `host.memory` and what its processes take; its load goes by the former.
    """
    draft = SetupDraft()
    for each in bound:  # rooms get the places of files here; levels, which go into the record, keep the study's paths
        each.factor.prepare(each.name, each.factor.map_paths(each.name, each.level, files.here), draft)
    setup = Setup.of(draft)
    if study.model is None or not study.model.processes_beside or setup.memory_bytes is None:
        return tuple(bound), setup
    limit_bytes = setup.memory_bytes + process_bytes(setup.load)
    limit = format_bytes(limit_bytes)
    applied = (
        replace(each, level=replace(each.level, canonical=limit)) if each.name == MEMORY else each for each in bound
    )
    return tuple(applied), replace(setup, memory_bytes=limit_bytes)


def stored_bytes(setup: Setup, rows_bytes: int) -> int:
    """What rows of so many bytes take at a setup's FILLFACTOR and page size."""
    return int(rows_bytes * 100 / setup.table_fillfactor * page_overhead(setup.block_bytes))


def resolve(study: Study, environment: Environment) -> ResolvedStudy:
    """Bind every arm's levels to their factors and compose its setup; nothing is started, attached or built by it.

    Raises `UsageError` for options that an arm's rooms do not take together.
    """
    return ResolvedStudy(study, environment)


def page_overhead(block_bytes: int) -> float:
    """How much more room data take on pages of this size than on a stock server's: 1 for those, 1.1 at 1 kB."""
    return max(1.0, (1 + _HEADER_BYTES / block_bytes) / (1 + _HEADER_BYTES / STOCK_BYTES))


def _admitted_bytes(max_wal_size: str | None) -> int:
    """What WAL grows to at most by this setting; ample where it is left to the server or has no unit."""
    try:
        most_bytes = parse_memory(max_wal_size) if max_wal_size else WAL_BYTES
    except UsageError:
        most_bytes = WAL_BYTES
    return int(most_bytes * _WAL_SLACK) + _WAL_SPARE_BYTES


def slowed(options: LoadOptions, dilation: int) -> LoadOptions:
    found = options
    if isinstance(found, RatedOptions) and found.rate_tps is not None:
        found = replace(found, rate_tps=found.rate_tps / dilation)
    if isinstance(found, PgbenchClientOptions) and found.latency_limit_ms is not None:
        found = replace(found, latency_limit_ms=found.latency_limit_ms * dilation)
    return found
