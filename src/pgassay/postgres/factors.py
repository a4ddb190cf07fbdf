"""The factors that PostgreSQL itself offers: any setting, the version, initdb's options, the programs' build.

One small object each; `FACTORS` is what the lab's catalogue takes. Fillfactors have a file of their own; `build.*` are
options of `builds.request`.
"""

from collections.abc import Callable
from pathlib import Path

from pgassay.bench.factor import Factor, Readable, SetupDraft, Stage
from pgassay.bench.kinds import NONE
from pgassay.bench.options import factors_of
from pgassay.bench.server import Server
from pgassay.postgres import effective, find, settings
from pgassay.postgres.adoption import DATABASE
from pgassay.postgres.attached.changes import PREFIX
from pgassay.postgres.builds.request import BuildRequest
from pgassay.postgres.fillfactor import IndexFillFactor, NamedTableFillFactor, TableFillFactor
from pgassay.postgres.installation import COPY_DATABASE, COPY_OF, wal_segment_bytes
from pgassay.postgres.schema import SchemaChange
from pgassay.study.levels import Level
from pgassay.study.scale_model import ModelSize
from pgassay.study.units import canonical, format_bytes, parse_boolean

NO_SUCH_SETTING = "there is no such setting"
"""What a server is taken to say of a setting that it does not know."""

_PREFIX = "server."
_INITIAL = "init."


class ServerSetting(Factor):
    """`server.NAME`: every setting of PostgreSQL and of loaded extensions is a factor."""

    pattern = "server.*"
    stage = Stage.SERVER
    summary = "any setting of postgresql.conf"
    accepts = "a value in PostgreSQL's own units"

    def parse(self, name: str, typed: str) -> Level:
        """Sizes become bytes, times milliseconds; whether PostgreSQL takes the value is checked before a run."""
        settings.require_name(name.removeprefix(_PREFIX))
        return Level(typed, canonical(typed))

    def size(self, name: str) -> ModelSize | None:
        """Of the settings that are sizes of the data, of caches of them, or of their WAL; not of a session's memory."""
        return settings.SIZES.get(name.removeprefix(_PREFIX).lower())

    def prepare(self, name: str, level: Level, setup: SetupDraft) -> None:
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
        return NO_SUCH_SETTING
    return level.canonical if text == level.typed else canonical(str(text))


class PostgresVersion(Factor):
    """`postgres.version`: which of the installed PostgreSQLs serves."""

    pattern = "postgres.version"
    stage = Stage.BUILD
    summary = "which installed PostgreSQL serves"
    accepts = "a major version (17) or an exact one (17.5)"

    def parse(self, name: str, typed: str) -> Level:
        """A major version, or major and minor."""
        major, minor = find.parse_requested_version(typed)
        return Level(typed, str(major) if minor is None else f"{major}.{minor}")

    def prepare(self, name: str, level: Level, setup: SetupDraft) -> None:
        """The lab chooses the installation by it."""
        setup.version = level.canonical

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
    accepts = "on, off"

    def parse(self, name: str, typed: str) -> Level:
        """A boolean as `on` or `off`; raises `UsageError`."""
        return Level(typed, "on" if parse_boolean(typed) else "off")

    def prepare(self, name: str, level: Level, setup: SetupDraft) -> None:
        """Pass it to initdb as `data_checksums`."""
        setup.init_options[name.removeprefix(_INITIAL)] = level.canonical

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """What SHOW data_checksums prints: `on` or `off`."""
        return str(readable.server.query("SHOW data_checksums")[0][0])


class WalSegmentSize(Factor):
    """`init.wal_segment_size`: the size of a WAL file."""

    pattern = "init.wal_segment_size"
    stage = Stage.INIT
    summary = "size of a WAL file"
    accepts = "a power of two from 1MB to 1GB"

    def parse(self, name: str, typed: str) -> Level:
        """A size, or a bare number of MB as initdb takes it."""
        return Level(typed, f"{wal_segment_bytes(typed)}B")

    def prepare(self, name: str, level: Level, setup: SetupDraft) -> None:
        """Pass it to initdb as `wal_segment_size`."""
        setup.init_options[name.removeprefix(_INITIAL)] = format_bytes(wal_segment_bytes(level.canonical))

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """What SHOW wal_segment_size prints, in bytes."""
        return canonical(str(readable.server.query("SHOW wal_segment_size")[0][0]))


class CopyOf(Factor):
    """`init.copy_of`: the cluster is a copy of a data directory, as it lies there, instead of a new one."""

    pattern = f"{_INITIAL}{COPY_OF}"
    stage = Stage.INIT
    summary = "a base backup, or the data directory of a stopped server, that clusters are copies of"
    accepts = "a directory, or none"
    default = NONE

    def parse(self, name: str, typed: str) -> Level:
        """The path from the root, or `none`."""
        text = typed.strip()
        return Level(typed, NONE if text == NONE else str(Path(text).expanduser().absolute()))

    @property
    def holds_rows(self) -> bool:
        """All of a server's."""
        return True

    def moved(self, name: str, level: Level, change: Callable[[Path], Path]) -> Level:
        """The directory is one of the user's."""
        return level if level.canonical == NONE else Level(level.typed, str(change(Path(level.canonical))))

    def prepare(self, name: str, level: Level, setup: SetupDraft) -> None:
        """In the place of initdb."""
        if level.canonical != NONE:
            setup.init_options[COPY_OF] = level.canonical

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """A server does not know of what it is a copy."""
        return None


class CopyDatabase(Factor):
    """`init.copy_database`: which database of a copied cluster the load uses."""

    pattern = f"{_INITIAL}{COPY_DATABASE}"
    stage = Stage.INIT
    summary = "the database of a copied cluster that is used"
    accepts = "a name"
    default = DATABASE

    def parse(self, name: str, typed: str) -> Level:
        """Any name."""
        return Level(typed, typed)

    def prepare(self, name: str, level: Level, setup: SetupDraft) -> None:
        """For the adoption of a copy; a new cluster has `postgres` alone."""
        if level.canonical != DATABASE:
            setup.init_options[COPY_DATABASE] = level.canonical

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """Where we are connected; a copy within the user's own server does not know of what it is one."""
        found = str(readable.server.query("SELECT current_database()")[0][0])
        return None if found.startswith(PREFIX) else found


FACTORS: tuple[Factor, ...] = (
    PostgresVersion(),
    DataChecksums(),
    WalSegmentSize(),
    CopyOf(),
    CopyDatabase(),
    TableFillFactor(),
    NamedTableFillFactor(),
    IndexFillFactor(),
    SchemaChange(),
    *factors_of(BuildRequest),
    ServerSetting(),
)
