"""Settings: known, accepted, written to and read from files, described, in force; and do two values mean the same?

`postgres -C` checks a value without a server; it needs no more than a directory with a configuration file. The manual,
"Setting Parameters", gives the file's quoting. Values are compared by the rules of PostgreSQL's own parser: a number
without a unit counts the setting's base unit (`pg_settings.unit`, which may be a block: `8kB`); a fraction is rounded
to the next smaller unit, then to a whole base unit (src/backend/utils/misc/guc.c, convert_to_base_unit).

`postgres --describe-config` has names, contexts, groups and limits (src/backend/utils/misc/help_config.c); of numbers
and booleans it prints no default, since nothing is initialised yet, and no unit. `postgres -C` on an empty
configuration gives the default, in base units; the complaint about a value below the least one names the unit.
Settings that it does not describe (of extensions, and those that no sample file has) are not found.

A postgresql.conf is read by the rules of the manual ("Setting Parameters", "Configuration File Includes") and of
guc-file.l: names in any case, the last line of a name holds, a string in single quotes has `''` and backslash escapes,
and a relative path of an include is relative to the file that has it. A file that was copied from its server lacks
what it includes: that is named, not refused.
"""

import re
import signal
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgassay import untrusted
from pgassay.errors import UsageError, did_you_mean
from pgassay.interfaces import versions
from pgassay.interfaces.errors import BenchError, ClusterError, NotSettableError, QueryError, SettingError, SpaceError
from pgassay.interfaces.places import Account
from pgassay.interfaces.running import Runner
from pgassay.interfaces.server import Server
from pgassay.postgres import ownership
from pgassay.postgres.complaints import KILLED, complaint
from pgassay.study.scale_model import ModelSize
from pgassay.study.units import (
    BYTES_PER_UNIT,
    MS_PER_UNIT,
    canonical,
    format_bytes,
    format_number,
    parse_boolean,
    split_quantity,
)

if TYPE_CHECKING:
    import psycopg

FILE = "pgassay.conf"
"""Included last by postgresql.conf, so that what it says holds."""

PRIVATE = (
    "listen_addresses", "port", "unix_socket_directories", "unix_socket_group", "unix_socket_permissions",
    "data_directory", "config_file", "hba_file", "ident_file", "external_pid_file", "logging_collector",
    "log_destination", "syslog_facility", "event_source",
)  # fmt: skip
"""What keeps our clusters private and their log in our hands."""

SIZES: Mapping[str, ModelSize] = {
    "shared_buffers": ModelSize(least_bytes=128 << 10, step_bytes=8192, bare_bytes=8192),
    "effective_cache_size": ModelSize(least_bytes=8192, step_bytes=8192, bare_bytes=8192),
    "max_wal_size": ModelSize(least_bytes=32 << 20, step_bytes=1 << 20, bare_bytes=1 << 20),
    "min_wal_size": ModelSize(least_bytes=32 << 20, step_bytes=1 << 20, bare_bytes=1 << 20),
    "maintenance_work_mem": ModelSize(least_bytes=1 << 20, step_bytes=1 << 10, bare_bytes=1 << 10),
}
"""How settings shrink in a scale model. The least are PostgreSQL's own (guc_tables.c); of WAL two files of 16 MB."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*(?:\.[A-Za-z_][A-Za-z0-9_$]*)*")
_TIMEOUT_S = 60.0
_LIBRARIES = ("shared_preload_libraries", "session_preload_libraries", "local_preload_libraries")


def require_name(name: str) -> None:
    """Raise unless `name` has the form of a setting's name and is free to be set."""
    if not _NAME.fullmatch(name):
        raise SettingError(f'"{name}" is not the name of a setting')
    if name.lower() in PRIVATE:
        raise UsageError(f'setting "{name}" cannot be a factor', "pgassay sets it to keep its clusters private")


def quoted(name: str, value: str) -> str:
    if any(character in value for character in "\n\r\0"):
        raise SettingError(f'the value of setting "{name}" contains a line break or a null byte')
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


def file_text(settings: Mapping[str, str]) -> str:
    """The text of `pgassay.conf` with these settings; raises `SettingError` or `UsageError` for what it cannot hold."""
    lines = ["# Written by pgassay before every start; changes are lost."]
    for name, value in settings.items():
        require_name(name)
        lines.append(f"{name} = {quoted(name, value)}")
    return "\n".join(lines) + "\n"


_BUILT_WITH = {"io_uring": "liburing", "lz4": "lz4", "zstd": "zstd"}
"""Values of io_method, wal_compression and default_toast_compression that are there only with a library."""


def as_options(settings: Mapping[str, str]) -> list[str]:
    return [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]


def ask(runner: Runner, bindir: Path, directory: Path, settings: Mapping[str, str], name: str) -> str:
    """What `postgres -C name` says under these settings; raises `SettingError` in the server's words.

    `directory` is a data directory, or any directory of the servers' account with an empty postgresql.conf.
    """
    for each in (*settings, name):
        if not _NAME.fullmatch(each):
            raise SettingError(f'"{each}" is not the name of a setting')
    command = [str(bindir / "postgres"), "-D", str(directory), *as_options(settings), "-C", name]
    outcome = runner.run(command, timeout_s=_TIMEOUT_S)
    if outcome.status == 0:
        return outcome.stdout.rstrip("\n")
    words, hint = complaint(outcome.stderr)
    if outcome.status == -signal.SIGKILL:
        raise BenchError(f'"postgres -C {name}" {KILLED}')
    if "No space left on device" in words:
        raise SpaceError(f'"postgres -C {name}" found no space: {words}')
    unknown = re.search(r'unrecognized configuration parameter "([^"]+)"', words)
    if unknown:
        near = did_you_mean(unknown[1], names(runner, bindir), "SHOW ALL lists the settings of this version")
        others = versions.SETTINGS_OF.get(unknown[1])
        where = f"it is a setting of PostgreSQL {others}" if others else near
        raise NotSettableError(f'PostgreSQL has no setting "{unknown[1]}"', where, unknown[1])
    blamed = next((each for each in settings if f'"{each}"' in words), name)
    text = f"PostgreSQL refuses {blamed} = '{settings.get(blamed, '')}': {words}"
    if words.endswith("cannot be changed"):
        raise NotSettableError(text, "settings of the context internal in pg_settings are fixed", blamed)
    usual = f"pg_settings has the accepted values: SELECT * FROM pg_settings WHERE name = '{blamed}'"
    library = _BUILT_WITH.get(settings.get(blamed, ""))
    needs = f"it needs a PostgreSQL that was built with {library}; " if library else ""
    raise SettingError(text, needs + (hint or usual))


def names(runner: Runner, bindir: Path) -> tuple[str, ...]:
    """The settings that this PostgreSQL describes (hidden and internal ones are not among them)."""
    outcome = runner.run([str(bindir / "postgres"), "--describe-config"], timeout_s=_TIMEOUT_S)
    return tuple(line.split("\t", 1)[0] for line in outcome.stdout.splitlines() if "\t" in line)


def require_libraries(settings: Mapping[str, str]) -> None:
    """Raise `SettingError` for an extension's setting (`pg_stat_statements.max`) that no loaded library would own."""
    loaded = {
        word.strip().strip('"')
        for each in _LIBRARIES
        for word in settings.get(each, "").replace("$libdir/plugins/", "").replace("$libdir/", "").split(",")
    }
    for name in settings:
        prefix, dot, _ = name.partition(".")
        if dot and prefix not in loaded and prefix != "plpgsql":
            raise SettingError(
                f'setting "{name}" belongs to an extension that is not loaded',
                f'add "server.shared_preload_libraries" = "{prefix}"',
            )


def check(runner: Runner, bindir: Path, directory: Path, settings: Mapping[str, str]) -> None:
    """Raise for the first setting that is private, unknown, or has a value that PostgreSQL refuses."""
    for name in settings:
        require_name(name)
    require_libraries(settings)
    for name in list(settings)[:1]:  # one question checks all values at once
        ask(runner, bindir, directory, settings, name)


@dataclass(frozen=True)
class Setting:
    """A row of pg_settings: the value in base units, its unit (None for none), its type, where it came from."""

    name: str
    value: str
    unit: str | None
    kind: str
    source: str
    context: str


def in_base_unit(typed: str, unit: str | None) -> float | None:
    """The number of base units that `typed` stands for; None if it is no quantity of this kind."""
    quantity = split_quantity(typed)
    if quantity is None:
        return None
    number, given = quantity
    if not given:
        return number
    base = re.fullmatch(r"(\d*)([A-Za-z]+)", unit or "")
    if not base:
        return None
    table: Mapping[str, float] = BYTES_PER_UNIT if base[2] in BYTES_PER_UNIT else MS_PER_UNIT
    if given not in table:
        return None
    smaller = [size for size in table.values() if size < table[given]]
    step = max(smaller, default=0.0)
    amount = number * table[given]
    if step:
        amount = round(amount / step) * step
    return amount / (int(base[1] or 1) * table[base[2]])


def same(typed: str, setting: Setting) -> bool:
    """Does the server's value mean what was typed? Enumerations may have aliases that this cannot know."""
    if setting.kind == "bool":
        try:
            return parse_boolean(typed) == parse_boolean(setting.value)
        except UsageError:
            return False
    if setting.kind in ("integer", "real"):
        amount = in_base_unit(typed, setting.unit)
        if amount is None:
            return False
        found = float(setting.value)
        if setting.kind == "integer":
            return round(amount) == found
        return abs(amount - found) <= 1e-5 * max(abs(amount), abs(found))  # pg_settings prints six digits.
    if setting.kind == "enum":
        one, other = (canonical(each) if each.strip().isalpha() else each for each in (typed, setting.value))
        return typed.strip().lower() == setting.value.lower() or one == other
    return typed == setting.value


ALWAYS_SHOWN = (
    "block_size", "wal_block_size", "wal_segment_size", "data_checksums", "server_version", "shared_buffers",
    "wal_buffers", "effective_cache_size", "temp_buffers", "checkpoint_flush_after", "bgwriter_flush_after",
    "backend_flush_after", "wal_writer_flush_after", "bgwriter_lru_maxpages", "vacuum_cost_limit", "fsync",
    "full_page_writes", "synchronous_commit", "wal_compression", "io_method", "huge_pages", "huge_pages_status",
)  # fmt: skip

_IN_BLOCKS = "^[0-9]+kB$"
"""The unit of what is counted in pages or WAL blocks: 8kB, 2kB; never kB alone (guc.c, get_config_unit_name). These are
always shown, because their defaults mean something else under another page size."""

_BY_INITDB = (
    "DateStyle", "TimeZone", "log_timezone", "default_text_search_config", "dynamic_shared_memory_type", "lc_messages",
    "lc_monetary", "lc_numeric", "lc_time",
)  # fmt: skip
"""What initdb writes into every postgresql.conf from where it runs: no part of an experiment."""


def effective_setting(server: Server, name: str) -> Setting | None:
    rows = server.query(
        "SELECT name, setting, unit, vartype, source, context FROM pg_settings WHERE lower(name) = lower(%s)",
        [name],
    )
    return Setting(*rows[0]) if rows else None


def holds(server: Server, found: Setting, typed: str) -> bool:
    """Is `typed` in force? By its meaning; failing that (an alias, a list) by the file that the server took it from."""
    if same(typed, found):
        return True
    if versions.AUTOMATIC_SETTINGS.get(found.name) == typed.strip():
        return True  # It asks the server to choose, and the server has chosen.
    rows = server.query(
        "SELECT f.setting FROM pg_file_settings f JOIN pg_settings s USING (name, sourcefile, sourceline)"
        " WHERE lower(name) = lower(%s) AND f.applied AND f.error IS NULL AND NOT s.pending_restart"
        " AND sourcefile LIKE %s AND s.vartype IN ('enum', 'string')",
        [found.name, f"%/{FILE}"],
    )
    return rows == [(typed,)]


def shown(server: Server) -> dict[str, str]:
    """Every setting that differs from the built-in default, and those of `ALWAYS_SHOWN`, as SHOW prints them."""
    rows = server.query(
        "SELECT name, current_setting(name) FROM pg_settings"
        " WHERE (source NOT IN ('default', 'client', 'session') AND context <> 'internal'"
        " AND name !~ '^(transaction_|pgassay\\.)') OR name = ANY(%s) OR unit ~ %s"
        " ORDER BY name",
        [list(ALWAYS_SHOWN), _IN_BLOCKS],
    )
    found = {name: value for name, value in rows if name not in (*PRIVATE, *_BY_INITDB)}
    status = huge_pages_status(server)
    return found if status is None else found | {"huge_pages_status": status}


def huge_pages_status(server: Server) -> str | None:
    """`on` or `off`: as the server says from 17 on, else by the postmaster's memory map; None if it is closed."""
    if server.version.major >= versions.HUGE_PAGES_STATUS:
        try:
            status = str(server.query("SHOW huge_pages_status")[0][0])
        except QueryError:
            return None
        return status if status in ("on", "off") else None
    try:
        return status_of_map(Path(f"/proc/{server.postmaster_pid}/smaps").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None


def status_of_map(smaps: str) -> str:
    """Does any shared mapping of /proc/pid/smaps lie in pages larger than the base page?"""
    shared = False
    for line in smaps.split("\n"):
        if re.match(r"^[0-9a-f]+-[0-9a-f]+ ", line):
            shared = line.split(" ", 2)[1].endswith("s")
        elif shared and line.startswith("KernelPageSize:") and int(line.split()[1]) >= 1024:
            return "on"
    return "off"


_KINDS = {"BOOLEAN": "bool", "INTEGER": "integer", "REAL": "real", "ENUM": "enum", "STRING": "string"}
_NUMBERS = ("integer", "real")
_OUTSIDE = re.compile(r"\S+?(?: (\S+))? is outside the valid range")
_BASE = re.compile(r"(\d*)([A-Za-z]+)")
_HUGE = 1e15


@dataclass(frozen=True)
class Described:
    """A setting as this PostgreSQL has it; `default` as a configuration file takes it, limits in base units."""

    name: str
    kind: str
    context: str
    default: str
    unit: str | None = None
    low: float | None = None
    high: float | None = None

    @property
    def apply(self) -> str:
        return "restart" if self.context == "postmaster" else "reload"

    @property
    def limits(self) -> str:
        if self.low is None or self.high is None:
            return ""
        return f"{in_words(self.low, self.unit)} to {in_words(self.high, self.unit)}"

    def within(self, value: str) -> bool:
        """Does a value lie within the limits? Words are the server's to judge."""
        if self.low is None or self.high is None:
            return True
        amount = in_base_unit(value, self.unit)
        return amount is not None and self.low <= amount <= self.high


def in_words(amount: float, unit: str | None) -> str:
    """So many base units, as a configuration file takes them: 16384 of `8kB` are `128MB`."""
    base = _BASE.fullmatch(unit or "")
    if base is None or amount <= 0:
        return format_number(amount) if abs(amount) < _HUGE else f"{amount:g}"
    if base[2] in BYTES_PER_UNIT:
        return format_bytes(int(amount * int(base[1] or 1) * BYTES_PER_UNIT[base[2]]))
    return f"{format_number(amount * int(base[1] or 1))}{base[2]}"


def describe(runner: Runner, account: Account, bindir: Path, names: Collection[str]) -> Mapping[str, Described]:
    """Those of these settings that this PostgreSQL describes; two short programs for each, and no server."""
    wanted = {each.lower(): each for each in names}
    if not wanted:
        return {}
    outcome = runner.run([str(bindir / "postgres"), "--describe-config"], timeout_s=_TIMEOUT_S)
    rows = [line.split("\t") for line in outcome.stdout.splitlines() if line.count("\t") >= 6]
    found = {}
    with ownership.empty_configuration(account) as scratch:
        for name, context, _, kind, default, *limits in rows:
            if name.lower() not in wanted:
                continue
            kind = _KINDS.get(kind, kind)
            if kind != "string":
                with suppress(SettingError):
                    default = ask(runner, bindir, scratch, {}, name)
            unit = low = high = None
            if kind in _NUMBERS:
                low, high = float(limits[0]), float(limits[1])
                # A value below the least one makes PostgreSQL name the unit; it names none where there is none.
                below = f"{low - 1:.0f}" if kind == "integer" else repr(low - 1)
                options = as_options({name: below})
                command = [str(bindir / "postgres"), "-D", str(scratch), *options, "-C", name]
                outside = _OUTSIDE.search(runner.run(command, timeout_s=_TIMEOUT_S).stderr)
                unit = outside[1] if outside else None
                default = in_words(float(default), unit)
            found[wanted[name.lower()]] = Described(name, kind, context.lower(), default, unit, low, high)
    return found


_NOT_DEFAULT = """
SELECT name, current_setting(name) FROM pg_settings
 WHERE source NOT IN ('default', 'override', 'client', 'session')
   AND setting IS DISTINCT FROM boot_val AND context <> 'internal'
 ORDER BY category, name
"""
_PREFIXES_OF_ITS_PLACE = (
    "ssl",
    "archive_",
    "log_",
    "lc_",
    "krb_",
    "primary_",
    "recovery_",
    "restore_",
    "unix_socket_",
    "syslog_",
)
_OF_ITS_PLACE = (
    "listen_addresses", "port", "data_directory", "config_file", "hba_file", "ident_file", "external_pid_file",
    "logging_collector", "cluster_name", "timezone", "datestyle", "intervalstyle", "default_text_search_config",
    "dynamic_library_path", "stats_temp_directory", "event_source", "hot_standby", "max_wal_senders", "wal_log_hints",
    "synchronous_standby_names",
    "application_name", "client_encoding", "server_encoding", "password_encryption", "dynamic_shared_memory_type",
)  # fmt: skip


@dataclass(frozen=True)
class Inspected:
    """What a server says of itself: settings that a study can hold, and those that stay where they are."""

    version: str
    settings: dict[str, str]
    left_out: dict[str, str]


def belongs_to_place(name: str) -> bool:
    """Is it a setting of its server's own place, in any case of letters?"""
    return name.lower() in _OF_ITS_PLACE or name.lower().startswith(_PREFIXES_OF_ITS_PLACE)


def stays(name: str) -> bool:
    """Does this setting belong to its server's place, or to an extension that another server may lack?"""
    return belongs_to_place(name) or name.endswith("_preload_libraries") or "." in name


def inspect(conninfo: str) -> Inspected:
    """Read the settings of the server at `conninfo`; raises `ClusterError`.

    Those of that server's own place (paths, sockets, TLS, replication, logging, locale) mean nothing in a study: they
    are returned separately, so that a study file can say what was left out.
    """
    with read_only(conninfo) as connection:
        rows = connection.execute(_NOT_DEFAULT).fetchall()
        (version,) = connection.execute("SELECT current_setting('server_version')").fetchone() or ("unknown",)
    settings = {str(name): str(value) for name, value in rows}
    return Inspected(
        version=str(version),
        settings={name: value for name, value in settings.items() if not stays(name)},
        left_out={name: value for name, value in settings.items() if stays(name)},
    )


@contextmanager
def read_only(conninfo: str) -> Iterator["psycopg.Connection[tuple[Any, ...]]"]:
    """A session that changes nothing (a libpq string or URI; libpq's variables count); raises `ClusterError`."""
    import psycopg

    try:
        with psycopg.connect(conninfo, connect_timeout=10, application_name="pgassay") as connection:
            connection.read_only = True
            yield connection
    except psycopg.Error as error:
        raise ClusterError(
            f"could not read the server: {str(error).strip().splitlines()[0]}",
            "give a libpq connection string or URI, as for psql; nothing is changed there",
        ) from None


_CONF_LINE = re.compile(
    r"([A-Za-z_\x80-\U0010ffff][\w$.]*)(?:\s*=\s*|\s+|(?='))(?:'((?:[^'\\]|''|\\.)*)'|([^\s'#=]+))\s*(?:#.*)?"
)
_ESCAPE = re.compile(r"''|\\([0-7]{1,3}|.)")
_CONTROLS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_INCLUDE, _INCLUDE_IF_THERE, _INCLUDE_FOLDER = "include", "include_if_exists", "include_dir"
_DEPTH_MAX = 10
"""As PostgreSQL's CONF_FILE_MAX_DEPTH."""


@dataclass(frozen=True)
class Configuration:
    """Settings by their names in lower case, and the includes that are not there, as they are written."""

    settings: dict[str, str] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)


def read_conf(path: Path) -> Configuration:
    """The settings of `path` and of what it includes.

    Raises `UsageError` for a line that PostgreSQL would refuse, `OSError` for a file that cannot be read.
    """
    found = Configuration()
    _read_lines(path, untrusted.any_text(path), found, 0)
    return found


def _read_lines(path: Path, text: str, found: Configuration, depth: int) -> None:
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        parts = _CONF_LINE.fullmatch(stripped)
        if parts is None:
            raise UsageError(f'line {number} of "{path}" is not a setting: {stripped}', "lines are NAME = VALUE")
        name, value = parts[1].lower(), _unquoted(parts[2]) if parts[3] is None else parts[3]
        if name not in (_INCLUDE, _INCLUDE_IF_THERE, _INCLUDE_FOLDER):
            found.settings[name] = value
        elif depth == _DEPTH_MAX:
            raise UsageError(f'line {number} of "{path}": includes are nested more than {_DEPTH_MAX} deep')
        else:
            _include(name, path.parent / value, f"{name} '{value}'", found, depth + 1)


def _include(name: str, path: Path, written: str, found: Configuration, depth: int) -> None:
    """Read what an include names; note it where it is not there, unless it may be absent."""
    try:
        paths = [path]
        if name == _INCLUDE_FOLDER:  # "*.conf", hidden ones left out, in the order of the C locale
            paths = sorted(each for each in path.iterdir() if each.suffix == ".conf" and each.name[0] != ".")
        texts = [(each, untrusted.read_bytes(each).decode("utf-8", "surrogateescape")) for each in paths]
    except (FileNotFoundError, NotADirectoryError):
        if name != _INCLUDE_IF_THERE:
            found.absent.append(written)
        return
    for each, text in texts:
        _read_lines(each, text, found, depth)


def _unquoted(text: str) -> str:
    def meant(escape: re.Match[str]) -> str:
        code = escape[1]
        if code is None:
            return "'"
        return chr(int(code, 8) & 0xFF) if code.isdigit() and code < "8" else _CONTROLS.get(code, code)

    return _ESCAPE.sub(meant, text)
