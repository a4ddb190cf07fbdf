"""Factors of the programs themselves: page size, WAL block size, version, compiler flags, source.

Each asks for a build (see `builds`) and is read back from the running server.
"""

import re
from collections.abc import Callable
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

    def prepare(self, name: str, level: Level, setup: Setup) -> None:
        """The lab builds by it."""
        setup.installation[name] = level.canonical


class _Size(_BuildFactor):
    """A block size: `build.NAME`, shown by the server as the setting of the same name."""

    def __init__(self, setting: str, summary: str, parsed: Callable[[str], int]) -> None:
        self.pattern = f"build.{setting}"
        self.summary = summary
        self._setting = setting
        self._parsed = parsed

    def parse(self, name: str, typed: str) -> Level:
        """One of the sizes that PostgreSQL knows, with its unit."""
        return Level(typed, f"{self._parsed(typed)}B")

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """SHOW block_size, SHOW wal_block_size."""
        return f"{readable.server.query(f'SHOW {self._setting}')[0][0]}B"


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
        return Level(typed, recipe.compiler_flags(typed))

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


FACTORS: tuple[Factor, ...] = (
    _Size("block_size", "page of tables and indexes (BLCKSZ): 1kB, 2kB, 4kB, 8kB, 16kB or 32kB", recipe.block_bytes),
    _Size("wal_block_size", "page of the WAL (XLOG_BLCKSZ): 1kB to 64kB, a power of two", recipe.wal_block_bytes),
    BuildVersion(),
    CompilerFlags(),
    BuildSource(),
)
