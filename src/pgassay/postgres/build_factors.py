"""Factors of the programs themselves: page size, WAL block size, version, compiler flags, source.

Each asks for a build (see `builds`) and is read back from the running server.
"""

import re
from pathlib import Path

from pgassay.bench.factor import Factor, Readable, Setup, Stage
from pgassay.bench.server import Server
from pgassay.postgres.builds import cache, messages, recipe
from pgassay.postgres.builds.sources import fits
from pgassay.postgres.builds.spec import parse_spec
from pgassay.postgres.find import parse_wanted
from pgassay.study.levels import Level


class _BuildFactor(Factor):
    """The base: the level goes to the lab's builder under the factor's own name."""

    stage = Stage.BUILD
    adopt = "reinit"

    def prepare(self, name: str, level: Level, setup: Setup) -> None:
        """The lab builds by it."""
        setup.installation[name] = level.canonical


class BlockSize(_BuildFactor):
    """`build.block_size`: BLCKSZ, the page of tables and indexes."""

    pattern = "build.block_size"
    summary = "page size: 1kB, 2kB, 4kB, 8kB, 16kB or 32kB"

    def parse(self, name: str, typed: str) -> Level:
        """One of the sizes that PostgreSQL knows, with its unit."""
        return Level(typed, f"{recipe.block_bytes(typed)}B")

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """SHOW block_size."""
        return f"{readable.server.query('SHOW block_size')[0][0]}B"


class WalBlockSize(_BuildFactor):
    """`build.wal_block_size`: XLOG_BLCKSZ, the page of the WAL."""

    pattern = "build.wal_block_size"
    summary = "WAL block size: 1kB to 64kB, a power of two"

    def parse(self, name: str, typed: str) -> Level:
        """One of the sizes that PostgreSQL knows, with its unit."""
        return Level(typed, f"{recipe.wal_block_bytes(typed)}B")

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """SHOW wal_block_size."""
        return f"{readable.server.query('SHOW wal_block_size')[0][0]}B"


class BuildVersion(_BuildFactor):
    """`build.version`: which version is built."""

    pattern = "build.version"
    summary = "which version to build: a major version (17) or an exact one (17.5)"

    def parse(self, name: str, typed: str) -> Level:
        """A major version, or major and minor."""
        major, minor = parse_wanted(typed)
        return Level(typed, str(major) if minor is None else f"{major}.{minor}")

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """SHOW server_version_num."""
        major, minor = divmod(int(readable.server.query("SHOW server_version_num")[0][0]), 10000)
        found = f"{major}.{minor}"
        return level.canonical if fits(found, level.canonical) else found


class CompilerFlags(_BuildFactor):
    """`build.cflags`: how the compiler optimises."""

    pattern = "build.cflags"
    summary = 'flags of the C compiler, instead of "-O2"'

    def parse(self, name: str, typed: str) -> Level:
        """Flags separated by spaces."""
        words = typed.split()
        if not all(re.fullmatch(r"-[\w=,.+:/-]+", word) for word in words):
            raise messages.bad_flags(typed)
        return Level(typed, " ".join(words))

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """The CFLAGS that configure was given, from the view pg_config."""
        text = str(_pg_config(readable.server, "CONFIGURE"))
        found = re.search(r"'CFLAGS=([^']*)'", text)
        return found[1] if found else None


class BuildSource(_BuildFactor):
    """`build.source`: from which source, so that two commits can be compared."""

    pattern = "build.source"
    summary = "official, distribution, tarball:FILE, directory:DIR or git:DIR@COMMIT"

    def parse(self, name: str, typed: str) -> Level:
        """A source, its path made absolute."""
        return Level(typed, str(parse_spec(typed)))

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """From the manifest beside the programs that the running server says it is.

        One build may come from two names of one source (a tag and a branch): then nothing can tell which was meant.
        """
        key_folder = Path(str(_pg_config(readable.server, "BINDIR"))).parent
        try:
            found = cache.read_manifest(key_folder, key_folder.name).source
        except messages.BuildError:
            return None
        return level.canonical if found.partition(" (")[0] == level.canonical else None


def _pg_config(server: Server, name: str) -> object:
    rows = server.query("SELECT setting FROM pg_config WHERE name = %s", [name])
    return rows[0][0] if rows else ""


FACTORS: tuple[Factor, ...] = (BlockSize(), WalBlockSize(), BuildVersion(), CompilerFlags(), BuildSource())
