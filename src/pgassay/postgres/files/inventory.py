"""Which files a cluster has: segments and forks of relations, WAL segments, and the rest.

PostgreSQL manual, "Database File Layout". Here a relation is the number of its file; `catalogs` finds its name. Each
page of WAL begins with its own address (xlog_internal.h, XLogPageHeaderData): in a recycled segment, renamed to be
written later, that is the old segment's. Such segments take space on a drive and say nothing about the WAL to come.
"""

import os
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pgassay.bench.errors import ClusterError

_RELATION_FILE = re.compile(r"(\d+)(?:_(fsm|vm|init))?(?:\.(\d+))?")
_WAL_FILE = re.compile(r"[0-9A-F]{24}")

SHARED = 0
"""The database of the catalogues that all databases share (global/)."""


@dataclass(frozen=True, order=True)
class RelationFile:
    """The number that a relation's files carry, in its database."""

    database: int
    filenode: int


@dataclass(frozen=True)
class DataFile:
    """One file; `owner` is a relation, or the words "WAL", "WAL, recycled" or "other"."""

    path: Path
    owner: RelationFile | str
    bytes: int


@dataclass(frozen=True)
class Inventory:
    """A cluster's files as they were found."""

    directory: Path
    major: str
    files: tuple[DataFile, ...]


def take(directory: Path) -> Inventory:
    """Walk the cluster in `directory`, its tablespaces and its WAL; raises `ClusterError` if that is no cluster."""
    try:
        major = (directory / "PG_VERSION").read_text(encoding="ascii", errors="replace").strip()
        if not re.fullmatch(r"\d+(\.\d+)?", major) or not (directory / "base").is_dir():
            raise _not_a_cluster(directory)
        found = tuple(_walk(directory))
    except (FileNotFoundError, NotADirectoryError):
        raise _not_a_cluster(directory) from None
    except PermissionError as error:
        raise unreadable_cluster(Path(error.filename)) from None
    return Inventory(directory, major, found)


def _walk(directory: Path) -> Iterator[DataFile]:
    relations = [(directory / "global", SHARED), *_databases(directory / "base")]
    for link in _folders(directory / "pg_tblspc"):
        for version in _folders(link):
            if version.name.startswith("PG_"):
                relations += _databases(version)
    for folder, database in relations:
        for path, size in _plain_files(folder):
            named = _RELATION_FILE.fullmatch(path.name)
            yield DataFile(path, RelationFile(database, int(named[1])) if named else "other", size)
    for path, size in _plain_files(directory / "pg_wal"):
        if _WAL_FILE.fullmatch(path.name):
            yield DataFile(path, "WAL, recycled" if is_recycled(path, size) else "WAL", size)
        else:
            yield DataFile(path, "other", size)
    for name in ("pg_xact", "pg_multixact/offsets", "pg_multixact/members", "pg_subtrans", "pg_commit_ts"):
        for path, size in _plain_files(directory / name):
            yield DataFile(path, "other", size)


def _databases(folder: Path) -> list[tuple[Path, int]]:
    return [(each, int(each.name)) for each in _folders(folder) if each.name.isdigit()]


def _folders(folder: Path) -> list[Path]:
    return sorted(each for each in folder.iterdir() if each.is_dir()) if folder.is_dir() else []


def _plain_files(folder: Path) -> Iterator[tuple[Path, int]]:
    """Each file with its size; one that is removed meanwhile, as a running server does, is none."""
    if not folder.is_dir():
        return
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            try:
                if entry.is_file(follow_symlinks=False):
                    yield Path(entry.path), entry.stat().st_size
            except FileNotFoundError:
                continue


FIRST_USER_OID = 16384
"""Objects with smaller numbers come with PostgreSQL (transam.h, FirstNormalObjectId)."""

_KINDS = {"r": "table", "m": "table", "i": "index", "t": "TOAST", "S": "sequence"}


@dataclass(frozen=True)
class Name:
    """`kind` is table, index, TOAST, sequence or other; `of` is the table that an index or TOAST serves, if known."""

    database: str
    schema: str
    relation: str
    kind: str
    is_system: bool
    of: str | None = None

    @property
    def label(self) -> str:
        """Schema and relation, without `public`."""
        return self.relation if self.schema in ("public", "") else f"{self.schema}.{self.relation}"


def kind_of(relkind: str) -> str:
    """The kind of a relation, by pg_class.relkind: table, index, TOAST, sequence, other."""
    return _KINDS.get(relkind, "other")


_WAL_PAGE_HEADER = struct.Struct("=HHIQ")


def is_recycled(path: Path, segment_bytes: int) -> bool:
    """Does the segment at `path` begin with a page of another one, or was it never written?"""
    try:
        with path.open("rb") as segment:
            head = segment.read(_WAL_PAGE_HEADER.size)
    except FileNotFoundError:
        return True
    if len(head) < _WAL_PAGE_HEADER.size or not segment_bytes:
        return True
    _, _, _, address = _WAL_PAGE_HEADER.unpack(head)
    # A name is timeline, then the segment's number as two words: the upper 32 bits of its address, and the rest.
    high, low = int(path.name[8:16], 16), int(path.name[16:], 16)
    return bool(address != (high << 32) + low * segment_bytes)


def _not_a_cluster(directory: Path) -> ClusterError:
    """`pgassay drive compressibility` was given another directory."""
    return ClusterError(
        f'"{directory}" is not the data directory of a PostgreSQL cluster',
        "it has the file PG_VERSION and the folder base; SHOW data_directory says where it is",
    )


def unreadable_cluster(path: Path) -> ClusterError:
    """The account may not read it."""
    return ClusterError(f'no permission to read "{path}"', "run as root, or as the account that the server runs under")
