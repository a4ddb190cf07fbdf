"""The fake clock and server of the contracts.

The clock only moves when a test moves it, or when someone sleeps: a day of trials passes in a moment. The server is a
PostgreSQL without processes: clusters are small directories, so that clones and crashes are as on disk. It knows the
statements that this project's factors use and keeps settings, tables and their fillfactor; anything else is a
`QueryError` unless `answers` has it, so that no test passes by accident.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pgassay.interfaces.errors import ClusterError, NotSettableError, QueryError, SettingError
from pgassay.interfaces.hosting import ANYWHERE, Placement
from pgassay.interfaces.places import Endpoint, Listening, Network, Version
from pgassay.interfaces.server import READY_S
from pgassay.study.units import canonical

SECOND_NS = 1_000_000_000


class FakeClock:
    """See `interfaces.running.Clock`; `advance` lets time pass, `jump` moves the wall clock as administrators do."""

    def __init__(self, wall_ns: int = 1_700_000_000 * SECOND_NS, monotonic_ns: int = SECOND_NS) -> None:
        self._wall_ns = wall_ns
        self._monotonic_ns = monotonic_ns

    def monotonic_ns(self) -> int:
        return self._monotonic_ns

    def wall_ns(self) -> int:
        return self._wall_ns

    def sleep(self, seconds: float) -> None:
        """Time passes at once; a negative length is none."""
        self.advance(max(0.0, seconds))

    def advance(self, seconds: float) -> None:
        self._monotonic_ns += round(seconds * SECOND_NS)
        self._wall_ns += round(seconds * SECOND_NS)

    def jump(self, seconds: float) -> None:
        """Set the wall clock forward or back."""
        self._wall_ns += round(seconds * SECOND_NS)


Answer = Callable[["FakeServer", re.Match[str], Sequence[Any]], list[tuple[Any, ...]]]

MARKER = "PGASSAY_CLUSTER"
STATE = "fake_state.json"
DEFAULTS: Mapping[str, str] = {
    "shared_buffers": "128MB", "work_mem": "4MB", "max_wal_size": "1GB", "checkpoint_timeout": "5min",
    "wal_compression": "off", "synchronous_commit": "on", "fsync": "on", "full_page_writes": "on",
    "maintenance_work_mem": "64MB", "autovacuum": "on", "checkpoint_warning": "30s", "huge_pages": "try",
    "block_size": "8192", "data_checksums": "off", "wal_segment_size": "16MB", "max_connections": "100",
    "wal_level": "replica", "max_wal_senders": "10", "jit": "on",
}  # fmt: skip
"""Settings that the fake knows; every value that has a canonical form is accepted, `refuse me` is not."""

REFUSED = "refuse me"
_POSTMASTER = ("shared_buffers", "huge_pages", "max_connections")


class FakeServer:
    """See `interfaces.server.Server`; `die` kills it as a crash would, `statements` holds all that were sent to it."""

    postmaster_pid = 2**22 + 1

    def __init__(
        self, directory: Path, settings: Mapping[str, str], endpoint: Endpoint, version: Version, answers: "Answers"
    ) -> None:
        self._directory = directory
        self.endpoint = endpoint
        self.version = version
        self._answers = answers
        self._running = True
        self.frozen = False
        self.placement = ANYWHERE
        self.listening: Listening | None = None
        self.settings = {**DEFAULTS, **self.state["init"], **settings}
        self.statements: list[str] = []

    @property
    def client_endpoint(self) -> Endpoint:
        """Where a load's program would reach it: over TCP where it was started so."""
        if self.listening is None:
            return self.endpoint
        found = Network(self.listening.address, Path("/nowhere/password"), Path("/nowhere/server.pem"))
        return replace(self.endpoint, user="pgassay_client", network=found)

    @property
    def state(self) -> dict[str, dict[str, str]]:
        """What the cluster's file holds: `init` options and `tables` with their fillfactor."""
        state: dict[str, dict[str, str]] = json.loads((self._directory / STATE).read_text(encoding="utf-8"))
        return state

    def keep(self, state: Mapping[str, Mapping[str, str]]) -> None:
        (self._directory / STATE).write_text(json.dumps(state), encoding="utf-8")

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The first answer whose pattern fits."""
        if not self._running:
            raise QueryError("could not connect to the server: it is gone")
        assert not self.frozen, f'a frozen server was asked "{sql}", and a real one would never answer'
        self.statements.append(sql)
        for pattern, answer in self._answers.items():
            found = re.match(pattern, sql, re.DOTALL)
            if found:
                return answer(self, found, parameters)
        raise QueryError(f'the fake server does not know "{sql}"', "give it an answer in `answers`")

    def execute(self, sql: str) -> None:
        self.query(sql)

    def alive(self) -> bool:
        """Until it is stopped or dies."""
        return self._running

    def freeze(self, *kinds: str) -> None:
        """Stand still, as a stopped process: it answers nothing until `thaw`, unless only some `kinds` do."""
        self.frozen = not kinds

    def thaw(self) -> None:
        """Run again, and answer what is asked."""
        self.frozen = False

    def processes(self) -> frozenset[int]:
        return frozenset()

    def stop(self, *, immediately: bool = False) -> None:
        """Stop; calling it twice is harmless."""
        self._running = False
        (self._directory / "postmaster.pid").unlink(missing_ok=True)

    def die(self) -> None:
        """Crash: nothing is tidied up."""
        self._running = False

    def log_text(self) -> str:
        """One line for each statement."""
        return "".join(f"LOG:  statement: {sql}\n" for sql in self.statements)


Answers = Mapping[str, Answer]


def _show(server: FakeServer, found: re.Match[str], parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
    name = found["name"] if "name" in found.re.groupindex else parameters[0]
    if name == "server_version_num":
        return [(str(server.version.major * 10000 + server.version.minor),)]
    if name not in server.settings:
        raise QueryError(f'unrecognized configuration parameter "{name}"')
    return [(server.settings[name],)]


def _pg_settings(server: FakeServer, found: re.Match[str], parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
    name = parameters[0]
    if name not in server.settings:
        return []
    context = "postmaster" if name in _POSTMASTER else "sighup"
    return [(name, server.settings[name], None, "string", "configuration file", context)]


def _relations(server: FakeServer, found: re.Match[str], parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
    if "'i'" in found.string:
        return []
    return [(name, value or None) for name, value in server.state["tables"].items()]


def _alter(server: FakeServer, found: re.Match[str], parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
    state = server.state
    if found["table"] not in state["tables"]:
        raise QueryError(f'relation "{found["table"]}" does not exist')
    state["tables"][found["table"]] = found["value"]
    server.keep(state)
    return []


def _create(server: FakeServer, found: re.Match[str], parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
    state = server.state
    state["tables"][found["table"]] = ""
    server.keep(state)
    return []


KNOWN: Answers = {
    r"SELECT 1$": lambda server, found, parameters: [(1,)],
    r"SELECT relid::regclass::text, n_tup_upd ": lambda server, found, parameters: [],
    r"SELECT %s::int$": lambda server, found, parameters: [(int(parameters[0]),)],
    r"SHOW (?P<name>\w+)$": _show,
    r"SELECT current_setting\(%s\)$": _show,
    r"SELECT current_setting\(%s, true\)$": lambda server, found, parameters: [(server.settings.get(parameters[0]),)],
    r"SELECT current_setting\('pgassay\.": lambda server, found, parameters: [(None,)],
    r"SELECT name, setting, unit": _pg_settings,
    r"SELECT name, current_setting\(name\)": lambda server, found, parameters: list(server.settings.items()),
    r"SELECT f\.setting FROM pg_file_settings": lambda server, found, parameters: [],
    r"SELECT c\.relkind = 'i', c\.oid::regclass::text": lambda server, found, parameters: [
        (False, each, 8192) for each in server.state["tables"]
    ],
    r"SELECT c\.oid::regclass::text, ": _relations,
    r"SELECT 1 FROM pg_available_extensions WHERE name = 'pg_prewarm'": lambda server, found, parameters: [(1,)],
    r"CREATE EXTENSION IF NOT EXISTS pg_prewarm$": lambda server, found, parameters: [],
    r"SELECT pg_prewarm\(": lambda server, found, parameters: [(1,)],
    r"CREATE TABLE (?P<table>[\w.]+)": _create,
    r"ALTER TABLE (?P<table>[\w.]+) SET \(fillfactor = (?P<value>\d+)\)": _alter,
    r"(CHECKPOINT|VACUUM|ANALYZE|REINDEX|SELECT pg_switch_wal)\b": lambda server, found, parameters: [],
}


class FakeInstallation:
    """See `interfaces.server.Installation`. `start_failures` are what the next starts die with."""

    found_by = "fake"

    def __init__(self, version: Version | None = None, answers: Answers | None = None) -> None:
        self.version = version or Version(17, 5, "postgres (PostgreSQL) 17.5 (fake)")
        self.bindir = Path(f"/nowhere/postgresql/{self.version.major}/bin")
        self._answers = {**(answers or {}), **KNOWN}
        self.start_failures: list[str] = []
        self.servers: list[FakeServer] = []
        self.placements: list[Placement] = []

    def initialize(self, directory: Path, options: Mapping[str, str]) -> None:
        """A small directory with our marker; raises `ClusterError` if it is not empty."""
        if directory.exists() and any(directory.iterdir()):
            raise ClusterError(f'directory "{directory}" is not empty')
        directory.mkdir(parents=True, exist_ok=True)
        (directory / MARKER).write_text("{}\n", encoding="utf-8")
        state = {"init": dict(options), "tables": {}}
        (directory / STATE).write_text(json.dumps(state), encoding="utf-8")

    def start(
        self,
        directory: Path,
        settings: Mapping[str, str],
        socket_directory: Path,
        placement: Placement = ANYWHERE,
        ready_s: float = READY_S,
        listening: Listening | None = None,
        crashed: Path | None = None,
    ) -> FakeServer:
        """A fake server on a directory that we made; raises `ClusterError` for any other."""
        if not (directory / MARKER).is_file():
            raise ClusterError(f'directory "{directory}" was not made by pgassay, and is left alone')
        if self.start_failures:
            raise ClusterError(f"server did not start: {self.start_failures.pop(0)}")
        try:
            self.check_settings(settings)
        except SettingError as error:
            raise ClusterError(f"server did not start: {error.message}") from None
        endpoint = Endpoint(socket_directory, 54320, "postgres", "postgres")
        (directory / "postmaster.pid").touch()
        server = FakeServer(directory, settings, endpoint, self.version, self._answers)
        self.servers.append(server)
        self.placements.append(placement)
        server.placement = placement
        server.listening = listening
        return server

    def require_network(self) -> None:
        """Nothing is encrypted, and nothing refused."""

    def check_settings(self, values: Mapping[str, str]) -> None:
        """Raise `SettingError` for a setting that is not in `DEFAULTS`, or for the value `refuse me`."""
        for name, value in values.items():
            if name not in DEFAULTS:
                raise NotSettableError(f'PostgreSQL has no setting "{name}"', "SHOW ALL lists the settings", name)
            if value == REFUSED:
                raise SettingError(f"PostgreSQL refuses {name} = '{value}': invalid value")

    def setting(self, directory: Path, settings: Mapping[str, str], name: str) -> str:
        """The value in canonical form."""
        self.check_settings({**settings, name: settings.get(name, "")})
        return canonical(settings.get(name, DEFAULTS[name]))
