"""A PostgreSQL under test, by interface: an installation makes clusters, a cluster starts a server.

Only clusters that we made (they carry our marker file) are ever started, stopped or removed.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from pgassay.interfaces.hosting import ANYWHERE, Placement
from pgassay.interfaces.places import Endpoint, Listening, Version

READY_S = 300.0
"""Long enough for crash recovery on a slow drive; a server that fails says so at once."""


class Server(Protocol):
    """A running private server; its session is closed and its processes ended by `stop`."""

    @property
    def endpoint(self) -> Endpoint:
        """The socket directory, port, database and user by which we reach it."""

    @property
    def client_endpoint(self) -> Endpoint:
        """By which a load's program reaches it: over TCP where it was started so, else as we do."""

    @property
    def postmaster_pid(self) -> int:
        """The root of its process tree."""

    @property
    def version(self) -> Version:
        """What it says it is."""

    @property
    def placement(self) -> Placement:
        """Where it was started: its CPUs and control groups."""

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Rows of one statement, on a connection kept for us (autocommit); raises `interfaces.errors.QueryError`."""

    def execute(self, sql: str) -> None:
        """One statement without a result (VACUUM, CHECKPOINT, ALTER …)."""

    def alive(self) -> bool:
        """Does the postmaster still run and accept us?"""

    def freeze(self, *kinds: str) -> None:
        """All of its processes stand still, whatever they do, until `thaw`; it must not be asked anything meanwhile.

        With `kinds` (pg_stat_activity.backend_type) only those do, each from when it waits for its next turn (one that
        never waits goes on), and it answers.
        """

    def thaw(self) -> None:
        """Its processes go on from where they were; harmless when it is not frozen or has died."""

    def processes(self) -> frozenset[int]:
        """The ids of its processes, without the postmaster's."""

    def stop(self, *, immediately: bool = False) -> None:
        """Stop; no process remains. `immediately` writes no checkpoint, for a cluster that is not needed any more.

        Else fast, and immediately only if that takes too long. Calling it twice is harmless.
        """

    def log_text(self) -> str:
        """The server log so far (last 64 kB)."""


class Installation(Protocol):
    @property
    def bindir(self) -> Path:
        """Where `postgres`, `initdb` and `pgbench` are."""

    @property
    def version(self) -> Version:
        """The version that `postgres --version` prints."""

    @property
    def found_by(self) -> str:
        """How it was found, in a word for the record (`named`, `pg_config`, `distribution`, `embedded` …)."""

    def initialize(self, directory: Path, options: Mapping[str, str]) -> None:
        """initdb into `directory`, with our marker; raises `interfaces.errors.ClusterError`."""

    def start(
        self,
        directory: Path,
        settings: Mapping[str, str],
        socket_directory: Path,
        placement: Placement = ANYWHERE,
        ready_s: float = READY_S,
        listening: Listening | None = None,
        crashed: Path | None = None,
    ) -> Server:
        """Write `settings` (GUC to value) and start; raises `ClusterError` with the server's own words.

        It is a `StartTimeoutError`, and the server is ended, where crash recovery takes longer than `ready_s`. The
        whole server, none of its clients, runs where `placement` says. With `listening` a load's program reaches it
        over TCP as well, with TLS, by a role and a password of this start alone; else nothing but its socket does.
        `directory` may be what a loss of power left of the cluster `crashed`: our own files are then brought back.
        """

    def require_network(self) -> None:
        """Raise `interfaces.errors.BenchError` where its servers cannot speak TLS: known before any is started."""

    def check_settings(self, values: Mapping[str, str]) -> None:
        """Raise before anything runs for a setting that is unknown, refused or ours; `SettingError` or `UsageError`."""

    def setting(self, directory: Path, settings: Mapping[str, str], name: str) -> str:
        """What `postgres -C name` says for these settings, without starting; raises `SettingError`."""
