"""Which build a setup asks for, from the words that the `build.*` factors write into it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from pgassay.postgres.builds.recipe import DEFAULT_BLOCK_BYTES, DEFAULT_CFLAGS
from pgassay.postgres.builds.spec import Spec, parse_spec
from pgassay.study.units import parse_memory

PREFIX = "build."


@dataclass(frozen=True)
class Wanted:
    """Sizes in bytes; an empty version and no source mean: whatever is at hand."""

    block_bytes: int = DEFAULT_BLOCK_BYTES
    wal_block_bytes: int = DEFAULT_BLOCK_BYTES
    version: str = ""
    cflags: str = DEFAULT_CFLAGS
    source: Spec | None = None


def wanted_of(installation: Mapping[str, str]) -> Wanted | None:
    """What `Setup.installation` asks to be built; None if it asks for no build."""
    words = {name.removeprefix(PREFIX): value for name, value in installation.items() if name.startswith(PREFIX)}
    if not words:
        return None
    return Wanted(
        block_bytes=parse_memory(words["block_size"]) if "block_size" in words else DEFAULT_BLOCK_BYTES,
        wal_block_bytes=parse_memory(words["wal_block_size"]) if "wal_block_size" in words else DEFAULT_BLOCK_BYTES,
        version=words.get("version", ""),
        cflags=words.get("cflags", DEFAULT_CFLAGS),
        source=parse_spec(words["source"]) if "source" in words else None,
    )
