"""Where clones live on a server that is not ours: databases, each a copy of one that we made (CREATE DATABASE).

Implements `bench.store.Drive`. A directory stands for a database of its name. Nothing outlives the run: snapshots go
with it, since a server that somebody works on is no place to keep ours.
"""

from collections.abc import Mapping
from pathlib import Path

from pgassay.bench.drive_counters import DriveCounters
from pgassay.bench.errors import DriveError, QueryError
from pgassay.bench.places import Mount
from pgassay.bench.store import DATABASES, Ageing, DriveOutline, Trait
from pgassay.postgres.attached.changes import ServerChanges


class Databases:
    """The databases that we make on one server."""

    kind = DATABASES

    def __init__(self, changes: ServerChanges, mount: Mount) -> None:
        self._changes = changes
        self._mount = mount
        self._snapshots: dict[str, str] = {}

    def mount(self) -> Mount:
        """Where the server's files are; unknown where it does not tell, or runs elsewhere."""
        return self._mount

    def snapshot_mount(self) -> Mount | None:
        """None: they lie beside the clones."""
        return None

    def wal(self) -> DriveOutline | None:
        """None: WAL lies with the data."""
        return None

    def has_snapshot(self, key: str) -> bool:
        """Has this run made it?"""
        return key in self._snapshots

    def ageing(self) -> Ageing | None:
        """None: the drive under the server is not ours to wear."""
        return None

    def workspace(self, name: str) -> Path:
        """The name of a database that nobody has; `initialize` makes it."""
        return Path(self._changes.new_name())

    def lay_out(self, directory: Path) -> None:
        """Nothing: the server decides where its files are."""

    def take_snapshot(self, key: str, directory: Path, what: str = "") -> None:
        """From now on it is copied, and nobody works in it."""
        self._snapshots[key] = directory.name

    def forget_snapshot(self, key: str) -> None:
        """Drop the database; harmless when there is none."""
        name = self._snapshots.pop(key, None)
        if name is not None:
            self._changes.drop_database(name)

    def clone(self, key: str, name: str) -> Path:
        """CREATE DATABASE … TEMPLATE; raises `DriveError` where the server refuses or has no such snapshot."""
        if key not in self._snapshots:
            raise DriveError(f'there is no prepared database "{key}" on the server')
        made = self._changes.new_name()
        try:
            self._changes.create_database(made, self._snapshots[key])
        except QueryError as error:
            raise DriveError(f"the server could not copy a database: {error.message}", error.hint) from None
        return Path(made)

    def how_cloned(self) -> str:
        """In a word for the record."""
        return "CREATE DATABASE"

    def counters(self, directory: Path) -> Mapping[str, DriveCounters]:
        """None: the drive is not asked."""
        return {}

    def traits(self, directory: Path) -> Mapping[str, Trait]:
        """None is known."""
        return {}

    def write_back(self, directory: Path) -> None:
        """Nothing: the server's files are its own."""

    def discard(self, directory: Path, *, check: bool = False) -> None:
        """Drop the database."""
        self._changes.drop_database(directory.name)

    def release(self) -> None:
        """Nothing: what is owed is put back by `ServerChanges.give_back`, databases and settings alike."""
