"""An existing cluster's files, only read: which there are, and which relations they belong to.

PostgreSQL manual, "Database File Layout". Nothing here opens a file for writing or takes a lock; a server may run on
the cluster meanwhile, and then files come and go. Each page of WAL begins with its own address (xlog_internal.h,
XLogPageHeaderData): in a recycled segment, renamed to be written later, that is the old segment's. Such segments take
space on a drive and say nothing about the WAL to come.

Names of relations are asked of a running server, or read from the catalogs' own files. A server's session is read-only;
the cluster found in its data directory is compared with it by the system identifier, so that another cluster under the
same path is not taken for it. Without a server: the few fixed columns that open pg_class, pg_namespace and pg_database
have kept their places since PostgreSQL 12, and `pg_filenode.map` (relmapper.c) says where these catalogs lie. Dead rows
are skipped; what was changed since the last checkpoint may be missing, and then a relation keeps its number.

Of large files a few chunks are read, the same ones each time. A relation is cut into as many equal stretches as it
gets chunks, and one chunk is drawn from each (stratified sampling, Cochran, Sampling Techniques, chapter 5), so that
old and new rows are both seen. What is small is read whole.
"""

import os
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pgassay.interfaces import versions
from pgassay.interfaces.errors import ClusterError
from pgassay.postgres.settings import read_only

_RELATION_FILE = re.compile(r"(\d+)(?:_(fsm|vm|init))?(?:\.(\d+))?")
_WAL_FILE = re.compile(r"[0-9A-F]{24}")

SHARED = 0
"""The database of the catalogues that all databases share (global/)."""


@dataclass(frozen=True, order=True)
class RelationFile:
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
    directory: Path
    major: str
    files: tuple[DataFile, ...]


def list_files(directory: Path) -> Inventory:
    """Walk the cluster in `directory`, its tablespaces and its WAL; raises `ClusterError` if that is no cluster."""
    try:
        major = (directory / "PG_VERSION").read_text(encoding="ascii", errors="replace").strip()
        if not re.fullmatch(r"\d+(\.\d+)?", major) or not (directory / "base").is_dir():
            raise NotADirectoryError
        found = tuple(_walk(directory))
    except (FileNotFoundError, NotADirectoryError):
        raise ClusterError(
            f'"{directory}" is not the data directory of a PostgreSQL cluster',
            "it has the file PG_VERSION and the folder base; SHOW data_directory says where it is",
        ) from None
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


def unreadable_cluster(path: Path) -> ClusterError:
    return ClusterError(f'no permission to read "{path}"', "run as root, or as the account that the server runs under")


_RELATIONS = """
SELECT pg_relation_filepath(c.oid), c.oid, n.nspname, c.relname, c.relkind,
       coalesce(i.indrelid::regclass::text, t.oid::regclass::text)
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN pg_index i ON i.indexrelid = c.oid
  LEFT JOIN pg_class t ON t.reltoastrelid = c.oid
 WHERE pg_relation_filepath(c.oid) IS NOT NULL
"""
_SERVER = """
SELECT current_setting('data_directory'), system_identifier, current_database(), d.oid
  FROM pg_control_system(), pg_database d WHERE d.datname = current_database()
"""


@dataclass(frozen=True)
class LiveDatabase:
    directory: Path
    database: str
    oid: int
    names: dict[RelationFile, Name]


def names_from_server(conninfo: str) -> LiveDatabase:
    """Ask the server at `conninfo` (as for psql); raises `ClusterError` if it cannot be read or is not here."""
    with read_only(conninfo) as connection:
        found = connection.execute(_SERVER).fetchone()
        rows = connection.execute(_RELATIONS).fetchall()
    assert found is not None
    directory, identifier, database, oid = Path(str(found[0])), int(found[1]), str(found[2]), int(found[3])
    try:  # the system identifier opens pg_control (pg_control.h, ControlFileData)
        with (directory / "global" / "pg_control").open("rb") as control:
            here = struct.unpack("=Q", control.read(8)) == (identifier & 0xFFFF_FFFF_FFFF_FFFF,)
    except FileNotFoundError:
        here = False
    except PermissionError:
        raise unreadable_cluster(directory) from None
    if not here:
        raise ClusterError(
            f'the server\'s data directory "{directory}" is not on this machine',
            "run this where the server runs; its files are read directly",
        )
    names: dict[RelationFile, Name] = {}
    for path, number, schema, name, relkind, of in rows:
        # base/5/16384, global/1262, pg_tblspc/16999/PG_15_202209061/5/16384
        folder, filenode = str(path).split("/")[-2:]
        place = RelationFile(0 if folder == "global" else int(folder), int(filenode))
        names[place] = Name(
            database if place.database else "", schema, name, kind_of(relkind), number < FIRST_USER_OID, of
        )
    return LiveDatabase(directory, database, oid, names)


_PG_DATABASE, _PG_CLASS, _PG_NAMESPACE, _PG_INDEX = 1262, 1259, 2615, 2610
_MAP_MAGIC = 0x592717

_HEADER_BYTES = 24
_XMIN_COMMITTED, _XMIN_INVALID, _XMAX_COMMITTED, _NO_DELETION = 0x0100, 0x0200, 0x0400, 0x0800 | 0x1000 | 0x0080

# oid, relname, relnamespace, reltype, reloftype, relowner, relam, relfilenode, then what a newer version inserted.
_CLASS = struct.Struct("=I64s I 4I I")
_RELKIND_AT = {True: 119, False: 115}
_TOAST_AT = {True: 112, False: 108}
_CLASS_BYTES = 120
_NAMED = struct.Struct("=I64s")
_INDEX = struct.Struct("=II")


def names_from_files(inventory: Inventory) -> dict[RelationFile, Name]:
    """The name of each relation that is in the catalogs; the others are left out."""
    databases = dict(_named_rows(inventory, SHARED, _mapped(inventory.directory / "global").get(_PG_DATABASE)))
    known: dict[RelationFile, Name] = {}
    for database in sorted({file.owner.database for file in inventory.files if isinstance(file.owner, RelationFile)}):
        if database != SHARED:
            known |= _names_of(inventory, database, databases.get(database, f"database {database}"))
    return known


def _names_of(inventory: Inventory, database: int, database_name: str) -> dict[RelationFile, Name]:
    mapped = _mapped(inventory.directory / "base" / str(database))
    shared = _mapped(inventory.directory / "global")
    has_frozen_count = int(inventory.major.partition(".")[0]) >= versions.ALL_FROZEN
    rows = []
    for row in _rows(inventory, database, mapped.get(_PG_CLASS), _CLASS_BYTES):
        oid, name, namespace, *_, filenode = _CLASS.unpack_from(row)
        toast = struct.unpack_from("=I", row, _TOAST_AT[has_frozen_count])[0]
        relkind = chr(row[_RELKIND_AT[has_frozen_count]])
        rows.append((oid, _text(name), namespace, filenode, toast, relkind))
    namespaces: dict[int, str] = {}
    served = {toast: oid for oid, _, _, _, toast, _ in rows if toast}
    for oid, _, _, filenode, _, _ in rows:
        if oid == _PG_NAMESPACE:
            namespaces |= dict(_named_rows(inventory, database, filenode))
        if oid == _PG_INDEX:
            served |= dict(map(_INDEX.unpack_from, _rows(inventory, database, filenode, _INDEX.size)))
    named = {oid: name for oid, name, *_ in rows}
    known: dict[RelationFile, Name] = {}
    for oid, name, namespace, filenode, _, relkind in rows:
        place = RelationFile(database, filenode or mapped.get(oid, 0))
        if not place.filenode:
            place = RelationFile(SHARED, shared.get(oid, 0))
        schema = namespaces.get(namespace, "")
        where = database_name if place.database else ""
        known[place] = Name(where, schema, name, kind_of(relkind), oid < FIRST_USER_OID, named.get(served.get(oid, 0)))
    return known


def _mapped(folder: Path) -> dict[int, int]:
    try:
        data = (folder / "pg_filenode.map").read_bytes()
        magic, count = struct.unpack_from("=iI", data)
        if magic != _MAP_MAGIC:
            return {}
        return dict(struct.unpack_from("=II", data, 8 + 8 * index) for index in range(count))
    except (OSError, struct.error):
        return {}


def _named_rows(inventory: Inventory, database: int, filenode: int | None) -> Iterator[tuple[int, str]]:
    """Number and name, with which pg_database and pg_namespace begin."""
    for row in _rows(inventory, database, filenode, _NAMED.size):
        oid, name = _NAMED.unpack_from(row)
        yield oid, _text(name)


def _text(name: bytes) -> str:
    return name.partition(b"\0")[0].decode("utf-8", "backslashreplace")


def _rows(inventory: Inventory, database: int, filenode: int | None, least_bytes: int) -> Iterator[bytes]:
    """The data of every row that is not known to be dead and has its fixed columns."""
    relation = RelationFile(database, filenode or 0)
    for file in inventory.files:
        if file.owner != relation or "_" in file.path.name:
            continue
        try:
            data = file.path.read_bytes()
        except OSError:
            continue
        yield from (row for row in _living(data) if len(row) >= least_bytes)


def _living(data: bytes) -> Iterator[bytes]:
    if len(data) < _HEADER_BYTES:
        return
    page_bytes = struct.unpack_from("=H", data, 18)[0] & 0xFF00
    if page_bytes < 1024 or len(data) % page_bytes:
        return
    for start in range(0, len(data), page_bytes):
        page = data[start : start + page_bytes]
        (lower,) = struct.unpack_from("=H", page, 12)
        for at in range(_HEADER_BYTES, min(lower, page_bytes - 3), 4):
            (pointer,) = struct.unpack_from("=I", page, at)
            row = page[pointer & 0x7FFF : (pointer & 0x7FFF) + (pointer >> 17)]
            if pointer >> 15 & 3 != 1 or len(row) < _HEADER_BYTES:
                continue
            (infomask,) = struct.unpack_from("=H", row, 20)
            never = infomask & (_XMIN_COMMITTED | _XMIN_INVALID) == _XMIN_INVALID
            deleted = infomask & _XMAX_COMMITTED and not infomask & _NO_DELETION
            if not never and not deleted:
                yield row[row[22] :]


SAMPLED_CHUNK_BYTES = 64 << 10
WHOLE_CHUNK_BYTES = 1 << 20
LEAST_BYTES = 1 << 20
"""Of each group, so that a small table's figure is its own."""


class FileGroup(Protocol):
    """Files that are sampled as one: a relation, the WAL."""

    @property
    def files(self) -> tuple[DataFile, ...]:
        """The files, in the order in which they are read."""

    @property
    def bytes(self) -> int:
        """The size of all of them."""


@dataclass(frozen=True)
class Chunks:
    """Parallel arrays: which group, which file of `paths`, where, how long."""

    paths: list[Path]
    groups: NDArray[np.uint32]
    files: NDArray[np.uint32]
    offsets: NDArray[np.uint64]
    lengths: NDArray[np.uint32]


def sample_chunks(groups: Sequence[FileGroup], sample_bytes: int | None) -> Chunks:
    """Chunks of all groups, about `sample_bytes` together, None for everything."""
    total = sum(group.bytes for group in groups)
    share = 1.0 if sample_bytes is None or sample_bytes >= total else sample_bytes / total
    random = np.random.default_rng(0)
    paths: list[Path] = []
    columns: list[list[NDArray[np.uint64]]] = [[], [], [], []]
    for number, group in enumerate(groups):
        read_bytes = max(group.bytes * share, min(LEAST_BYTES, group.bytes))
        chunk_bytes = WHOLE_CHUNK_BYTES if read_bytes >= group.bytes else SAMPLED_CHUNK_BYTES
        counts = [-(-file.bytes // chunk_bytes) for file in group.files]
        files = np.repeat(np.arange(len(counts)), counts)
        offsets = np.concatenate([np.arange(count, dtype=np.int64) for count in counts]) * chunk_bytes
        sizes = np.array([file.bytes for file in group.files], dtype=np.int64)[files]
        files, lengths = files + len(paths), np.minimum(chunk_bytes, sizes - offsets)
        paths += [file.path for file in group.files]
        if read_bytes < group.bytes:
            stretches = max(1, min(int(read_bytes / chunk_bytes), len(files)))
            edges = np.linspace(0, len(files), stretches + 1).astype(np.int64)
            kept = random.integers(edges[:-1], edges[1:])
            files, offsets, lengths = files[kept], offsets[kept], lengths[kept]
        for column, values in zip(columns, (np.full(len(files), number), files, offsets, lengths), strict=True):
            column.append(values.astype(np.uint64))
    joined = [np.concatenate(column) for column in columns]
    return Chunks(
        paths, joined[0].astype(np.uint32), joined[1].astype(np.uint32), joined[2], joined[3].astype(np.uint32)
    )
