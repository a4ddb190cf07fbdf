"""Settings: are they known and accepted, how are they written to a file, and do two values mean the same?

`postgres -C` checks a value without a server; it needs no more than a directory with a configuration file. The manual,
"Setting Parameters", gives the file's quoting. Values are compared by the rules of PostgreSQL's own parser: a number
without a unit counts the setting's base unit (`pg_settings.unit`, which may be a block: `8kB`); a fraction is rounded
to the next smaller unit, then to a whole base unit (src/backend/utils/misc/guc.c, convert_to_base_unit).
"""

import re
import signal
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pgassay.bench.errors import BenchError, NotSettableError, SettingError, SpaceError
from pgassay.bench.running import Runner
from pgassay.errors import UsageError, did_you_mean
from pgassay.postgres.complaints import KILLED, complaint
from pgassay.study.scale_model import ModelSize
from pgassay.study.units import BYTES_PER_UNIT, MS_PER_UNIT, canonical, parse_boolean, split_quantity

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
_LIBRARIES = ("shared_preload_libraries", "session_preload_libraries", "local_preload_libraries")
_TIMEOUT_S = 60.0


def require_name(name: str) -> None:
    """Raise unless `name` has the form of a setting's name and is free to be set."""
    if not _NAME.fullmatch(name):
        raise _bad_setting_name(name)
    if name.lower() in PRIVATE:
        raise UsageError(f'setting "{name}" cannot be a factor', "pgassay sets it to keep its clusters private")


def quoted(name: str, value: str) -> str:
    """The value as a configuration file takes it."""
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


def as_options(settings: Mapping[str, str]) -> list[str]:
    """Settings as `-c name=value` words for `postgres`."""
    return [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]


def ask(runner: Runner, bindir: Path, directory: Path, settings: Mapping[str, str], name: str) -> str:
    """What `postgres -C name` says under these settings; raises `SettingError` in the server's words.

    `directory` is a data directory, or any directory of the servers' account with an empty postgresql.conf.
    """
    for each in (*settings, name):
        if not _NAME.fullmatch(each):
            raise _bad_setting_name(each)
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
        raise _unknown_setting(unknown[1], names(runner, bindir))
    blamed = next((each for each in settings if f'"{each}"' in words), name)
    raise _refused_setting(blamed, settings.get(blamed, ""), words, hint)


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
    for name in _asked(settings):
        ask(runner, bindir, directory, settings, name)


def _asked(settings: Mapping[str, str]) -> Iterable[str]:
    """One question checks all values at once; an empty mapping needs none."""
    return list(settings)[:1]


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
        return typed.strip().lower() == setting.value.lower() or _word(typed) == _word(setting.value)
    return typed == setting.value


def _word(text: str) -> str:
    """A boolean word as on or off, anything else as it stands."""
    return canonical(text) if text.strip().isalpha() else text


def _bad_setting_name(name: str) -> SettingError:
    """A text without the form of a setting's name."""
    return SettingError(f'"{name}" is not the name of a setting')


def _unknown_setting(name: str, known: Iterable[str]) -> NotSettableError:
    """This PostgreSQL has no such setting."""
    hint = did_you_mean(name, known, "SHOW ALL lists the settings of this version")
    return NotSettableError(f'PostgreSQL has no setting "{name}"', hint, name)


def _refused_setting(name: str, value: str, words: str, hint: str | None) -> SettingError:
    """The server's own words about a value, with its own hint if it gives one."""
    text = f"PostgreSQL refuses {name} = '{value}': {words}"
    if words.endswith("cannot be changed"):
        return NotSettableError(text, "settings of the context internal in pg_settings are fixed", name)
    asked = hint or f"pg_settings has the accepted values: SELECT * FROM pg_settings WHERE name = '{name}'"
    return SettingError(text, asked)
