"""A copied data directory made a cluster of ours: copied once more, freed of its place, recovered, marked.

What a server does by its place it must not do here: archive, follow a primary, listen, load libraries whose workers
reach out, subscribe, use the passwords of foreign servers. All of that is configuration or rows of the catalog, so both
are replaced before a server of ours accepts anybody. Recovery runs in single-user mode: no background process, no
client, and it needs no role whose name we would have to know (manual, "postgres", single-user mode). The source's roles
and their grants stay, but pg_hba.conf lets nobody in but our own role.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from pgassay import copying
from pgassay.files import Directory
from pgassay.interfaces.errors import ClusterError
from pgassay.interfaces.places import Account, Version
from pgassay.interfaces.running import Runner
from pgassay.postgres import copied, ownership, settings
from pgassay.postgres.complaints import complaint
from pgassay.postgres.copied import Control

ROLE = "pgassay"
"""Our superuser in a cluster that came from elsewhere."""
DATABASE = "postgres"
_SIGNALS = ("standby.signal", "recovery.signal", "recovery.conf", "recovery.done", "postmaster.opts", copied.PID_FILE)
_OURS = (ownership.MARKER_FILE, ownership.OWNER_FILE)
"""Where the source itself was a cluster of ours: it is another one."""
_LEFT_OUT = frozenset({*_SIGNALS, *_OURS, *copied.CONFIGURATION, settings.FILE, "tablespace_map"})
"""Our tablespaces are directories in their place; the map would have recovery link them to the source's."""
_EMPTIED = (
    "pg_replslot", "pg_dynshmem", "pg_notify", "pg_serial", "pg_snapshots", "pg_stat_tmp", "pg_subtrans", "log",
    "pg_log",
)  # fmt: skip
"""What pg_basebackup leaves out too, since a start makes it again (a slot would hold back WAL), and logs."""
_HBA = f"local all {ROLE} trust\nlocal all all reject\nhost all all all reject\n"
_IN_PLACE = "allow_in_place_tablespaces = on\n"
"""Else recovery ends at a tablespace that is a directory (CheckTablespaceDirectory in xlogrecovery.c)."""
_REACHED = "pgassay: adopted"
_SQL = (
    f"DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{ROLE}')"
    f" THEN CREATE ROLE {ROLE}; END IF; END $$",
    f"ALTER ROLE {ROLE} SUPERUSER LOGIN CONNECTION LIMIT -1 VALID UNTIL 'infinity'",
    "DELETE FROM pg_db_role_setting",
    "UPDATE pg_subscription SET subenabled = false",
    "DO $$ DECLARE e record; BEGIN FOR e IN SELECT evtname FROM pg_event_trigger WHERE evtenabled <> 'D'"
    " LOOP EXECUTE format('ALTER EVENT TRIGGER %I DISABLE', e.evtname); END LOOP; END $$",
    "DO $$ DECLARE m record; BEGIN FOR m IN SELECT srvname, CASE WHEN umuser = 0 THEN 'PUBLIC' ELSE"
    " quote_ident(usename) END AS whom FROM pg_user_mappings LOOP"
    " EXECUTE format('DROP USER MAPPING FOR %s SERVER %I', m.whom, m.srvname); END LOOP; END $$",
    f"SELECT '{_REACHED}'",
)
"""One line each: in single-user mode a line is a statement. Roles' and databases' own settings would outdo a study's;
those of the captured database are in the study."""
_TABLESPACE_MADE = re.compile(r"rmgr: Tablespace\b.*\bCREATE\b")


@dataclass(frozen=True)
class Programs:
    bindir: Path
    version: Version
    runner: Runner
    account: Account


def adopt(programs: Programs, source: Path, directory: Path, database: str) -> Control:
    """Fill the empty `directory` from the copy `source`, which is only read; raises `ClusterError`.

    The caller marks it. What is returned was true of the copy.
    """
    found = examine(programs, source)
    # By reference where the file system can; for the servers' account alone, as a server demands.
    with Directory.open(source.resolve()) as original, Directory.open(directory) as copy:
        try:
            copying.copy_into(
                original,
                copy,
                share=True,
                owner=programs.account.owner,
                closed=True,
                skipped=_skipped(original),
                emptied=_EMPTIED,
            )
        except OSError as error:
            raise ClusterError(f'could not copy "{source}": {error!s}') from None
    with Directory.open(directory) as cluster:
        inside = ""
        if cluster.status(copied.TABLESPACES) is not None:
            with cluster.inner(copied.TABLESPACES) as tablespaces:
                inside = _IN_PLACE if tablespaces.names() else ""
        for name, text in (
            ("postgresql.conf", f"{inside}include '{settings.FILE}'\n"),
            (settings.FILE, settings.file_text({})),
            ("postgresql.auto.conf", ""),
            ("pg_hba.conf", _HBA),
            ("pg_ident.conf", ""),
        ):
            cluster.replace(name, text, programs.account.owner)
    if (directory / copied.LABEL).is_file():
        _require_no_new_tablespace(programs, directory)
    # Once, by ourselves alone; then its control file says that it was shut down.
    # As when data are loaded: what comes of it is synced when it is taken as a snapshot.
    given = {"max_prepared_transactions": str(found.prepared_max), "log_destination": "stderr", "fsync": "off"}
    words = [str(programs.bindir / "postgres"), "--single", "-D", str(directory), *settings.as_options(given), database]
    done = programs.runner.run(words, directory=Path("/"), input_text="\n".join(_SQL) + "\n")
    failed = re.search(r"^(\S+ ){0,4}(ERROR|FATAL|PANIC):", done.stderr, re.MULTILINE)
    if done.status or failed or _REACHED not in done.stdout:
        raise _not_recovered(*complaint(done.stderr))
    after = copied.read_control(directory, programs.bindir, programs.runner)
    if after.state not in copied.SHUT_DOWN:
        raise _not_recovered(f"it was left {after.state}", None)
    return found


def examine(programs: Programs, source: Path, *, links: bool = False) -> Control:
    """The copy's control file, once it is known that these programs can serve it, and that all of it can be copied.

    `links` of its WAL and tablespaces are for the caller to follow; a server of ours would write through them. Raises
    `ClusterError`, and `UntrustedError` for other links and for hard links to foreign files.
    """
    found = copied.read_control(source, programs.bindir, programs.runner)
    if found.major != programs.version.major:
        raise ClusterError(
            f'the files in "{source}" are of PostgreSQL {found.major}, and PostgreSQL '
            f"{programs.version.major} cannot read them",
            "a dump can be loaded by any version: pgassay capture --data dump",
        )
    with ownership.empty_configuration(programs.account) as scratch:
        built = {
            name: int(settings.ask(programs.runner, programs.bindir, scratch, {}, name))
            for name in ("block_size", "wal_block_size")
        }
    for what, theirs in (("block_size", found.block_bytes), ("wal_block_size", found.wal_block_bytes)):
        if built[what] != theirs:
            raise ClusterError(
                f'the files in "{source}" have a {what} of {theirs} bytes, and these programs '
                f"were built with {built[what]}",
                "name a PostgreSQL built alike with --pg-bindir, or capture the data with --data dump",
            )
    copied.require_not_served(source)
    copied.require_usable(source, found)
    leading = list(copied.outside(source))
    if leading and not links:
        raise ClusterError(
            f'"{leading[0]}" leads out of the copy',
            "pgassay capture --data backup:DIR makes a copy that holds its tablespaces",
        )
    with Directory.open(source.resolve()) as opened:
        followed = [str(each.relative_to(source)) for each in leading]
        emptied = () if links else _EMPTIED
        copying.require_copyable(opened, skipped=_skipped(opened), emptied=emptied, followed=followed)
    return found


def _skipped(source: Directory) -> frozenset[str]:
    return _LEFT_OUT | copied.needless(source)


def _require_no_new_tablespace(programs: Programs, directory: Path) -> None:
    """Raise `ClusterError` where recovery would make a tablespace at the source's path, which may be its own files."""
    program = programs.bindir / "pg_waldump"
    label = (directory / copied.LABEL).read_text(encoding="utf-8", errors="replace")
    start = re.search(r"^START WAL LOCATION: (\S+)", label, re.MULTILINE)
    line = re.search(r"^START TIMELINE: (\d+)", label, re.MULTILINE)
    words = [str(program), f"--path={directory / copied.WAL}", "--rmgr=Tablespace"]
    words += [f"--start={start[1]}"] if start else []
    words += [f"--timeline={line[1]}"] if line else []
    done = programs.runner.run(words)  # it ends with an error where the WAL ends
    if _TABLESPACE_MADE.search(done.stdout):
        raise ClusterError(
            f'a tablespace was created while the backup in "{directory}" was taken, and recovery would make it at the'
            " path of the source",
            "take the backup again",
        )


def _not_recovered(words: str, hint: str | None) -> ClusterError:
    asked = hint or "the copy may be incomplete; pg_verifybackup checks a base backup"
    if "incompatible with operating system" in words or "was initialized with LC_" in words:
        asked = "install the locale here (locale -a lists them), or capture the data with --data dump"
    return ClusterError(f"the copied data could not be recovered: {words}", asked)
