"""How a setting can be varied on a server that is not ours, by its context, and which ones never are.

`user` and `superuser` settings go with a database of ours (ALTER DATABASE … SET); `sighup` ones, and those that hold
for a whole session, go to the server by ALTER SYSTEM and a reload, and are put back. `postmaster` ones need a restart,
which is ours to make only by a command of the user's. See the manual, "pg_settings". What the user's own data depend on
is never touched.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pgassay.errors import UsageError
from pgassay.interfaces import versions
from pgassay.interfaces.errors import BenchError, NotSettableError, QueryError, SettingError
from pgassay.postgres.attached.facts import Facts, Sql
from pgassay.postgres.settings import PRIVATE, Setting, in_base_unit, require_name, same
from pgassay.study.units import parse_boolean, parse_whole

_SET_HINT = (
    "leave it out, or give the value that the server has; without --server a study varies every setting on clusters of"
    " its own"
)


class Scope(StrEnum):
    DATABASE = "database"
    SYSTEM = "system"
    RESTART = "restart"
    """As SYSTEM, and in force after a restart."""
    HELD = "held"
    """It has this value already, so nothing is set."""


NEVER: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "fsync",
            "full_page_writes",
            "zero_damaged_pages",
            "ignore_checksum_failure",
            "data_sync_retry",
            "track_commit_timestamp",
        ),
        "the data of everybody on that server depend on it",
    ),
    **dict.fromkeys(
        (
            "wal_keep_size",
            "max_slot_wal_keep_size",
            "idle_replication_slot_timeout",
            "synchronous_standby_names",
            "wal_level",
            "max_wal_senders",
            "max_replication_slots",
        ),
        "other servers depend on it",
    ),
    **dict.fromkeys(
        ("allow_alter_system", "default_transaction_read_only", "restart_after_crash", "session_replication_role"),
        "it could hinder putting the server back",
    ),
}
"""By name, with the reason."""
_NEVER_PREFIXES = ("ssl", "archive_", "restore_", "recovery_", "primary_", "krb_", "pg_hba", "password_", "hot_standby")
_OTHERS = "it is specific to that server"
_OF_CONNECTION = ("database", "database user", "client", "session")
"""Sources of values that hold where we are connected, and not in a new database."""
_SESSION = ("user", "superuser")
_RELOADED = ("sighup", "backend", "superuser-backend")

_ROW = """
SELECT name, setting, unit, vartype, source, context, min_val, max_val, enumvals
  FROM pg_settings WHERE lower(name) = lower(%s)
"""
_OF_ROLE = """
SELECT 1 FROM pg_db_role_setting s JOIN pg_roles r ON r.oid = s.setrole, unnest(s.setconfig) AS each
 WHERE r.rolname = current_user AND s.setdatabase = 0 AND lower(split_part(each, '=', 1)) = lower(%s)
"""
_MAY = "SELECT has_parameter_privilege(%s, %s)"
_ALTER_SYSTEM = "SELECT current_setting('allow_alter_system', true)"


@dataclass(frozen=True)
class Row:
    setting: Setting
    least: str | None
    most: str | None
    words: Sequence[str] | None


def row(sql: Sql, name: str) -> Row:
    """Raises `NotSettableError` for what the server does not know."""
    require_name(name)
    rows = sql.query(_ROW, [name])
    if not rows:
        raise NotSettableError(f'the server has no setting "{name}"', "SHOW ALL lists the settings", name)
    *own, least, most, words = rows[0]
    return Row(Setting(*own), least, most, words)


def scope_of(sql: Sql, facts: Facts, name: str, value: str, *, restarts: bool = False) -> Scope:
    """Where this value would be set; raises `SettingError` where it cannot be, with the reason.

    With `restarts` what is in force may be the level of the trial before: so it is set again, though it is the same.
    """
    found = row(sql, name)
    setting = found.setting
    outside = setting.source in ("command line", "environment variable")
    held = same(value, setting) and setting.source not in _OF_CONNECTION
    never = NEVER.get(setting.name) or (
        _OTHERS
        if (
            setting.name.lower() in PRIVATE
            or setting.name.startswith(_NEVER_PREFIXES)
            or setting.name.endswith("_preload_libraries")
        )
        else ""
    )
    restarts = restarts and setting.context == "postmaster" and not (never or outside)
    if held and not restarts:
        return Scope.HELD
    if never:
        raise SettingError(f"{setting.name} is not changed on a server that is not ours: {never}")
    if setting.context in _SESSION:
        if sql.query(_OF_ROLE, [setting.name]):
            raise SettingError(
                f'{setting.name} is set for role "{facts.role}" by ALTER ROLE, which goes before what a database sets'
            )
        try:
            sql.query("SELECT set_config(%s, %s, true)", [setting.name, value])  # for this one statement
        except QueryError as error:
            raise _refused(setting.name, value, error.message) from None
        return Scope.DATABASE
    if setting.context == "postmaster" and not (restarts or outside):
        raise SettingError(
            f"{setting.name} takes a restart, which is not ours to make (it is {shown(sql, setting.name)})",
            "leave it out, or say how the server is restarted: --restart-command",
        )
    if setting.context not in (*_RELOADED, "postmaster"):
        raise SettingError(f"{setting.name} cannot be changed at all (it is {shown(sql, setting.name)})")
    _require_value(found, value)
    require_system(sql, facts, setting.name)
    if outside:
        raise SettingError(f"{setting.name} is given on the server's command line, which goes before ALTER SYSTEM")
    return Scope.RESTART if restarts else Scope.SYSTEM


def shown(sql: Sql, name: str) -> str:
    return str(sql.query("SELECT current_setting(%s)", [name])[0][0])


def may_set_system(sql: Sql, facts: Facts, name: str) -> bool:
    """May our role use ALTER SYSTEM for this setting, and could we put it back?"""
    try:
        require_system(sql, facts, name)
    except SettingError:
        return False
    return True


def require_system(sql: Sql, facts: Facts, name: str) -> None:
    """Raise `SettingError` unless our role may change the setting for the server, and may see what it was before."""
    if sql.query(_ALTER_SYSTEM) == [("off",)]:
        raise SettingError(f"{name} takes ALTER SYSTEM, which allow_alter_system = off forbids")
    allowed = facts.superuser
    if not allowed and facts.version.major >= versions.PARAMETER_PRIVILEGES:
        allowed = sql.query(_MAY, [name, "ALTER SYSTEM"]) == [(True,)]
    if not allowed:
        raise SettingError(f'{name} takes ALTER SYSTEM, which role "{facts.role}" may not use for it')
    if not (facts.reloads and facts.reads_settings):
        raise SettingError(
            f'{name} could not be put back: role "{facts.role}" lacks pg_read_all_settings '
            "(pg_monitor) or pg_reload_conf()"
        )


def check(sql: Sql, facts: Facts, values: Mapping[str, str], *, restarts: bool = False) -> Mapping[str, Scope]:
    """The way of each setting; raises `SettingError` with the reason of every one that cannot be set."""
    scopes: dict[str, Scope] = {}
    failed: list[BenchError] = []
    for name, value in values.items():
        try:
            scopes[name] = scope_of(sql, facts, name, value, restarts=restarts)
        except NotSettableError:
            raise
        except SettingError as error:
            failed.append(error)
    if len(failed) == 1:
        raise SettingError(failed[0].message, failed[0].hint or _SET_HINT)
    if failed:
        raise SettingError("; ".join(each.message for each in failed), _SET_HINT)
    return scopes


_AS_ON_STANDBYS = ("max_connections", "max_worker_processes", "max_prepared_transactions", "max_locks_per_transaction")
"""See the manual, "Hot Standby", Administrator's Overview."""


def raised_above_standbys(sql: Sql, levels: Iterable[Mapping[str, str]]) -> Sequence[str]:
    """Settings with more in any of the levels than the server has, while standbys stream that may not have less."""
    if not sql.query("SELECT 1 FROM pg_stat_replication LIMIT 1"):
        return []
    most = dict.fromkeys(_AS_ON_STANDBYS, 0)
    for values in levels:
        given = {name.lower(): parse_whole(value) or 0 for name, value in values.items()}
        most = {name: max(least, given.get(name, 0)) for name, least in most.items()}
    return [name for name, value in most.items() if value > int(shown(sql, name))]


def _require_value(found: Row, value: str) -> None:
    """PostgreSQL checks a value of ALTER SYSTEM only when it is set, so what can be known is checked here."""
    setting = found.setting
    if setting.kind == "enum":
        if found.words is not None and value.strip().lower() not in [each.lower() for each in found.words]:
            raise _refused(setting.name, value, f"available values: {', '.join(found.words)}")
    elif setting.kind == "bool":
        try:
            parse_boolean(value)
        except UsageError as error:
            raise _refused(setting.name, value, str(error)) from None
    elif setting.kind in ("integer", "real"):
        amount = in_base_unit(value, setting.unit)
        if amount is None:
            raise _refused(setting.name, value, f"it is no {setting.kind} in {setting.unit or 'plain numbers'}")
        if not float(found.least or amount) <= round(amount, 6) <= float(found.most or amount):
            unit = f" {setting.unit}" if setting.unit else ""
            raise _refused(setting.name, value, f"outside {found.least} … {found.most}{unit}")


def _refused(name: str, value: str, detail: str) -> SettingError:
    return SettingError(f"the server refuses {name} = '{value}': {detail}")
