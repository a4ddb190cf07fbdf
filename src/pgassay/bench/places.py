"""Where things are and whose they are: endpoints, mounts, process trees, privileges, and how much memory is free.

Frozen values that pass between rooms. Sizes in bytes.
"""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Listening:
    """Where a server takes connections over TCP, and from where: addresses as numbers; `port` None for any free one."""

    address: str
    peer: str
    port: int | None = None


@dataclass(frozen=True)
class Network:
    """How clients reach a server over TCP: always encrypted, always with a password, which is in a file of libpq's.

    Both files are private. `certificate` is the server's own, the only one that a client believes.
    """

    address: str
    password_file: Path
    certificate: Path


@dataclass(frozen=True)
class Endpoint:
    """A private server's address: a Unix socket, and TCP only for clients that were asked to use it (`network`)."""

    socket_directory: Path
    port: int
    database: str
    user: str
    network: Network | None = None

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
            **{f"PG{name.upper()}": value for name, value in self._encrypted().items()},
        }

    def conninfo(self) -> str:
        """The libpq connection string (paths are ours and hold no quotes)."""
        encrypted = "".join(f" {name}='{value}'" for name, value in (self._encrypted() or _PLAIN).items())
        return (
            f"host='{self.host}' port={self.port} dbname='{self.database}' user='{self.user}'"
            f" application_name=pgassay connect_timeout=10{encrypted}"
        )

    def _encrypted(self) -> dict[str, str]:
        if self.network is None:
            return {}
        files = {"sslrootcert": str(self.network.certificate), "passfile": str(self.network.password_file)}
        return {"sslmode": "verify-ca", **files}


_PLAIN = {"sslmode": "disable"}
"""Of a Unix socket; said, so that a variable of the user's shell does not ask for more."""


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
