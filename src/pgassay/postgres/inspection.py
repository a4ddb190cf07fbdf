"""An existing server's non-default settings, read for `pgassay init`; the session is read-only and changes nothing.

Settings of that server's own place (paths, sockets, TLS, replication, logging, locale) mean nothing in a study: they
are returned separately, so that a study file can say what was left out.
"""

from dataclasses import dataclass

from pgassay.bench.errors import ClusterError

_QUERY = """
SELECT name, current_setting(name) FROM pg_settings
 WHERE source NOT IN ('default', 'override', 'client', 'session')
   AND setting IS DISTINCT FROM boot_val AND context <> 'internal'
 ORDER BY category, name
"""
_PREFIXES = (
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
    return name.lower() in _OF_ITS_PLACE or name.lower().startswith(_PREFIXES)


def stays(name: str) -> bool:
    """Does this setting belong to its server's place, or to an extension that another server may lack?"""
    return belongs_to_place(name) or name.endswith("_preload_libraries") or "." in name


def inspect(conninfo: str) -> Inspected:
    """Read the server at `conninfo` (a libpq string or URI; libpq's variables count); raises `ClusterError`."""
    import psycopg

    try:
        with psycopg.connect(conninfo, connect_timeout=10, application_name="pgassay") as connection:
            connection.read_only = True
            rows = connection.execute(_QUERY).fetchall()
            (version,) = connection.execute("SELECT current_setting('server_version')").fetchone() or ("unknown",)
    except psycopg.Error as error:
        raise unreachable_server(str(error).strip().splitlines()[0]) from None
    settings = {str(name): str(value) for name, value in rows}
    return Inspected(
        version=str(version),
        settings={name: value for name, value in settings.items() if not stays(name)},
        left_out={name: value for name, value in settings.items() if stays(name)},
    )


def unreachable_server(detail: str) -> ClusterError:
    return ClusterError(
        f"could not read the server: {detail}",
        "give a libpq connection string or URI, as for psql; nothing is changed there",
    )
