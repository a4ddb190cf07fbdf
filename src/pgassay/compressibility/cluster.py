"""The cluster's files by what they belong to: relations with their names, WAL, the rest."""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from pgassay.compressibility.request import Request
from pgassay.errors import PgassayError, UsageError
from pgassay.postgres import cluster_files
from pgassay.postgres.cluster_files import DataFile, Name, RelationFile


@dataclass(frozen=True)
class Part:
    """Files of one owner. `kind` is table, index, TOAST, sequence, WAL, …; `name` is None where it is not known."""

    kind: str
    label: str
    name: Name | None
    files: tuple[DataFile, ...]

    @property
    def bytes(self) -> int:
        """The size of all its files, in bytes."""
        return sum(file.bytes for file in self.files)


@dataclass(frozen=True)
class Cluster:
    """`source` says where the names come from."""

    directory: Path
    major: str
    source: str
    parts: tuple[Part, ...]


def look(request: Request) -> Cluster:
    """Find the files and their owners; raises `PgassayError`."""
    if "=" in request.cluster or "://" in request.cluster:
        asked = cluster_files.ask(request.cluster)
        found, names, source = cluster_files.take(asked.directory), asked.names, f"database {asked.database}"
        files = [file for file in found.files if _is_of(file, asked.oid)]
    else:
        directory = Path(request.cluster)
        if not directory.exists():
            raise UsageError(
                f'"{directory}" is neither a directory nor a connection string',
                'give a data directory, or "host=… dbname=…" as for psql',
            )
        found = cluster_files.take(directory)
        names, source, files = (
            cluster_files.names_from_files(found),
            "all databases, names from the files",
            list(found.files),
        )
    owned: dict[RelationFile | str, list[DataFile]] = defaultdict(list)
    for file in files:
        owned[file.owner].append(file)
    parts = [_part(owner, names, files) for owner, files in owned.items() if any(file.bytes for file in files)]
    if not parts:
        raise PgassayError(f'the cluster in "{found.directory}" has no data to look at')
    parts.sort(key=lambda part: -part.bytes)
    return Cluster(found.directory, found.major, source, tuple(parts))


def _is_of(file: DataFile, database: int) -> bool:
    """Of this database, or WAL, which no database owns."""
    if isinstance(file.owner, RelationFile):
        return file.owner.database == database
    return file.owner.startswith("WAL")


def _part(owner: RelationFile | str, names: dict[RelationFile, Name], files: list[DataFile]) -> Part:
    if isinstance(owner, str):
        return Part(owner, owner, None, tuple(files))
    if (name := names.get(owner)) is None:
        return Part("unnamed", f"file {owner.database}/{owner.filenode}", None, tuple(files))
    kind = "catalogue" if name.is_system else name.kind
    return Part(kind, name.label, name, tuple(files))
