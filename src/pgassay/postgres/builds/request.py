"""What a study asks to be built: the options `build.*`, each declared once, as one typed value.

Each is read back from the running server. All of them are baked into snapshots.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pgassay.interfaces.factor import IN_MEMORY, Readable, Stage
from pgassay.interfaces.kinds import Kind
from pgassay.interfaces.options import Options, ReadBack, option
from pgassay.interfaces.server import Server
from pgassay.postgres.builds import cache, recipe
from pgassay.postgres.builds.recipe import BuildError, Spec, parse_extension, parse_spec
from pgassay.postgres.builds.sources import fits
from pgassay.postgres.find import canonical_version
from pgassay.study.levels import Level

_BLOCK_SIZE = Kind(lambda _, text: recipe.block_bytes(text), "{}B".format, "1kB, 2kB, 4kB, 8kB, 16kB or 32kB")
_WAL_BLOCK_SIZE = Kind(lambda _, text: recipe.wal_block_bytes(text), "{}B".format, "1kB to 64kB, a power of two")
_VERSION = Kind(lambda _, text: canonical_version(text), str, "a major version (17) or an exact one (17.5)")
_FLAGS = Kind(lambda _, text: recipe.compiler_flags(text), str, "flags separated by spaces")
_SOURCE = Kind[Spec | None](
    lambda _, text: parse_spec(text),
    str,
    "official, distribution, tarball:FILE, directory:DIR or git:DIR@COMMIT",
    rooted=lambda text: str(parse_spec(text)),
)
_EXTENSION = Kind[Spec | None](
    lambda _, text: parse_extension(text),
    str,
    "directory:DIR or git:DIR@COMMIT",
    rooted=lambda text: str(parse_extension(text)),
)


def _shown(setting: str) -> ReadBack:
    return lambda _, level, readable: f"{readable.server.query(f'SHOW {setting}')[0][0]}B"


def server_version(name: str, level: Level, readable: Readable) -> str:
    major, minor = divmod(int(readable.server.query("SHOW server_version_num")[0][0]), 10000)
    found = f"{major}.{minor}"
    return level.canonical if fits(found, level.canonical) else found


def _configured_flags(name: str, level: Level, readable: Readable) -> str | None:
    """The CFLAGS that configure was given, from the view pg_config."""
    found = re.search(r"'CFLAGS=([^']*)'", _pg_config(readable.server, "CONFIGURE"))
    return found[1] if found else None


def _in_manifest(name: str, level: Level, readable: Readable) -> str | None:
    """The source or the extension, from the manifest of the build that the running server belongs to.

    One build may come from two names of one source (a tag and a branch): then nothing says which was meant.
    """
    key_folder = Path(_pg_config(readable.server, "BINDIR")).parent
    try:
        manifest = cache.read_manifest(key_folder, key_folder.name)
    except BuildError:
        return None
    found = manifest.extension if name == "build.extension" else manifest.source
    return level.canonical if found.partition(" (")[0] == level.canonical else None


def _pg_config(server: Server, name: str) -> str:
    rows = server.query("SELECT setting FROM pg_config WHERE name = %s", [name])
    return str(rows[0][0]) if rows else ""


@dataclass(frozen=True, kw_only=True)
class BuildRequest(Options):
    """The build that a study asks for: sizes in bytes; an empty version or no source takes what is in the cache."""

    namespace: ClassVar[str] = "build"
    turns = IN_MEMORY

    block_bytes: int = option(
        _BLOCK_SIZE,
        name="block_size",
        default=recipe.DEFAULT_BLOCK_BYTES,
        stage=Stage.BUILD,
        summary="page of tables and indexes (BLCKSZ)",
        read_back=_shown("block_size"),
    )
    wal_block_bytes: int = option(
        _WAL_BLOCK_SIZE,
        name="wal_block_size",
        default=recipe.DEFAULT_BLOCK_BYTES,
        stage=Stage.BUILD,
        summary="page of the WAL (XLOG_BLCKSZ)",
        read_back=_shown("wal_block_size"),
    )
    version: str = option(
        _VERSION,
        default="",
        stage=Stage.BUILD,
        summary="which version to build",
        read_back=server_version,
    )
    cflags: str = option(
        _FLAGS,
        default=recipe.DEFAULT_CFLAGS,
        stage=Stage.BUILD,
        summary="flags of the C compiler",
        read_back=_configured_flags,
    )
    source: Spec | None = option(
        _SOURCE,
        default=None,
        stage=Stage.BUILD,
        summary="from which source to build, so that two commits can be compared",
        read_back=_in_manifest,
    )
    extension: Spec | None = option(
        _EXTENSION,
        default=None,
        stage=Stage.BUILD,
        summary="an extension to build and install in addition, so that two commits of it can be compared",
        read_back=_in_manifest,
    )
