"""Every message of the postgres room that a user may see: lower case, no full stop, with a hint where one helps.

`complaint` picks the sentence that names the cause out of a program's output. Server lines are `[prefix] LEVEL:  text`,
followed by `DETAIL:` and `HINT:` lines (manual, "Error Reporting and Logging").
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from pgassay.bench.errors import BenchError, ClusterError, NotSettableError, QueryError, SettingError, StartTimeoutError
from pgassay.errors import UsageError, did_you_mean
from pgassay.extras import install_command

SUPPORTED = "PostgreSQL 13 to 18"

NO_SUCH_SETTING = "there is no such setting"
"""What a server is taken to say of a setting that it does not know."""


def not_postgres(bindir: Path, missing: Iterable[str]) -> UsageError:
    """A directory without the programs."""
    return UsageError(
        f'"{bindir}" is not a PostgreSQL bin directory: it has no {", ".join(missing)}',
        "give the directory that holds postgres, initdb and pgbench, such as /usr/lib/postgresql/17/bin",
    )


def not_runnable(bindir: Path, detail: str) -> UsageError:
    """The programs exist, but do not run."""
    return UsageError(
        f'the PostgreSQL in "{bindir}" does not run: {detail}',
        "its directories must be open to the account that servers run under",
    )


def unsupported_version(bindir: Path, version: str) -> UsageError:
    """Older or newer than what we know."""
    return UsageError(f'"{bindir}" is PostgreSQL {version}, which is not supported', f"supported are {SUPPORTED}")


def embedded_not_copied(package: Path, copy: Path, detail: str) -> UsageError:
    """Servers cannot reach the embedded wheel, nor can it be copied to where they could."""
    return UsageError(
        f'the embedded PostgreSQL in "{package}" is out of reach for the account of servers, and cannot be copied to'
        f' "{copy}": {detail}',
        "install pgassay where other accounts may read, or name another place with PGASSAY_DATA_DIR",
    )


def none_found(looked: Iterable[str], passed_over: Iterable[str] = ()) -> UsageError:
    """No PostgreSQL on this machine that could serve; `passed_over` says why others could not."""
    why = tuple(passed_over)
    if why:
        return UsageError(
            f"no PostgreSQL that could serve was found on this machine: {'; '.join(why)}",
            "open its directories to the account that servers run under, or name another with --pg-bindir",
        )
    return UsageError(
        "no PostgreSQL with initdb and pgbench was found on this machine",
        f"install one (Debian: postgresql; others: postgresql-server and -contrib), "
        f"or a private one: {install_command('embedded')}; or name it with --pg-bindir; looked in {', '.join(looked)}",
    )


def version_not_found(requested: str, found: Iterable[str]) -> UsageError:
    """`postgres.version` asks for what is not here."""
    return UsageError(
        f"PostgreSQL {requested} was not found on this machine",
        f"found: {', '.join(found) or 'none'}; name another with --pg-bindir",
    )


def bad_version(text: str) -> UsageError:
    """A level of `postgres.version` that is none."""
    return UsageError(f'"{text}" is not a PostgreSQL version', "give a major version such as 17, or an exact one: 17.5")


def not_empty(directory: Path) -> ClusterError:
    """initdb would refuse it; so do we, before it runs."""
    return ClusterError(f'directory "{directory}" is not empty', "clusters are only made in empty directories of ours")


def foreign_cluster(directory: Path) -> ClusterError:
    """A directory without our marker, which is never touched."""
    return ClusterError(
        f'directory "{directory}" was not made by pgassay, and is left alone',
        "only clusters with our marker file are started or stopped",
    )


def bad_marker(path: Path, detail: str) -> ClusterError:
    """A marker that cannot be read."""
    return ClusterError(f'marker file "{path}" cannot be read: {detail}', "the cluster is left alone")


def unknown_init_option(name: str, known: Iterable[str]) -> UsageError:
    """An option that initdb does not have here."""
    return UsageError(f'unknown initdb option "init.{name}"', f"known are: {', '.join(known)}")


def bad_init_option(name: str, value: str, expected: str) -> UsageError:
    """A value that initdb would refuse."""
    return UsageError(f'"init.{name}" cannot be "{value}"', f"it takes {expected}")


def initdb_failed(directory: Path, words: str) -> ClusterError:
    """initdb ended with an error; `words` are its own."""
    return ClusterError(f'initdb could not create a cluster in "{directory}": {words}')


def version_mismatch(directory: Path, found: str, major: int) -> ClusterError:
    """The cluster belongs to another major version."""
    return ClusterError(f'cluster "{directory}" was made by PostgreSQL {found}, these programs are {major}')


def socket_path_too_long(path: Path, limit: int) -> ClusterError:
    """A socket's path has at most 107 bytes (sun_path)."""
    return ClusterError(
        f'socket path "{path}" is {len(str(path).encode())} bytes long, the system allows {limit}',
        "choose a shorter directory",
    )


def socket_directory_open(path: Path, mode: int) -> ClusterError:
    """Our servers trust every account that reaches the socket."""
    return ClusterError(
        f'socket directory "{path}" is open to others (mode {mode:04o})', "it must be ours alone (mode 0700)"
    )


def already_running(directory: Path, pid: int) -> ClusterError:
    """Another postmaster serves this cluster."""
    return ClusterError(f'cluster "{directory}" is already served by process {pid}')


KILLED = "was killed, by another program or by the kernel for want of memory (signal 9)"


def not_started(words: str) -> ClusterError:
    """The server ended while starting, in its own words."""
    return ClusterError(f"server did not start: {words}")


def start_timeout(seconds: float, words: str) -> StartTimeoutError:
    """It is not ready in time, and has not ended."""
    return StartTimeoutError(f"server was not ready after {seconds:.0f} s; its last message: {words}")


def query_failed(sql: str, words: str, hint: str | None) -> QueryError:
    """The server's own words about a statement."""
    line = " ".join(sql.split())
    shown = line if len(line) <= 80 else f"{line[:77]}..."
    return QueryError(f'"{shown}" failed: {words}', hint)


def no_connection(words: str) -> QueryError:
    """The server is not reached."""
    return QueryError(f"could not connect to the server: {words}")


def private_setting(name: str) -> UsageError:
    """What keeps our clusters private is not for the study to change."""
    return UsageError(f'setting "{name}" cannot be a factor', "pgassay sets it to keep its clusters private")


def bad_setting_name(name: str) -> SettingError:
    """A text without the form of a setting's name."""
    return SettingError(f'"{name}" is not the name of a setting')


def unknown_setting(name: str, known: Iterable[str]) -> NotSettableError:
    """This PostgreSQL has no such setting."""
    hint = did_you_mean(name, known, "SHOW ALL lists the settings of this version")
    return NotSettableError(f'PostgreSQL has no setting "{name}"', hint, name)


def only_inserted(name: str, tables: Sequence[str]) -> str:
    """Tables to which a fillfactor gives room that no update uses."""
    return (
        f"{name} was also set on {', '.join(tables)}, whose rows this load does not update: leave it at 100 there,"
        " since room for updates that never come makes a table larger for nothing"
    )


def library_not_loaded(name: str, library: str) -> SettingError:
    """A setting of an extension whose library is not loaded."""
    return SettingError(
        f'setting "{name}" belongs to an extension that is not loaded',
        f'add "server.shared_preload_libraries" = "{library}"',
    )


def refused_setting(name: str, value: str, words: str, hint: str | None) -> SettingError:
    """The server's own words about a value, with its own hint if it gives one."""
    text = f"PostgreSQL refuses {name} = '{value}': {words}"
    if words.endswith("cannot be changed"):
        return NotSettableError(text, "settings of the context internal in pg_settings are fixed", name)
    asked = hint or f"pg_settings has the accepted values: SELECT * FROM pg_settings WHERE name = '{name}'"
    return SettingError(text, asked)


def unwritable_value(name: str) -> SettingError:
    """A value that a configuration file cannot hold."""
    return SettingError(f'the value of setting "{name}" contains a line break or a null byte')


def not_in_range(name: str, value: str, low: int, high: int) -> UsageError:
    """A whole number outside its range."""
    return UsageError(f'"{name}" cannot be "{value}"', f"it takes a whole number from {low} to {high}")


def no_such_table(name: str, tables: Iterable[str]) -> UsageError:
    """`table.NAME.fillfactor` for a table that the load does not make."""
    return UsageError(f'the load has no table "{name}"', f"its tables are: {', '.join(tables) or 'none'}")


def no_schema_change(name: str) -> UsageError:
    """A level of `schema.change` without a statement."""
    return UsageError(f'"{name}" wants SQL, or none', 'for example "CREATE INDEX ON orders (customer_id)"')


def unreachable_server(detail: str) -> ClusterError:
    """`pgassay init` could not read a server."""
    return ClusterError(
        f"could not read the server: {detail}",
        "give a libpq connection string or URI, as for psql; nothing is changed there",
    )


def not_a_cluster(directory: Path) -> ClusterError:
    """`pgassay compressibility` was given another directory."""
    return ClusterError(
        f'"{directory}" is not the data directory of a PostgreSQL cluster',
        "it has the file PG_VERSION and the folder base; SHOW data_directory says where it is",
    )


def unreadable_cluster(path: Path) -> ClusterError:
    """The account may not read it."""
    return ClusterError(f'no permission to read "{path}"', "run as root, or as the account that the server runs under")


def server_elsewhere(directory: Path) -> ClusterError:
    """The server's files are on another machine."""
    return ClusterError(
        f'the server\'s data directory "{directory}" is not on this machine',
        "run this where the server runs; its files are read directly",
    )


def no_data_directory(directory: Path, why: str) -> ClusterError:
    """A copy that is incomplete, or no data directory at all."""
    return ClusterError(
        f'"{directory}" is not a whole data directory: {why}',
        "a base backup has PG_VERSION, global/pg_control and backup_label; one in tar files must be unpacked first",
    )


def unreadable_directory(directory: Path) -> ClusterError:
    """The account may not read it."""
    return ClusterError(f'no permission to read "{directory}"', "run as root, or as the account that owns the copy")


def directory_in_use(directory: Path, pid: int) -> ClusterError:
    """A server runs on what was named as a copy."""
    return ClusterError(
        f'"{directory}" is in use by a running server (process {pid})',
        "a copy of its files now would be torn: capture it with --data basebackup, or stop the server first",
    )


def torn_copy(directory: Path, state: str) -> ClusterError:
    """Copied while its server ran, without a label."""
    return ClusterError(
        f'"{directory}" was copied while its server ran, or after a crash: it is "{state}", and has no backup_label',
        "its pages may be of different moments; take a base backup, or a copy of a server that was shut down",
    )


def missing_wal(directory: Path, files: Sequence[str]) -> ClusterError:
    """A base backup without the WAL that makes it whole."""
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    return ClusterError(
        f'"{directory}" has not the WAL that recovery needs: pg_wal/{files[0]}{more} is missing',
        "take it with WAL (pg_basebackup --wal-method=stream, pgBackRest archive-copy=y, barman recover), or copy the"
        " files from the archive into its pg_wal",
    )


def leads_outside(link: Path) -> ClusterError:
    """A link out of the copy, which a server of ours would write through."""
    return ClusterError(
        f'"{link}" leads out of the copy', "pgassay capture --data backup:DIR makes a copy that holds its tablespaces"
    )


def other_major(directory: Path, found: int, major: int) -> ClusterError:
    """Files of one major version cannot be read by another."""
    return ClusterError(
        f'the files in "{directory}" are of PostgreSQL {found}, and PostgreSQL {major} cannot read them',
        "a dump can be loaded by any version: pgassay capture --data dump",
    )


def other_build(directory: Path, what: str, theirs: int, ours: int) -> ClusterError:
    """Compiled with another size of pages."""
    return ClusterError(
        f'the files in "{directory}" have a {what} of {theirs} bytes, and these programs were built with {ours}',
        "name a PostgreSQL built alike with --pg-bindir, or capture the data with --data dump",
    )


def not_copied(directory: Path, words: str) -> ClusterError:
    """cp failed."""
    return ClusterError(f'could not copy "{directory}": {words}')


def tablespace_in_wal(directory: Path) -> ClusterError:
    """A tablespace was created during the backup."""
    return ClusterError(
        f'a tablespace was created while the backup in "{directory}" was taken, and recovery would make it at the'
        " path of the source",
        "take the backup again",
    )


def not_recovered(words: str, hint: str | None) -> ClusterError:
    """The private server could not make a copy whole."""
    asked = hint or "the copy may be incomplete; pg_verifybackup checks a base backup"
    if "incompatible with operating system" in words or "was initialized with LC_" in words:
        asked = "install the locale here (locale -a lists them), or capture the data with --data dump"
    return ClusterError(f"the copied data could not be recovered: {words}", asked)


def nothing_to_copy(directory: Path) -> UsageError:
    """No data directory at this path."""
    return UsageError(
        f'"init.copy_of" cannot be "{directory}": it is no data directory',
        "a base backup, unpacked, has the file PG_VERSION",
    )


def fixed_by_copy(name: str) -> UsageError:
    """An option of initdb, or other data, for a cluster that is copied."""
    return UsageError(
        f'"{name}" cannot be asked of a cluster that is a copy ("init.copy_of"): it is as its source has it',
        "data that were captured with --data dump are loaded into a new cluster, where it can be varied",
    )


def no_certificate(said: str) -> BenchError:
    """What openssl said, or that it is missing."""
    return BenchError(f"could not make the certificate of a server: {said}", "it takes the program openssl")


def no_port(place: str, reason: str) -> BenchError:
    """An address that is not ours, or ports that other programs have."""
    return BenchError(f"could not listen on {place}: {reason}")


_LINE = re.compile(r"^(?:.*?\s)?(PANIC|FATAL|ERROR|LOG|error|fatal|HINT|DETAIL|hint|detail):\s+(.*)$")
_VAGUE = re.compile(r'configuration file ".*" contains errors')
_SEVERE = ("panic", "fatal", "error")


def complaint(text: str) -> tuple[str, str | None]:
    """The first fatal or error sentence with its detail in brackets, and the hint; the last line if there is none.

    What is wrong in a configuration file stands in the LOG line before the fatal one. A line that begins with a blank
    goes on from the one before it: libpq asks there whether the server is running, once it has said why it asks.
    """
    sentence, detail, hint, logged = "", "", None, ""
    for line in text.splitlines():
        found = _LINE.match(line)
        if not found:
            continue
        level, words = found[1].lower(), found[2].strip()
        if level in _SEVERE:
            if sentence:
                break
            sentence = logged if _VAGUE.fullmatch(words) and logged else words
        elif level == "log":
            logged = words
        elif sentence and level == "detail":
            detail = words
        elif sentence and level == "hint":
            hint = words
    if not sentence:
        lines = [line for line in text.splitlines() if line.strip()]
        told = [line for line in lines if not line[0].isspace()] or lines
        return (told[-1].strip() if told else "it printed nothing"), None
    return (f"{sentence} ({detail.rstrip('.')})" if detail else sentence), _as_hint(hint)


def _as_hint(hint: str | None) -> str | None:
    """In our manner: no capital at the start, no full stop at the end."""
    if not hint:
        return None
    start = hint[:1].lower() + hint[1:] if hint[1:2].islower() or hint[1:2] == " " else hint
    return start.rstrip(".")
