"""What tables, indexes and WAL shrink to, each kind by itself, where one figure of the whole drive would hide them.

A sample of the trial's own files, read after the window behind a CHECKPOINT, goes through a drive's codec block by
block, as `pgassay compressibility` does it; docs/compressibility.md has the figures' fine print. On a drive that stores
what it gets it tells what one that compresses would have made of the same files. `load.compressibility = "on"` asks.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pgassay.bench.server import Server
from pgassay.postgres.files import inventory
from pgassay.postgres.files.inventory import DataFile
from pgassay.probe.tables import FIRST_USER_OID
from pgassay.study.responses import Better, Response

PREFIX = "stored"
SAMPLE_BYTES = 96 << 20
"""Of all kinds together; what is smaller is read whole."""
BLOCK_BYTES = 4096
CODEC = "zstd-1"
"""Where the drive has none of its own."""
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
        """All of them."""
        return sum(file.bytes for file in self.files)


RESPONSES = tuple(
    Response(
        _RESPONSE.format(kind=kind), f"logical / compressed bytes of {title} at the end, sampled", "ratio",
        Better.HIGHER,
    )
    for kind, title in KINDS.items()
)  # fmt: skip


def wanted(options: Mapping[str, str]) -> bool:
    """Is it asked for?"""
    return options.get("compressibility", "off") == "on"


def responses(every: Iterable[Mapping[str, str]]) -> tuple[Response, ...]:
    """What trials with these load options yield."""
    return RESPONSES if any(wanted(each) for each in every) else ()


def codec_of(drive: Mapping[str, str]) -> str:
    """The codec that the drive of the data is asked to have; `CODEC` where none is asked for."""
    named = drive.get("data.codec", "none")
    return CODEC if named == "none" else named


def read(server: Server, directory: Path, codec: str) -> dict[str, float | None]:
    """For each kind `stored.KIND_logical_bytes`, `…_read_bytes` of them, and by these `…_compressed_bytes` of all."""
    server.execute("CHECKPOINT")
    found: dict[str, float | None] = {}
    kinds = _kinds(server, directory)
    for kind, (read_bytes, stored_bytes) in zip(kinds, _weigh(kinds, codec), strict=True):
        ratio = stored_bytes / read_bytes if read_bytes else None
        found[f"{PREFIX}.{kind.name}_logical_bytes"] = float(kind.bytes)
        found[f"{PREFIX}.{kind.name}_read_bytes"] = read_bytes
        found[f"{PREFIX}.{kind.name}_compressed_bytes"] = None if ratio is None else kind.bytes * ratio
    return found


def summed(counters: Mapping[str, float | None]) -> dict[str, float | None]:
    """The responses from what was read."""
    return {_RESPONSE.format(kind=kind): _ratio(counters, kind) for kind in KINDS}


def _ratio(counters: Mapping[str, float | None], kind: str) -> float | None:
    whole, stored = (counters.get(f"{PREFIX}.{kind}_{side}_bytes") for side in ("logical", "compressed"))
    return whole / stored if whole and stored else None


def _kinds(server: Server, directory: Path) -> tuple[Kind, ...]:
    """Relations by their kind, and the WAL that was written; recycled segments still hold what was."""
    kind_of = {Path(str(path)).name: _OF_RELKIND[str(relkind)] for path, relkind in server.query(_FILES)}
    files: dict[str, list[DataFile]] = {kind: [] for kind in KINDS}
    for file in inventory.take(directory).files:
        if isinstance(file.owner, inventory.RelationFile):
            kind = kind_of.get(str(file.owner.filenode)) if "_" not in file.path.name else None
        else:
            kind = "wal" if file.owner == "WAL" else None
        if kind is not None:
            files[kind].append(file)
    return tuple(Kind(kind, tuple(found)) for kind, found in files.items() if found)


def _weigh(kinds: tuple[Kind, ...], codec: str) -> list[tuple[float, float]]:
    """Bytes read and what the codec leaves of them, for each kind."""
    from pgassay._core import scan_blocks
    from pgassay.postgres.files import sampling

    chunks = sampling.choose(kinds, SAMPLE_BYTES)
    rows = scan_blocks(
        chunks.paths, chunks.files, chunks.offsets, chunks.lengths, codecs=(codec,), granularities=(1,), threads=None
    )
    found = []
    for number in range(len(kinds)):
        mine = rows[chunks.parts == number]
        found.append((float(mine[:, _BLOCKS].sum()) * BLOCK_BYTES, float(mine[:, _SUMS].sum())))
    return found
