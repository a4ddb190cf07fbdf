"""The real environment: the rooms put together for this machine, with PostgreSQL, drives, pgbench and probes.

What is made here (socket directory, workspaces, clones) is given back by `close` on every way out, Ctrl-C included (see
`interruption`); what a killed run left behind is removed when the next one attaches (see `drive.sessions` and
`postgres.ownership`).
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from pgassay import scratch
from pgassay.count import Valgrind
from pgassay.drive.directory import CountersOf
from pgassay.drive.smart import SmartOfMounts
from pgassay.errors import PgassayError, UsageError
from pgassay.hardware_counter import HardwareCounter
from pgassay.host import accounts
from pgassay.host.changes import Ledger, LocalHost
from pgassay.host.groups import own_limit_bytes
from pgassay.host.huge_pages import peak_bytes
from pgassay.host.keeper import Keeper
from pgassay.host.runner import LocalRunner, SystemClock
from pgassay.host.storage import PageCache
from pgassay.interfaces.client import HERE, LOOPBACK, ClientHost
from pgassay.interfaces.errors import Missing
from pgassay.interfaces.load import FileHashes, Load, LoadOptions, Tools
from pgassay.interfaces.places import UserFiles
from pgassay.interfaces.probe import Target
from pgassay.interfaces.proc import boot_id
from pgassay.interfaces.server import Installation
from pgassay.lab import cleanup
from pgassay.lab.catalogue import every_factor
from pgassay.lab.drives import Drives, local_attacher, owned
from pgassay.lab.environment import FOREIGN_SHARE_MAX, Environment
from pgassay.lab.interruption import Interruption
from pgassay.lab.places import Building, builder_of, default_directory, local_finder, stand_in
from pgassay.load import drivers
from pgassay.load.player import LocalMetronome
from pgassay.load.references import CpuYardstick, Loopback, NetworkReference
from pgassay.postgres import ownership, settings
from pgassay.postgres.attached.restarts import RestartCommand
from pgassay.postgres.attached.watch import SLOT_BYTES
from pgassay.postgres.builds.builder import Builder, MissingBuild, missing_builds
from pgassay.postgres.builds.request import BuildRequest
from pgassay.postgres.installation import LocalInstallation
from pgassay.probe.registry import every_probe
from pgassay.probe.sampler import Sampler
from pgassay.record import live_sample
from pgassay.record.disk import RealDisk
from pgassay.scratch import state_directory
from pgassay.study.document import HARDWARE_LEVEL, MISSES_LEVEL

if TYPE_CHECKING:
    from pgassay.lab.arms import ResolvedStudy


@dataclass(frozen=True)
class BenchOptions:
    """Where and on what to run. None stands for the first PostgreSQL that is found, or the default directory."""

    bindir: Path | None = None
    data_directory: Path | None = None
    allow_volatile: bool = False
    allow_busy: bool = False
    """Other programs work here and the user knows: their CPU time makes no trial invalid, and the record says so."""
    keep_snapshots: bool = True
    owned: tuple[str, ...] = ()
    """Devices that may be written over."""
    dry_run: bool = False
    """Only a plan is made: no directory is made, no device is written over."""
    snapshots_in: Path | None = None
    """Where the prepared data of directories and devices are kept; None for on the drive that is measured."""
    clients: Callable[[str], ClientHost] | None = None
    """Finds the worker of a fleet that `load.host` names; None where nothing leads to any."""
    building: Building = field(default_factory=Building)
    """Whether and how a PostgreSQL may be built for a `build.*` factor."""
    servers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Servers of the user's own to run on, by connection string (`lab.attached`): one named "", or as many of each name
    that are compared. Empty for clusters of ours."""
    owns_server: bool = False
    """The user has said that these servers may be changed."""
    companions: tuple[str, ...] = ()
    """Who may stay on it, as `postgres.attached.facts` reads them."""
    slot_bytes: int = SLOT_BYTES
    """The most WAL that a replication slot there may hold back before the run ends."""
    restart: RestartCommand | None = None
    """What restarts it before each trial; None where it is never restarted."""
    files: UserFiles = field(default_factory=UserFiles)
    """Where files are that the study names by their paths on another machine, as a capsule's are."""


class Workbench:
    """Everything real; use it in a `with`, in the main thread: programs die with the thread that started them."""

    def __init__(self, options: BenchOptions, environment: Mapping[str, str] = os.environ) -> None:
        self.options = options
        self._variables = environment
        self.account = accounts.choose(environment)
        self.clock = SystemClock()
        self.runner = LocalRunner(self.account)
        self.finder = local_finder(self.runner, self.clock, self.account, environment)
        self.data_directory = options.data_directory or default_directory(environment)
        self.host = LocalHost(Ledger(state_directory(environment), boot_id()))
        self._installations: dict[tuple[str, BuildRequest | None], LocalInstallation] = {}
        self._hashes = FileHashes()
        self._missing = Missing(options.dry_run)
        self._interruption = Interruption()
        self._given_back = ExitStack()

    def __enter__(self) -> "Workbench":
        with ExitStack() as stack:
            stack.enter_context(self._interruption.listening())
            self._keeper = Keeper(cleanup.COMMAND)
            stack.callback(self._keeper.close)
            stack.callback(self.host.close)
            self.host.repair()
            with suppress(PgassayError, OSError):
                scratch.remove_left()
            with self._interruption.held():
                self._sockets = stack.enter_context(ownership.private_directory(self.account))
            options = self.options
            attacher = replace(
                local_attacher(self.runner, self.account),
                allow_volatile=options.allow_volatile,
                keep_snapshots=options.keep_snapshots,
                owned=owned(options.owned),
                planned=options.dry_run,
                snapshots_in=None if options.snapshots_in is None else options.snapshots_in.absolute(),
                missing=self._missing,
            )
            self._given_back = stack.pop_all()
        self._drives = Drives(
            self.data_directory, attacher, self._interruption.held, self._given_back, self._keeper.add
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give everything back; calling it twice is harmless."""
        with self._interruption.held():
            self._keeper.end_strays()  # they may hold a file system that is to be unmounted
            self._given_back.close()

    def environment(self) -> Environment:
        return Environment(
            clock=self.clock,
            drive=self._drives.attach,
            catalogue=every_factor(),
            installation=self.installation,
            effective=settings.shown,
            load=self.load,
            probes=lambda server, directory: every_probe().open(
                Target(server, directory, self.clock, self._drives.counters(directory))
            ),
            sampling=lambda probes: Sampler(probes, self.clock),
            caches=PageCache(),
            disk=RealDisk(),
            host=self.host,
            peak_bytes=peak_bytes,
            memory_bytes=min(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), own_limit_bytes() or 1 << 62),
            socket_directory=self._sockets,
            foreign_share_max=1.0 if self.options.allow_busy else FOREIGN_SHARE_MAX,
            require_program=drivers.require_program,
            metronome=lambda directory: LocalMetronome(
                sorted(os.sched_getaffinity(0)), self.runner, self.clock, directory
            ),
            client=self.client,
            instruments={
                "on": Valgrind(self.runner, self._sockets, self.account.owner),
                MISSES_LEVEL: Valgrind(self.runner, self._sockets, self.account.owner, misses=True),
                HARDWARE_LEVEL: HardwareCounter(),
            },
            references=(CpuYardstick(self.runner), NetworkReference(self.client)),
            missing=self._missing,
            note=live_sample.append,
            held=self._interruption.held,
            files=self.options.files,
            ahead=None if self.options.dry_run else self._drives.ahead,
        )

    def counting(self) -> CountersOf:
        return SmartOfMounts(self.runner).of

    def require(self, resolved: "ResolvedStudy") -> None:
        """Raise `UsageError` for what no server of this bench can have: here every PostgreSQL can be made."""
        if any(arm.setup.server for arm in resolved.arms):
            raise UsageError("postgres.server names servers of yours", "compare them: --server A=DSN --server B=DSN")

    def remarks(self, resolved: "ResolvedStudy") -> Sequence[tuple[str, str]]:
        """What this bench cannot do or read for the study, by code, for warnings and the record."""
        return ()

    def changes(self, resolved: "ResolvedStudy") -> Sequence[str]:
        """What a run changes and puts back of what is not ours, a line each."""
        return ()

    def describe(self) -> Mapping[str, Mapping[str, str | bool]]:
        """The user's own servers by name, one alone as ""; empty for servers of ours."""
        return {}

    def installation(self, version: str = "", build: BuildRequest | None = None) -> Installation:
        """The PostgreSQL of a version (empty for any), or a build; found or built once; what the user named goes first.

        Raises `BenchError`, or `UsageError` where both are asked for. A plan builds nothing (`places.stand_in`).
        """
        named, known = self.options.bindir, self._installations.get((version, build))
        if known is not None:
            return known
        if build is None:
            found = self.finder.find(version or None, named)
        elif named or version:
            raise UsageError("--pg-bindir names the programs, build.* factors build them", "leave one of them out")
        elif self.options.dry_run and self.missing_builds([build]):
            found = stand_in(self.finder, build.version)
        else:
            found = self._builder().installation(build, may_build=self.options.building.allowed)
        self._installations[version, build] = found
        return found

    def missing_builds(self, requests: Iterable[BuildRequest | None]) -> tuple[MissingBuild, ...]:
        """Which of these builds are not in the cache; nothing is fetched or built for the answer."""
        builds = [each for each in requests if each is not None]
        return missing_builds(self._builder(), builds) if builds else ()

    def require_room(self, missing: Sequence[MissingBuild]) -> None:
        """Raise `BuildError` unless all these builds fit, before the first of them takes its minutes."""
        if missing:
            self._builder().cache.require_room(len(missing))

    def _builder(self) -> Builder:
        building, account = self.options.building, self.account
        return builder_of(building, self.runner, self.clock, account, self.finder, self._variables)

    def load(self, options: LoadOptions, installation: Installation) -> Load:
        client = self.client(options.host)
        elsewhere, player_host = (None, None) if client is None else (client.runner, client.player_host)
        tools = Tools(installation.bindir, self.runner, self.clock, self._hashes, elsewhere, player_host)
        return drivers.make(options, tools)

    def client(self, name: str) -> ClientHost | None:
        if name == HERE:
            return None
        if name == LOOPBACK:
            return Loopback(self.runner)
        return Loopback(self.runner, absent=name) if self.options.clients is None else self.options.clients(name)
