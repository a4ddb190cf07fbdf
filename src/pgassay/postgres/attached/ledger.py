"""What we owe a server that is not ours: a list on disk, written before each change and kept until all is put back.

Unlike a change of the host, one by ALTER SYSTEM outlives a reboot, and so does a database. So the list has no boot in
it, only the server's address and its system identifier: `pgassay doctor --repair` finds the server again, and never
another one that has its address since. One list a server; a lab locks it.
"""

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgassay.bench.places import Endpoint
from pgassay.files import Directory
from pgassay.locks import FileLock
from pgassay.untrusted import json_lines

PREFIX, SUFFIX, LOCK = "attached-", ".jsonl", ".lock"
DATABASE, SETTING = "database", "setting"


@dataclass(frozen=True)
class Debt:
    """A database that we made (`kind` database), or a setting that we changed.

    `before` is what ALTER SYSTEM had set, None where it had set nothing; `after` is what we set.
    """

    kind: str
    name: str
    before: str | None = None
    after: str | None = None


class AttachedLedger:
    """The list of one server; `directory` is made when something is written first."""

    def __init__(self, path: Path, endpoint: Endpoint, system: str) -> None:
        self.path = path
        self.endpoint = endpoint
        self.system = system
        """The server's system identifier; empty where it does not tell."""
        self._lock = FileLock(path.with_suffix(LOCK))

    @classmethod
    def of(cls, directory: Path, endpoint: Endpoint, system: str) -> "AttachedLedger":
        """The list of the server at this address."""
        place = f"{endpoint.socket_directory}:{endpoint.port}"
        digest = hashlib.sha256(place.encode()).hexdigest()[:12]
        return cls(directory / f"{PREFIX}{digest}{SUFFIX}", endpoint, system)

    @classmethod
    def read(cls, path: Path) -> "AttachedLedger | None":
        """A list that is there; None where its first line was cut short, so that nothing was done after it."""
        for line in json_lines(path):
            if line.get("kind") == "server":
                more = tuple((str(name), str(value)) for name, value in line["more"])
                endpoint = Endpoint(Path(line["host"]), int(line["port"]), line["database"], line["user"], more=more)
                return cls(path, endpoint, line["system"])
        return None

    @property
    def place(self) -> str:
        """The server's address in words."""
        return f"{self.endpoint.socket_directory}:{self.endpoint.port}"

    def take(self) -> bool:
        """Lock it for this process; False while another lab has it. Taking it twice is harmless."""
        return self._lock.take()

    def release(self) -> None:
        """Unlock it."""
        self._lock.release()

    def owed(self) -> tuple[Debt, ...]:
        """What is to be put back, in the order of the changes; a line that a crash cut short was not acted upon."""
        return tuple(
            Debt(line["kind"], line["name"], line.get("before"), line.get("after"))
            for line in json_lines(self.path)
            if line.get("kind") in (DATABASE, SETTING)
        )

    def add(self, debt: Debt) -> None:
        """Owe one more; on disk when this returns."""
        new = not self.path.exists()
        text = json.dumps({"kind": debt.kind, "name": debt.name, "before": debt.before, "after": debt.after}) + "\n"
        if new:
            text = json.dumps(self._head()) + "\n" + text
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "a", encoding="utf-8") as file:
            file.write(text if new or _ends_whole(self.path) else "\n" + text)
            file.flush()
            os.fsync(file.fileno())
        if new:
            _sync_directory(self.path.parent)

    def clear(self) -> None:
        """Everything has been put back."""
        self.path.unlink(missing_ok=True)  # ours: in the state directory

    def _head(self) -> dict[str, Any]:
        endpoint = self.endpoint
        return {
            "kind": "server",
            "host": str(endpoint.socket_directory),
            "port": endpoint.port,
            "database": endpoint.database,
            "user": endpoint.user,
            "more": endpoint.more,
            "system": self.system,
        }


def ledgers(directory: Path) -> list[AttachedLedger]:
    """Every server to which something is owed.

    Raises `UntrustedError` where root finds lists that another account may have written.
    """
    if os.geteuid() == 0 and directory.is_dir():
        with Directory.open(directory) as state:
            state.require_ours()
    paths = sorted(directory.glob(f"{PREFIX}*{SUFFIX}")) if directory.is_dir() else []
    return [found for path in paths if (found := AttachedLedger.read(path)) is not None]


def _ends_whole(path: Path) -> bool:
    return not path.stat().st_size or path.read_bytes().endswith(b"\n")


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
