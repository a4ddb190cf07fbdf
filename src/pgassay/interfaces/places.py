"""Where things are and whose they are: endpoints, mounts, process trees, privileges, and how much memory is free.

Frozen values that pass between rooms. Sizes in bytes.

Mounts are read as the kernel lists them (proc(5), "/proc/pid/mountinfo", "/proc/pid/mounts"). Anybody with a FUSE file
system chooses the name of a place, in any bytes. The kernel writes blanks and line feeds of names in octal, and nothing
else that Unicode calls a blank or the end of a line: fields and lines end at these alone.
"""

import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
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
            f" application_name=pgassay connect_timeout={_CONNECT_S}{more}"
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


_CONNECT_S = 60
"""A server under an instrument, on a machine that does much else, needs more than 10 s to start a backend."""
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
    with _OUT:  # looked at in here: while another session has them out, they seem not to be set
        if kept := {name: os.environ.pop(name) for name in _BY_VARIABLE_ALONE if name in os.environ}:
            try:
                yield
            finally:
                os.environ.update(kept)
            return
    yield


def _quoted(text: str) -> str:
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

    @property
    def identity(self) -> tuple[Path, str]:
        """What tells file systems apart: where it is mounted, and its device."""
        return self.mount_point, self.device


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


@dataclass(frozen=True)
class UserFiles:
    """Files of a user's that a study names by their paths on another machine: `places` has where each copy is, by path.

    A copy keeps its file's name in a folder of its own, so what programs say of it is put right by the folders alone.
    """

    places: Mapping[Path, Path] = field(default_factory=dict)

    def here(self, path: Path) -> Path:
        """Where the file of this path is on this machine: where its copy is, else where the path says."""
        return self.places.get(path, path)

    def with_user_paths(self, text: str) -> str:
        """A text of a program as it would be on the machine of the user's files."""
        for path, place in self.places.items():
            text = text.replace(_folder(place), _folder(path))
        return text

    def with_user_paths_bytes(self, content: bytes) -> bytes:
        """The same for what a program wrote into a file."""
        for path, place in self.places.items():
            content = content.replace(_folder(place).encode(), _folder(path).encode())
        return content


def _folder(path: Path) -> str:
    return f"{str(path.parent).rstrip('/')}/"


MOUNTINFO = Path("/proc/self/mountinfo")
_ESCAPES = (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\"))


@dataclass(frozen=True)
class MountEntry:
    """A line: where it is mounted, its file system, its device or other source, its options (the mount's, then the
    type's), and the file system's `MAJ:MIN`."""

    point: Path
    filesystem: str
    source: str
    options: tuple[str, ...]
    number: str


def parse_mountinfo(text: str) -> list[MountEntry]:
    """All mounts in the kernel's order; a later one hides an earlier one at the same place."""
    found = []
    for line in text.split("\n"):
        head, dash, tail = line.partition(" - ")
        left, right = head.split(" "), tail.split(" ")
        if dash and len(left) >= 6 and len(right) >= 3:
            options = tuple(dict.fromkeys(f"{left[5]},{right[2]}".split(",")))
            found.append(MountEntry(Path(_plain(left[4])), right[0], _plain(right[1]), options, left[2]))
    return found


def parse_mounts(text: str) -> list[tuple[str, str, tuple[str, ...]]]:
    """Of each line of /proc/mounts the place, the type and the options."""
    lines = (line.split(" ") for line in text.split("\n"))
    return [(_plain(words[1]), words[2], tuple(words[3].split(","))) for words in lines if len(words) >= 4]


def _plain(text: str) -> str:
    """Blanks and the like are written in octal: `\\040`."""
    for octal, character in _ESCAPES:
        text = text.replace(octal, character)
    return text


def mounts() -> list[MountEntry]:
    return parse_mountinfo(MOUNTINFO.read_text(encoding="utf-8", errors="surrogateescape"))


def holding(path: Path, entries: Iterable[MountEntry]) -> MountEntry | None:
    """The mount that a resolved path lies on: the longest mount point above it, the last one of equals."""
    above = [entry for entry in entries if path.is_relative_to(entry.point)]
    return max(enumerate(above), key=lambda each: (len(each[1].point.parts), each[0]))[1] if above else None
