"""The bench of a study on staging servers that the user names (`--server DSN --i-own`), instead of clusters of ours.

A `Workbench` whose installation and drive are made of SQL: databases of our own stand for clusters, treatments follow
each other on the one server, or on those that are compared. It says before a run what it will change and put back,
refuses by name what such a server cannot have, and notes in the record what could not be read or done there. See
docs/your-server.md.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from pgassay.analysis.numbers import plural
from pgassay.drive.options import DriveOptions
from pgassay.errors import UsageError
from pgassay.host.storage import UNKNOWN, mount_of
from pgassay.interfaces.client import HERE
from pgassay.interfaces.errors import BenchError
from pgassay.interfaces.factor import Stage
from pgassay.interfaces.places import Mount
from pgassay.interfaces.probe import Reader, Target
from pgassay.interfaces.running import Clock
from pgassay.interfaces.server import Installation, Server
from pgassay.lab.arms import ResolvedArm, ResolvedStudy
from pgassay.lab.environment import Environment, ServerAccess
from pgassay.lab.settings import CONNECTIONS_OURS, settings_of
from pgassay.lab.workbench import BenchOptions, Workbench
from pgassay.load.references import CpuYardstick, NetworkReference
from pgassay.postgres.attached import facts as about
from pgassay.postgres.attached import scopes
from pgassay.postgres.attached.attachment import Attachment, attach
from pgassay.postgres.attached.facts import NOBODY, Companions, visited
from pgassay.postgres.attached.scopes import Scope
from pgassay.postgres.attached.server import AttachedInstallation, Databases, as_it_is, rows_of_relations
from pgassay.postgres.attached.watch import Watch
from pgassay.postgres.builds.request import BuildRequest
from pgassay.postgres.factors import NamedServer
from pgassay.postgres.installation import COPY_DATABASE
from pgassay.postgres.server import Session
from pgassay.probe.registry import every_probe
from pgassay.scratch import state_directory
from pgassay.study.units import format_size, parse_whole

FIXED = {
    "build": "its programs are built already",
    "init": "its cluster is made already",
    "host": "its machine is not ours to change",
    "drive": "its files are where they are",
}
"""By the stage of a factor."""
OTHER_DRIVER = "only pgbench reaches a server that is not ours"
OTHER_HOST = "its program runs on this machine"
NO_FILES = "the server's files are not ours"

DRIVERS = ("pgbench",)
"""Loads whose programs reach any server: the others take a private socket."""
_MACHINE = {"process_tree", "process_io", "diskstats", "diskstats_wal", "machine"}
"""Sources of the machine that a server runs on: not ours, where the server is elsewhere."""
_DRIVE = "drive."
_NO_ROOM_KNOWN = 1 << 62


@dataclass(frozen=True)
class AsLeft:
    """The page cache beneath a server that is not ours is left alone; implements `lab.environment.Caches`."""

    def make_cold(self, directory: Path) -> str:
        return "left as it was"

    def make_warm(self, directory: Path) -> str:
        return "as CREATE DATABASE left it"


@dataclass
class UserServer:
    """A server of the user's, with what the lab does and reads there."""

    name: str
    """Empty for one alone."""
    attached: Attachment
    options: BenchOptions
    companions: Companions
    clock: Clock
    bindir: Path
    """Where the client programs are."""
    checkpoints: bool
    """May we ask for a CHECKPOINT before a window, on every server that is compared?"""
    uid: int
    """Of the account that a load's program has."""
    databases: Databases = field(init=False)
    watch: Watch | None = None
    """Of the trial that runs."""

    def __post_init__(self) -> None:
        facts = self.attached.facts
        if facts.here and facts.data_directory is not None and facts.data_directory.exists():
            mount = mount_of(facts.data_directory)
        else:
            place = facts.data_directory or Path(UNKNOWN)
            mount = Mount(place, Path("/"), UNKNOWN, UNKNOWN, "", 0, _NO_ROOM_KNOWN, reflink=False)
        self.databases = Databases(self.attached.changes, mount)

    def environment(
        self, own: Environment, pins: Callable[[str], bool], require_alike: Callable[[str, Server], None]
    ) -> Environment:
        """The bench's `own`, on this server; what `pins` allows is allowed on every server that is compared."""
        sql, in_one_piece = self.attached.sql, ""
        if self.name and self.companions != NOBODY:
            in_one_piece = "companions are observed once a second, over a window that is not cut into turns"
        elif self.name and not self.attached.by_socket_alone():
            in_one_piece = f"{called(self.name)} is not reached by a Unix socket without a password"
        return replace(
            own,
            installation=self.installation,
            drive=lambda options, needs: self.databases,
            probes=self.probes,
            caches=AsLeft(),
            metronome=None,
            memory_bytes=own.memory_bytes if self.attached.facts.here else _NO_ROOM_KNOWN,
            server=ServerAccess(
                ours=False,
                pins=pins,
                preparing={},
                checkpoints=self.checkpoints,
                database_bytes=lambda name: int(sql.query("SELECT pg_database_size(%s)", [name])[0][0]),
                in_one_piece=in_one_piece,
                pairs=owner_of(self.attached.facts.postmaster_pid) == self.uid,
                restart=self.options.restart.text if self.options.restart else "",
                visitors=self._visitors(),
                require_alike=require_alike,
            ),
        )

    def installation(self, version: str = "", build: BuildRequest | None = None) -> Installation:
        """The user's server, with the client programs of this machine; `require` has refused any other."""
        found = self.attached
        return AttachedInstallation(
            self.bindir,
            found.sql,
            found.endpoint,
            replace(found.facts, checkpoints=self.checkpoints),
            found.changes,
            self.companions,
            self.options.slot_bytes,
            called=called(self.name),
        )

    def probes(self, server: Server, directory: Path) -> Sequence[Reader]:
        """What probes can read there: nothing of a machine that is not this one, and no view that it refuses."""
        facts = self.attached.facts
        target = Target(server, facts.data_directory or Path("/"), self.clock, {}, guarded=True)
        hidden = set(self._unseen())
        ((pid,),) = self.attached.sql.query("SELECT pg_backend_pid()")
        self.watch = Watch(
            Session(server.endpoint),
            self.clock,
            self.companions,
            lambda: self.attached.changes.databases,
            self.options.slot_bytes,
            pid,
            called=called(self.name),
        )
        return [*(each for each in every_probe().open(target) if not hidden & set(each.meters)), self.watch]

    def require(self, arms: Sequence[ResolvedArm]) -> None:
        if self.name:
            for arm in arms:
                arm.installation.check_settings(arm.settings)
        for name in dict.fromkeys(arm.setup.copied_database for arm in arms if arm.setup.copied_database):
            self.attached.changes.require_copyable(name, self.attached.endpoint.database)
        now, ordinary = int(scopes.shown(self.attached.sql, "max_connections")), self.attached.facts.connections
        for arm in arms:
            needed = arm.setup.load.connections + CONNECTIONS_OURS
            values = {name.lower(): value for name, value in arm.setup.settings.items()}
            given = parse_whole(values.get("max_connections", ""))
            allowed = ordinary - now + given if self.options.restart and given is not None else ordinary
            if needed > allowed:
                raise UsageError(
                    f"the load opens up to {needed} connections, and {called(self.name)} lets an ordinary role have"
                    f" {allowed}",
                    "use fewer clients (--set load.clients=…): raising max_connections takes a restart"
                    " (--restart-command, with --set server.max_connections=…)",
                )

    def remarks(self, arms: Sequence[ResolvedArm]) -> Sequence[tuple[str, str]]:
        facts = self.attached.facts
        found: dict[str, str] = {}
        if self.companions != NOBODY:
            unseen = (
                ": sessions of others that last less than a second are not seen" if self.companions.sessions else ""
            )
            found["companions"] = f"on the server may stay (--companion): {self.companions.words}{unseen}"
        if raised := scopes.raised_above_standbys(self.attached.sql, [arm.setup.settings for arm in arms]):
            found["standbys"] = (
                f"{', '.join(raised)} of the server is raised while standbys stream from it: one that has less"
                " stops replaying WAL until it is restarted with as much"
            )
        may_pin, left = self.pins(), set[str]()  # settings that would pin the regime and stay as they are
        for arm in arms:
            open_ = settings_of(arm.study, arm.setup).keys() - arm.settings.keys() - {"max_connections"}
            left |= {name for name in open_ if not may_pin(name)}
        if left:
            found["not_pinned"] = (
                f"{', '.join(sorted(left))} stay as the server has them, since ALTER SYSTEM is not for role"
                f" {facts.role}: a window may hold no whole checkpoint cycle"
            )
        if not facts.checkpoints:
            found["no_checkpoint"] = (
                f"no CHECKPOINT before a window, since role {facts.role} lacks pg_checkpoint: each begins somewhere"
                " in a cycle"
            )
        hidden = self._unseen()
        if hidden:
            hides = "the server's data directory is hidden from the role"
            why = hides if facts.here else "the server is not on this machine"
            found["not_seen"] = f"not available, since {why}: {', '.join(hidden)}"
        if not facts.superuser:
            lacks = "bytes of row versions (pg_statistic) and pg_prewarm are not available"
            found["no_superuser"] = f"role {facts.role} is not a superuser: {lacks}"
        if not facts.reads_statistics:
            lacks = "what other sessions do, and the size of pg_wal, are not available"
            found["no_monitor"] = f"role {facts.role} lacks pg_monitor: {lacks}"
        return tuple(found.items())

    def changes(self, arms: Sequence[ResolvedArm]) -> Sequence[str]:
        sql, facts, restarts = self.attached.sql, self.attached.facts, self.options.restart is not None
        found: dict[Scope, dict[str, None]] = {scope: {} for scope in Scope}
        for arm in arms:
            for name, scope in scopes.check(sql, facts, arm.settings, restarts=restarts).items():
                found[scope][name] = None
        copies = len({arm.snapshot_key for arm in arms})
        copied = sorted({arm.setup.copied_database for arm in arms} - {""})
        size = format_size(max(arm.data_bytes for arm in arms))
        kept = "one prepared" if copies == 1 else f"{copies} prepared"
        if copied:
            kept += f" as a copy of {', '.join(copied)}, which is only read,"
        lines = [f"databases pgassay_…: {kept} and one copy at a time, of about {size} each; dropped at the end"]
        if found[Scope.DATABASE]:
            names = ", ".join(found[Scope.DATABASE])
            lines.append(f"ALTER DATABASE … SET {names}: for databases of our own, and gone with them")
        if found[Scope.SYSTEM]:
            listed = ", ".join(f"{name} (now {scopes.shown(sql, name)})" for name in found[Scope.SYSTEM])
            lines.append(f"ALTER SYSTEM SET {listed}, and a reload: put back after each trial")
        if found[Scope.RESTART]:
            listed = ", ".join(f"{name} (now {scopes.shown(sql, name)})" for name in found[Scope.RESTART])
            lines.append(f"ALTER SYSTEM SET {listed}: put back after each trial, and in force with the next restart")
        if self.options.restart:
            limit_s = self.options.restart.limit_s
            lines.append(
                f"the server is restarted before each trial and at the end, in {limit_s:g} s at most, by:"
                f" {self.options.restart.text}"
            )
        also = "CHECKPOINT before each window; " if self.checkpoints else ""
        ledger = self.attached.ledger.path
        owed = f"the changes to undo are listed in {ledger}, for pgassay doctor --repair after a crash"
        return (*lines, f"{also}nothing else; {owed}")

    def describe(self) -> dict[str, str | bool]:
        found = self.attached
        return {
            "address": found.ledger.place,
            "version": found.facts.version.text,
            "system": found.facts.system,
            "role": found.facts.role,
            "superuser": found.facts.superuser,
            "here": found.facts.here,
        }

    def pins(self) -> Callable[[str], bool]:
        sql, facts = self.attached.sql, self.attached.facts

        @cache
        def allowed(name: str) -> bool:
            return scopes.row(sql, name).setting.context != "postmaster" and (
                scopes.row(sql, name).setting.context != "sighup" or scopes.may_set_system(sql, facts, name)
            )

        return allowed

    def _visitors(self) -> Callable[[], str]:
        """Whoever is there now, and whoever came and went: both make a window invalid.

        What the watch has found wrong with a slot or standby is raised, and that another server answers.
        """
        attached, known = self.attached, 0

        def ask() -> str:
            nonlocal known
            ours, watch = attached.changes.databases, self.watch
            attached.changes.require_same()
            before, known = known, about.sessions_of_others(attached.sql, attached.facts, ours)
            there = about.others(attached.sql, ours, patience_s=0.0, companions=self.companions)
            found = {each.pid: each for each in there}
            if watch is not None:
                if watch.broken is not None:
                    raise watch.broken
                found |= watch.strangers
                watch.strangers = {}
            came = 0 if self.companions.sessions else known - before
            return visited(tuple(found.values()), came) if found or came else ""

        return ask

    def _unseen(self) -> Sequence[str]:
        """Sources that are not available: of a machine elsewhere, or of files whose place is hidden."""
        facts = self.attached.facts
        if not facts.here:
            return sorted(_MACHINE)
        return [] if facts.data_directory is not None else ["diskstats", "diskstats_wal"]


def owner_of(pid: int) -> int | None:
    """The account of a process; None of one that is not on this machine."""
    with suppress(OSError):
        return Path(f"/proc/{pid}").stat().st_uid
    return None


def called(name: str) -> str:
    """What a server is called in messages."""
    return f"server {name} of --server" if name else about.ONLY


class AttachedBench(Workbench):
    """A workbench on servers of the user's; what it changes is put back by `close` on every way out."""

    _servers: Mapping[str, Sequence[UserServer]]
    """Those of each name; as many of each."""

    def __enter__(self) -> "AttachedBench":
        options = self.options
        if not (options.owns_server or options.dry_run):
            raise UsageError(
                "--server changes settings of that server and creates databases there, which needs your permission",
                "say so with --i-own; --dry-run shows without it what would be changed and put back",
            )
        companions = Companions.of(options.companions)
        super().__enter__()
        with ExitStack() as stack:
            stack.callback(self.close)
            found: dict[str, Attachment] = {}
            for name, dsn in named(options.servers).items():
                found[name] = attach(
                    dsn,
                    state_directory(self._variables),
                    self._missing,
                    self._variables,
                    planned=options.dry_run,
                    companions=companions,
                    restart=options.restart,
                    called=called(name),
                    others=tuple(found.values()),
                )
                self._given_back.callback(found[name].close)
            bindir = self.finder.find(None, options.bindir).bindir
            checkpoints = all(each.facts.checkpoints for each in found.values())
            made = [
                UserServer(name, each, options, companions, self.clock, bindir, checkpoints, self.account.uid)
                for name, each in found.items()
            ]
            of_each = len(made) // len(options.servers)
            self._servers = {kind: made[n * of_each : (n + 1) * of_each] for n, kind in enumerate(options.servers)}
            stack.pop_all()
        return self

    @property
    def _all(self) -> Sequence[UserServer]:
        return [each for mine in self._servers.values() for each in mine]

    def environment(self) -> Environment:
        own, pins = super().environment(), [each.pins() for each in self._all]
        loaded: dict[str, tuple[str, dict[str, int]]] = {}

        def environment_of(server: UserServer) -> Environment:
            def require_alike(key: str, made: Server) -> None:
                if server.name:
                    rows = rows_of_relations(made)
                    other, before = loaded.setdefault(key, (server.name, rows))
                    require_same_rows({other: before, server.name: rows})

            return server.environment(own, lambda name: all(each(name) for each in pins), require_alike)

        if len(self._all) == 1:
            return environment_of(self._all[0])
        own = replace(own, references=(CpuYardstick(self.runner), NetworkReference(self.client, from_here=True)))
        sets = {
            " and ".join(each.name for each in servers): dict(
                zip(self._servers, map(environment_of, servers), strict=True)
            )
            for servers in zip(*self._servers.values(), strict=True)
        }
        return replace(next(iter(next(iter(sets.values())).values())), sets=sets)

    def _with_arms(self, resolved: ResolvedStudy) -> Iterator[tuple[UserServer, Sequence[ResolvedArm]]]:
        """Each server, and what runs there."""
        for kind, servers in self._servers.items():
            for server, on_set in zip(servers, resolved.on_sets, strict=True):
                yield server, [arm for arm in on_set.arms if arm.setup.server == kind]

    def require(self, resolved: ResolvedStudy) -> None:
        """Raise `UsageError` for what a server that runs already cannot have, every factor with its reason; and as
        `UserServer.require`."""
        found = tuple(dict.fromkeys(refusals(resolved)))
        if found:
            raise as_it_is((), found)
        if {arm.setup.server for arm in resolved.arms} != self._servers.keys():
            raise UsageError("postgres.server has other levels than --server has names", "name them by --server alone")
        for server, arms in self._with_arms(resolved):
            server.require(arms)

    def remarks(self, resolved: ResolvedStudy) -> Sequence[tuple[str, str]]:
        """What could not be done or read on the servers, by code, for warnings and the record."""
        found: dict[str, dict[str, list[str]]] = {}
        for server, arms in self._with_arms(resolved):
            for code, text in server.remarks(arms):
                found.setdefault(code, {}).setdefault(text, []).append(server.name)
        return [
            (code, "; ".join(f"{', '.join(names)}: {text}" if names[0] else text for text, names in texts.items()))
            for code, texts in found.items()
        ]

    def changes(self, resolved: ResolvedStudy) -> Sequence[str]:
        """What a run changes on the servers and puts back, a line each."""
        return [
            f"{server.name}: {line}" if server.name else line
            for server, arms in self._with_arms(resolved)
            for line in server.changes(arms)
        ]

    def describe(self) -> Mapping[str, Mapping[str, str | bool]]:
        return {each.name: each.describe() for each in self._all}


def named(servers: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Connection strings by a name of each: several of one kind are numbered."""
    return {
        kind if len(dsns) == 1 else f"{kind}{number}": dsn
        for kind, dsns in servers.items()
        for number, dsn in enumerate(dsns, 1)
    }


def require_same_rows(rows: Mapping[str, Mapping[str, int]]) -> None:
    """Raise `BenchError` unless all servers have the same relations with as many rows, by name of the server."""
    (first, before), *others = rows.items()
    for name, found in others:
        for relation in sorted({*before, *found}):
            here, there = (
                "no such relation" if count is None else f"{count} {plural('row', count)}"
                for count in (before.get(relation), found.get(relation))
            )
            if here != there:
                raise BenchError(
                    f"the data of the servers differ: {relation} has {here} on {first}, and {there} on {name}",
                    "a comparison of servers needs the same data on each: let the load make them",
                )


def refusals(resolved: ResolvedStudy) -> Iterator[str]:
    """Why a server that runs already cannot have this study: each factor or option with its reason."""
    for arm in resolved.arms:
        for bound in arm.at(Stage.BUILD, Stage.INIT, Stage.HOST):
            if not bound.name.startswith((_DRIVE, f"init.{COPY_DATABASE}", NamedServer.pattern)):
                yield f"{bound.name} ({FIXED[bound.factor.stage]})"
        yield from (f"{each.name} ({FIXED['drive']})" for each in arm.bound if each.name.startswith(_DRIVE))
        if arm.setup.drive != DriveOptions() and not any(each.name.startswith(_DRIVE) for each in arm.bound):
            yield f"a drive ({FIXED['drive']})"
        load = arm.setup.load
        if load.driver not in DRIVERS:
            yield f"load.driver={load.driver} ({OTHER_DRIVER})"
        if load.host != HERE:
            yield f"load.host={load.host} ({OTHER_HOST})"
        if load.cache == "cold":
            yield f"load.cache=cold ({NO_FILES})"
        for name in ("compressibility", "cuts"):
            if getattr(load, name):
                yield f"load.{name} ({NO_FILES})"


def bench_of(options: BenchOptions) -> Workbench:
    """The bench that these options ask for: a user's server if one is named, else clusters of our own.

    Raises `UsageError` where the user owns a server and names none.
    """
    if options.owns_server and not options.servers:
        raise UsageError("--i-own names nothing", "give the device after it, or the server with --server")
    return AttachedBench(options) if options.servers else Workbench(options)
