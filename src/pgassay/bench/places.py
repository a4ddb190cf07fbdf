"""Where things are and whose they are: endpoints, mounts, process trees, privileges, and how much memory is free.

Frozen values that pass between rooms. Sizes in bytes.
"""

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg

VARIABLES: Mapping[str, str] = {
    "hostaddr": "PGHOSTADDR", "sslmode": "PGSSLMODE", "sslcert": "PGSSLCERT", "sslkey": "PGSSLKEY",
    "sslrootcert": "PGSSLROOTCERT", "sslcrl": "PGSSLCRL", "passfile": "PGPASSFILE", "service": "PGSERVICE",
    "requirepeer": "PGREQUIREPEER", "gssencmode": "PGGSSENCMODE", "krbsrvname": "PGKRBSRVNAME",
    "channel_binding": "PGCHANNELBINDING", "target_session_attrs": "PGTARGETSESSIONATTRS",
    "client_encoding": "PGCLIENTENCODING",
}  # fmt: skip
"""Parameters of a connection with the variable that gives each to a program (manual, "Environment Variables")."""


@dataclass(frozen=True)
class Listening:
    """Where a server takes connections over TCP, and from where: addresses as numbers; `port` None for any free one.

    Servers that live at once have the first free one of `ports` ports from `port` on.
    """

    address: str
    peer: str
    port: int | None = None
    ports: int = 1

    @property
    def named(self) -> str:
        """In words for a message."""
        first, last = self.port, (self.port or 0) + self.ports - 1
        which = "any port" if first is None else f"port {first}" if first == last else f"ports {first} to {last}"
        return f"{which} of {self.address}"


@dataclass(frozen=True)
class Network:
    """How clients reach a server over TCP: always encrypted, always with a password, which is in a file of libpq's.

    Both files are private. `certificate` is the server's own, the only one that a client believes.
    """

    address: str
    password_file: Path
    certificate: Path

    @property
    def files(self) -> tuple[Path, ...]:
        """What a client must be able to read."""
        return self.password_file, self.certificate


@dataclass(frozen=True)
class Endpoint:
    """A server's address: of a private one a Unix socket, and TCP only for clients that were asked to use it
    (`network`); of a user's own server as they reach it (`more`)."""

    socket_directory: Path
    """Where its socket is; the name of its host where a user's own server is reached by TCP."""
    port: int
    database: str
    user: str
    network: Network | None = None
    more: tuple[tuple[str, str], ...] = ()
    """Parameters of the connection to a user's own server, of `VARIABLES`; never a password. A private one has none."""

    @property
    def host(self) -> str:
        """As libpq's programs take it: the socket's directory, or the address."""
        return str(self.socket_directory) if self.network is None else self.network.address

    def environment(self) -> dict[str, str]:
        """The libpq variables that lead a client program here."""
        return {
            "PGHOST": self.host,
            "PGPORT": str(self.port),
            "PGDATABASE": self.database,
            "PGUSER": self.user,
            **{VARIABLES[name]: value for name, value in self._parameters().items()},
        }

    def conninfo(self) -> str:
        """The libpq connection string; that of a private server leaves no parameter to variables of the user's."""
        host, database, user = map(_quoted, (self.host, self.database, self.user))
        values = {**({} if self.more else _inherited()), **(self._parameters() or _PLAIN)}
        more = "".join(f" {name}={_quoted(value)}" for name, value in values.items())
        return (
            f"host={host} port={self.port} dbname={database} user={user}"
            f" application_name=pgassay connect_timeout=10{more}"
        )

    def connect(self, **more: Any) -> "psycopg.Connection[tuple[Any, ...]]":
        """A session, with these parameters of psycopg's; raises `psycopg.Error`.

        No variable of the user's shell leads one of a private server elsewhere, or changes how it speaks.
        """
        import psycopg

        with nullcontext() if self.more else _without_variables():
            return psycopg.connect(self.conninfo(), options="", **more)

    def _parameters(self) -> dict[str, str]:
        if self.network is None:
            return dict(self.more)
        files = {"sslrootcert": str(self.network.certificate), "passfile": str(self.network.password_file)}
        return {"sslmode": "verify-ca", **files}


_PLAIN = {"sslmode": "disable"}
"""Of a Unix socket."""

_ALWAYS_GIVEN = frozenset({"host", "port", "dbname", "user", "application_name", "connect_timeout"})
_LEFT_TO_THE_USER = frozenset({"service", "sslcertmode", "min_protocol_version", "max_protocol_version"})
"""libpq takes no value of these for none. They lead nowhere else, but for a service: see `connect`."""


def _inherited() -> dict[str, str]:
    """What variables of the user's shell would set, at libpq's own defaults: PGHOSTADDR leads to another server."""
    from psycopg import pq

    defaults = ((each.keyword.decode(), each.envvar, each.compiled or b"") for each in pq.Conninfo.get_defaults())
    return {
        name: default.decode()
        for name, variable, default in defaults
        if variable is not None
        and os.fsdecode(variable) in os.environ
        and name not in _ALWAYS_GIVEN | _LEFT_TO_THE_USER
    }


_BY_VARIABLE_ALONE = ("PGSERVICE", "PGTZ", "PGDATESTYLE", "PGGEQO")
"""No connection string can take these back; a service may name another server (hostaddr)."""
_OUT = threading.Lock()
"""Held while they are out of our environment."""


@contextmanager
def _without_variables() -> Iterator[None]:
    if not any(name in os.environ for name in _BY_VARIABLE_ALONE):
        yield
        return
    with _OUT:
        kept = {name: os.environ.pop(name) for name in _BY_VARIABLE_ALONE if name in os.environ}
        try:
            yield
        finally:
            os.environ.update(kept)


def _quoted(text: str) -> str:
    """As a value in a connection string (manual, "Keyword/Value Connection Strings")."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


@dataclass(frozen=True)
class Mount:
    """The file system that holds a path: its type, device and room."""

    path: Path
    mount_point: Path
    filesystem: str
    device: str
    options: str
    size_bytes: int
    free_bytes: int
    reflink: bool


@dataclass(frozen=True)
class Account:
    """The unprivileged account that servers run under when we are root; `name` is None to stay who we are."""

    name: str | None
    uid: int
    gid: int

    @property
    def owner(self) -> tuple[int, int] | None:
        """Whom its files go to; None where they stay ours."""
        return None if self.name is None else (self.uid, self.gid)

    @property
    def passable(self) -> tuple[tuple[int, int] | None, int]:
        """Owner (-1: it stays) and mode of a directory of ours that it may pass through, not list and not change."""
        return (None, 0o700) if self.name is None else ((-1, self.gid), 0o710)


@dataclass(frozen=True)
class Version:
    """PostgreSQL's version: `Version(15, 18)` is 15.18; `text` as the program prints it."""

    major: int
    minor: int
    text: str

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


def available_memory_bytes(meminfo: Path = Path("/proc/meminfo")) -> int:
    """Memory that programs can take without swapping, as the kernel reckons it (MemAvailable); 0 if it does not say."""
    for line in meminfo.read_text(encoding="utf-8").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0
