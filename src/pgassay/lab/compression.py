"""How far tables, indexes and WAL compress, each kind by itself; one figure for the whole drive would hide that.

A sample of the trial's own files, read after the window, goes through a drive's codec block by block, as `pgassay
compressibility` does it (docs/drives.md has the details). Of a drive that stores what it gets it tells
what one that compresses would have made of the same files. `load.compressibility = "on"` asks for it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pgassay.bench.load import LoadOptions
from pgassay.bench.server import Server
from pgassay.drive.options import DriveOptions
from pgassay.postgres import cluster_files
from pgassay.postgres.cluster_files import DataFile
from pgassay.probe.statistics import FIRST_USER_OID
from pgassay.study.responses import Better, Response

PREFIX = "stored"
SAMPLE_BYTES = 96 << 20
"""How much is read of all kinds together; if there is less, all of it is read."""
BLOCK_BYTES = 4096
CODEC = "zstd-1"
"""The codec for drives that have none of their own."""
KINDS: Mapping[str, str] = {"heap": "tables", "index": "indexes", "wal": "WAL"}
_OF_RELKIND = {"r": "heap", "m": "heap", "t": "heap", "i": "index"}
_RESPONSE = "{kind}_compression_ratio"
_BLOCKS, _SUMS = 0, 2

_FILES = (
    "SELECT pg_relation_filepath(oid), relkind::text FROM pg_class"
    f" WHERE oid >= {FIRST_USER_OID} AND relkind IN ('r', 'm', 't', 'i')"
)


@dataclass(frozen=True)
class Kind:
    """All files of one kind."""

    name: str
    files: tuple[DataFile, ...]

    @property
    def bytes(self) -> int:
        """The size of all files together."""
        return sum(file.bytes for file in self.files)


RESPONSES = tuple(
    Response(
        _RESPONSE.format(kind=kind), f"logical / compressed bytes of {title} at the end, sampled", "ratio",
        Better.HIGHER,
    )
    for kind, title in KINDS.items()
)  # fmt: skip


def responses(options: Iterable[LoadOptions]) -> tuple[Response, ...]:
    """The responses that trials with these load options, one of each arm, have in addition."""
    return RESPONSES if any(each.compressibility for each in options) else ()


def codec_of(drives: DriveOptions) -> str:
    """The codec of the drive that holds the data, as the study asks for it; `CODEC` if it asks for none."""
    named = drives.data.codec
    return CODEC if named in (None, "none") else named


def of_wal(server: Server, directory: Path, codec: str) -> dict[str, float | None]:
    """As `of_relations`, for WAL as far as it was written; asked before a CHECKPOINT recycles what the window wrote."""
    ((current, offset),) = server.query("SELECT * FROM pg_walfile_name_offset(pg_current_wal_insert_lsn())")
    files = []
    for file in cluster_files.take(directory).files:
        if file.owner == "WAL":
            written = int(offset) if file.path.name == current else file.bytes
            files.append(replace(file, bytes=written // BLOCK_BYTES * BLOCK_BYTES))
    return _told((Kind("wal", tuple(file for file in files if file.bytes)),), codec)


def of_relations(server: Server, directory: Path, codec: str) -> dict[str, float | None]:
    """For tables and for indexes: `stored.KIND_logical_bytes`, `…_read_bytes` (of the sample) and `…_compressed_bytes`
    (for all of them, at the ratio of the sample). A CHECKPOINT comes first; raises `QueryError`.
    """
    server.execute("CHECKPOINT")
    kind_of = {Path(str(path)).name: _OF_RELKIND[str(relkind)] for path, relkind in server.query(_FILES)}
    files: dict[str, list[DataFile]] = {}
    for file in cluster_files.take(directory).files:
        if isinstance(file.owner, cluster_files.RelationFile) and "_" not in file.path.name and file.bytes:
            kind = kind_of.get(str(file.owner.filenode))
            if kind is not None:
                files.setdefault(kind, []).append(file)
    return _told(tuple(Kind(kind, tuple(found)) for kind, found in files.items()), codec)


def summed(counters: Mapping[str, float | None]) -> dict[str, float | None]:
    """The responses from the counters of `of_wal` and `of_relations`: logical / compressed bytes by kind."""
    return {_RESPONSE.format(kind=kind): _ratio(counters, kind) for kind in KINDS}


def _ratio(counters: Mapping[str, float | None], kind: str) -> float | None:
    whole, stored = (counters.get(f"{PREFIX}.{kind}_{side}_bytes") for side in ("logical", "compressed"))
    return whole / stored if whole and stored else None


def _told(kinds: tuple[Kind, ...], codec: str) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    there = tuple(kind for kind in kinds if kind.files)
    for kind, (read_bytes, stored_bytes) in zip(there, _weigh(there, codec), strict=True):
        found[f"{PREFIX}.{kind.name}_logical_bytes"] = float(kind.bytes)
        found[f"{PREFIX}.{kind.name}_read_bytes"] = read_bytes
        found[f"{PREFIX}.{kind.name}_compressed_bytes"] = kind.bytes * stored_bytes / read_bytes if read_bytes else None
    return found


def _weigh(kinds: tuple[Kind, ...], codec: str) -> list[tuple[float, float]]:
    """Bytes read and what the codec leaves of them, for each kind."""
    if not kinds:
        return []
    from pgassay._core import scan_blocks
    from pgassay.postgres import sampling

    chunks = sampling.choose(kinds, SAMPLE_BYTES)
    rows = scan_blocks(
        chunks.paths, chunks.files, chunks.offsets, chunks.lengths, codecs=(codec,), granularities=(1,), threads=None
    )
    found = []
    for number in range(len(kinds)):
        mine = rows[chunks.parts == number]
        found.append((float(mine[:, _BLOCKS].sum()) * BLOCK_BYTES, float(mine[:, _SUMS].sum())))
    return found
