"""Where things are and whose they are: endpoints, mounts, process trees, privileges, and how much memory is free.

Frozen values that pass between rooms. Sizes in bytes.
"""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Endpoint:
    """A private server's address: always a Unix socket, never TCP."""

    socket_directory: Path
    port: int
    database: str
    user: str

    def environment(self) -> dict[str, str]:
        """The libpq variables that lead a client program here."""
        return {
            "PGHOST": str(self.socket_directory),
            "PGPORT": str(self.port),
            "PGDATABASE": self.database,
            "PGUSER": self.user,
        }

    def conninfo(self) -> str:
        """The libpq connection string (paths are ours and hold no quotes)."""
        return (
            f"host='{self.socket_directory}' port={self.port} dbname='{self.database}' user='{self.user}'"
            " application_name=pgassay connect_timeout=10"
        )


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
