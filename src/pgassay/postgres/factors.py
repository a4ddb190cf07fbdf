"""The factors that PostgreSQL itself offers: any setting, the version, initdb's options, the programs' build.

One small object each; `FACTORS` is what the lab's catalogue takes. Fillfactors have a file of their own. A `build.*`
factor asks for a build (see `builds`) and is read back from the running server.
"""

import re
from collections.abc import Callable
from pathlib import Path

from pgassay.bench.factor import Factor, Readable, Setup, Stage
from pgassay.bench.server import Server
from pgassay.postgres import effective, find, messages, settings
from pgassay.postgres.builds import cache, recipe
from pgassay.postgres.builds.messages import BuildError
from pgassay.postgres.builds.recipe import parse_spec
from pgassay.postgres.builds.sources import fits
from pgassay.postgres.fillfactor import IndexFillFactor, NamedTableFillFactor, TableFillFactor
from pgassay.postgres.installation import wal_segment_bytes
from pgassay.study.levels import Level
from pgassay.study.units import canonical, format_bytes, parse_boolean

_PREFIX = "server."
_INITIAL = "init."


class ServerSetting(Factor):
    """`server.NAME`: every setting of PostgreSQL and of loaded extensions is a factor."""

    pattern = "server.*"
    stage = Stage.SERVER
    summary = "any setting of postgresql.conf, in PostgreSQL's own units"

    def parse(self, name: str, typed: str) -> Level:
        """Sizes become bytes, times milliseconds; whether PostgreSQL takes the value is checked before a run."""
        settings.require_name(name.removeprefix(_PREFIX))
        return Level(typed, canonical(typed))

    def prepare(self, name: str, level: Level, setup: Setup) -> None:
        """Into our configuration file, as typed."""
        setup.settings[name.removeprefix(_PREFIX)] = level.typed

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """From pg_settings, by meaning; `huge_pages` by what was really obtained."""
        setting_name = name.removeprefix(_PREFIX)
        found = effective.setting(readable.server, setting_name)
        if found is None:
            return _unlisted(readable.server, setting_name, level)
        if found.name == "huge_pages" and level.canonical in ("on", "off"):
            return effective.huge_pages_status(readable.server)
        if effective.holds(readable.server, found, level.typed):
            return level.canonical
        return canonical(str(readable.server.query("SELECT current_setting(%s)", [setting_name])[0][0]))

    def adopt_by(self, name: str, level: Level, server: Server) -> str:
        """`reload` or `restart`, as this server says."""
        return effective.adoption(server, name.removeprefix(_PREFIX))


def _unlisted(server: Server, name: str, level: Level) -> str:
    """A setting that pg_settings does not list: of an extension that is loaded when first used, or one that a loaded
    extension did not know and so removed (MarkGUCPrefixReserved, from 15): treatments would be the same then.
    """
    (text,) = server.query("SELECT current_setting(%s, true)", [name])[0]
    if text is None:
        return messages.NO_SUCH_SETTING
    return level.canonical if text == level.typed else canonical(str(text))


class PostgresVersion(Factor):
    """`postgres.version`: which of the installed PostgreSQLs serves."""

    pattern = "postgres.version"
    stage = Stage.BUILD
    summary = "which installed PostgreSQL serves: a major version (17) or an exact one (17.5)"

    def parse(self, name: str, typed: str) -> Level:
        """A major version, or major and minor."""
        major, minor = find.parse_requested_version(typed)
        return Level(typed, str(major) if minor is None else f"{major}.{minor}")

    def prepare(self, name: str, level: Level, setup: Setup) -> None:
        """The lab chooses the installation by it."""
        setup.installation["version"] = level.canonical

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """What the server says it is."""
        number = int(readable.server.query("SHOW server_version_num")[0][0])
        major, minor = divmod(number, 10000)
        requested = find.parse_requested_version(level.canonical)
        return level.canonical if requested in ((major, minor), (major, None)) else f"{major}.{minor}"


class DataChecksums(Factor):
    """`init.data_checksums`: a checksum on every page, on or off."""

    pattern = "init.data_checksums"
    stage = Stage.INIT
    summary = "checksums on data pages (the default from PostgreSQL 18 on)"

    def parse(self, name: str, typed: str) -> Level:
        """A boolean as `on` or `off`; raises `UsageError`."""
        return Level(typed, "on" if parse_boolean(typed) else "off")

    def prepare(self, name: str, level: Level, setup: Setup) -> None:
        """Pass it to initdb as `data_checksums`."""
        setup.init_options[name.removeprefix(_INITIAL)] = level.canonical

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """What SHOW data_checksums prints."""
        return str(readable.server.query("SHOW data_checksums")[0][0])


class WalSegmentSize(Factor):
    """`init.wal_segment_size`: the size of a WAL file."""

    pattern = "init.wal_segment_size"
    stage = Stage.INIT
    summary = "size of a WAL file: a power of two from 1MB to 1GB"

    def parse(self, name: str, typed: str) -> Level:
        """A size, or a bare number of MB as initdb takes it."""
        return Level(typed, f"{wal_segment_bytes(typed)}B")

    def prepare(self, name: str, level: Level, setup: Setup) -> None:
        """Pass it to initdb as `wal_segment_size`."""
        setup.init_options[name.removeprefix(_INITIAL)] = format_bytes(wal_segment_bytes(level.canonical))

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """What SHOW wal_segment_size prints, in bytes."""
        return canonical(str(readable.server.query("SHOW wal_segment_size")[0][0]))


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
        major, minor = find.parse_requested_version(typed)
        return Level(typed, str(major) if minor is None else f"{major}.{minor}")

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """The level if SHOW server_version_num fits it, else major and minor version."""
        major, minor = divmod(int(readable.server.query("SHOW server_version_num")[0][0]), 10000)
        found = f"{major}.{minor}"
        return level.canonical if fits(found, level.canonical) else found


class CompilerFlags(_BuildFactor):
    """`build.cflags`: how the compiler optimises."""

    pattern = "build.cflags"
    summary = 'flags of the C compiler, instead of "-O2"'

    def parse(self, name: str, typed: str) -> Level:
        """Flags separated by single spaces; raises `UsageError`."""
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

        One build may come from two names of one source (a tag and a branch): then nothing says which was meant.
        """
        key_folder = Path(str(_pg_config(readable.server, "BINDIR"))).parent
        try:
            found = cache.read_manifest(key_folder, key_folder.name).source
        except BuildError:
            return None
        return level.canonical if found.partition(" (")[0] == level.canonical else None


def _pg_config(server: Server, name: str) -> object:
    rows = server.query("SELECT setting FROM pg_config WHERE name = %s", [name])
    return rows[0][0] if rows else ""


FACTORS: tuple[Factor, ...] = (
    PostgresVersion(),
    DataChecksums(),
    WalSegmentSize(),
    TableFillFactor(),
    NamedTableFillFactor(),
    IndexFillFactor(),
    _Size("block_size", "page of tables and indexes (BLCKSZ): 1kB, 2kB, 4kB, 8kB, 16kB or 32kB", recipe.block_bytes),
    _Size("wal_block_size", "page of the WAL (XLOG_BLCKSZ): 1kB to 64kB, a power of two", recipe.wal_block_bytes),
    BuildVersion(),
    CompilerFlags(),
    BuildSource(),
    ServerSetting(),
)
