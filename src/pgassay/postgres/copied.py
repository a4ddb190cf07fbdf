"""A data directory that was copied: can a server of ours begin from it, which state is it, and a cluster made of it.

The directory may be somebody else's, so nothing is started or written there: `adopt` copies it once more, frees it of
its place, recovers and marks it. What a server does by its place it must not do here: archive, follow a primary,
listen, load libraries whose workers reach out, subscribe, use the passwords of foreign servers. All of that is
configuration or rows of the catalog, so both are replaced before a server of ours accepts anybody. Recovery runs in
single-user mode: no background process, no client, and it needs no role whose name we would have to know (manual,
"postgres", single-user mode). The source's roles and their grants stay, but pg_hba.conf lets nobody in but our own.

A copy is usable if its server was shut
down, or if it is a base backup: `backup_label` says where recovery begins, and the WAL from there on has come along
(manual, "Continuous Archiving"). A copy of a running server without a label may hold pages of different moments, which
no recovery would mend, so it is refused. pg_controldata says whose it is, with which options that are compiled in, and
how it was left.
"""

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pgassay import copying, scratch
from pgassay.errors import UsageError
from pgassay.files import Directory
from pgassay.interfaces.errors import ClusterError
from pgassay.interfaces.running import Runner
from pgassay.postgres import ownership, processes, settings
from pgassay.postgres.complaints import complaint

if TYPE_CHECKING:
    from pgassay.postgres.installation import LocalInstallation

SHUT_DOWN = ("shut down", "shut down in recovery")
"""States of a cluster whose files are whole by themselves."""
_FILE = "global/pg_control"


@dataclass(frozen=True)
class Control:
    """A cluster's control file, and its major version: sizes in bytes."""

    major: int
    system_identifier: str
    state: str
    checkpoint_at: str
    """When the last checkpoint began, as the program prints it."""
    redo_file: str
    """The first WAL file that recovery would need."""
    block_bytes: int
    wal_block_bytes: int
    wal_segment_bytes: int
    checksums: bool
    prepared_max: int
    """max_prepared_transactions of the server that wrote it: recovery needs as many."""


_FIELDS: Mapping[str, str] = {
    "system_identifier": "Database system identifier",
    "state": "Database cluster state",
    "checkpoint_at": "Time of latest checkpoint",
    "redo_file": "Latest checkpoint's REDO WAL file",
    "block_bytes": "Database block size",
    "wal_block_bytes": "WAL block size",
    "wal_segment_bytes": "Bytes per WAL segment",
    "checksums": "Data page checksum version",
    "prepared_max": "max_prepared_xacts setting",
}


def parse_control(major: int, text: str) -> Control:
    """From what the program prints; raises `KeyError` where a line is missing, `ValueError` for what is no number."""
    found = dict(re.findall(r"^([^:\n]+):[ \t]+(.*)$", text, re.MULTILINE))
    word = {name: found[label].strip() for name, label in _FIELDS.items()}
    return Control(
        major=major,
        system_identifier=word["system_identifier"],
        state=word["state"],
        checkpoint_at=word["checkpoint_at"],
        redo_file=word["redo_file"],
        block_bytes=int(word["block_bytes"]),
        wal_block_bytes=int(word["wal_block_bytes"]),
        wal_segment_bytes=int(word["wal_segment_bytes"]),
        checksums=word["checksums"] != "0",
        prepared_max=int(word["prepared_max"]),
    )


def major_of(directory: Path) -> int:
    try:
        return int((directory / "PG_VERSION").read_text(encoding="utf-8").strip())
    except PermissionError:
        raise unreadable_directory(directory) from None
    except (OSError, ValueError):
        raise no_data_directory(directory, "it has no PG_VERSION") from None


def read_control(directory: Path, bindir: Path, runner: Runner) -> Control:
    """By the program in `bindir`, of the directory's own major version; raises `ClusterError`."""
    major = major_of(directory)
    try:
        with Directory.open(directory.resolve()) as opened:
            contents = opened.read(_FILE)
    except (FileNotFoundError, NotADirectoryError):
        raise no_data_directory(directory, f"it has no {_FILE}") from None
    except PermissionError:
        raise unreadable_directory(directory) from None
    # A copy: the program's account may own the directory, and is given no file that a link of its own leads to.
    with scratch.folder("control") as copy:
        (copy / _FILE).parent.mkdir()
        (copy / _FILE).write_bytes(contents)  # ours: a folder that is closed to others
        done = runner.run([str(bindir / "pg_controldata"), str(copy)], files=(copy / _FILE,))
    if done.status or "CRC checksum does not match" in done.stdout:
        said = complaint(done.stderr or done.stdout)[0]
        raise no_data_directory(directory, said.replace(str(copy), str(directory)))
    try:
        return parse_control(major, done.stdout)
    except (KeyError, ValueError) as error:
        raise no_data_directory(directory, f"pg_controldata does not say {error}") from None


def no_data_directory(directory: Path, why: str) -> ClusterError:
    return ClusterError(
        f'"{directory}" is not a whole data directory: {why}',
        "a base backup has PG_VERSION, global/pg_control and backup_label; one in tar files must be unpacked first",
    )


def unreadable_directory(directory: Path) -> ClusterError:
    return ClusterError(f'no permission to read "{directory}"', "run as root, or as the account that owns the copy")


LABEL, MANIFEST, PID_FILE = "backup_label", "backup_manifest", "postmaster.pid"
WAL, TABLESPACES = "pg_wal", "pg_tblspc"
CONFIGURATION = frozenset({"postgresql.conf", "postgresql.auto.conf", "pg_hba.conf", "pg_ident.conf"})
_MAP = "tablespace_map"
_START = re.compile(r"^START WAL LOCATION: \S+ \(file ([0-9A-F]{24})\)", re.MULTILINE)


def identity(directory: Path) -> str:
    """A short hash of which state this is: the control file's, and the label's of a base backup."""
    found = hashlib.sha256()
    for name in ("global/pg_control", LABEL):
        path = directory / name
        found.update(path.read_bytes() if path.is_file() else b"-")
    return found.hexdigest()[:24]


def require_there(directory: Path) -> None:
    """Raise `UsageError` where there is no data directory at all."""
    if not (directory / "PG_VERSION").is_file():
        raise UsageError(
            f'"init.copy_of" cannot be "{directory}": it is no data directory',
            "a base backup, unpacked, has the file PG_VERSION",
        )


def require_not_served(directory: Path) -> None:
    try:
        text = (directory / PID_FILE).read_text(encoding="utf-8")
    except FileNotFoundError:
        return
    except OSError:
        raise unreadable_directory(directory) from None
    word = text.split("\n", 1)[0].strip()
    pid = int(word) if word.isdecimal() else 0
    if processes.postmaster(directory) is not None or (os.geteuid() != 0 and processes.started_ticks(pid) is not None):
        raise ClusterError(
            f'"{directory}" is in use by a running server (process {pid})',
            "a copy of its files now would be torn: capture it with --data basebackup, or stop the server first",
        )


def require_usable(directory: Path, control: Control) -> None:
    """Raise `ClusterError` for a directory that no server of ours could begin from, with the reason."""
    label = directory / LABEL
    if not label.is_file():
        if control.state not in SHUT_DOWN:
            raise ClusterError(
                f'"{directory}" was copied while its server ran, or after a crash: it is "{control.state}", '
                "and has no backup_label",
                "its pages may be of different moments; take a base backup, or a copy of a server that was shut down",
            )
        _require_wal(directory, [control.redo_file])
        return
    start = _START.search(label.read_text(encoding="utf-8", errors="replace"))
    if start is None:
        raise no_data_directory(directory, f"its {LABEL} does not say where recovery begins")
    _require_wal(directory, [start[1], *_of_manifest(directory, control.wal_segment_bytes)])


def outside(directory: Path) -> Iterator[Path]:
    """The links that lead out of the directory, as a server makes them: its WAL, and each tablespace."""
    folder = directory / TABLESPACES
    tablespaces = sorted(folder.iterdir()) if folder.is_dir() else []
    yield from (each for each in (directory / WAL, *tablespaces) if each.is_symlink())


def needless(directory: Directory) -> frozenset[str]:
    """The links in the data directory itself that lead to nothing that belongs to the data.

    Administrators link the configuration, keys, certificates and logs. A copy goes without them.
    """
    data = {"base", "global", "PG_VERSION", LABEL, MANIFEST, _MAP}
    return frozenset(
        name
        for name in directory.names()
        if name not in data
        and (name in CONFIGURATION or not name.startswith("pg_"))
        and (facts := directory.status(name)) is not None
        and stat.S_ISLNK(facts.st_mode)
    )


def _require_wal(directory: Path, needed: list[str]) -> None:
    missing = [name for name in dict.fromkeys(needed) if not (directory / WAL / name).is_file()]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise ClusterError(
            f'"{directory}" has not the WAL that recovery needs: pg_wal/{missing[0]}{more} is missing',
            "take it with WAL (pg_basebackup --wal-method=stream, pgBackRest archive-copy=y, barman recover), or copy"
            " the files from the archive into its pg_wal",
        )


def _of_manifest(directory: Path, segment_bytes: int) -> Iterator[str]:
    """The WAL files that a base backup needs, where its manifest says so."""
    path = directory / MANIFEST
    if not path.is_file():
        return
    try:
        ranges = json.loads(path.read_text(encoding="utf-8")).get("WAL-Ranges", [])
        for each in ranges:
            first, last = (_position(each[name]) // segment_bytes for name in ("Start-LSN", "End-LSN"))
            # A backup may end where a file begins, of which nothing is needed.
            last -= _position(each["End-LSN"]) % segment_bytes == 0
            yield from (segment(each["Timeline"], number, segment_bytes) for number in range(first, last + 1))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise no_data_directory(directory, f"its {MANIFEST} is not whole: {error}") from None


def _position(text: str) -> int:
    high, low = text.split("/")
    return (int(high, 16) << 32) + int(low, 16)


def segment(timeline: int, number: int, segment_bytes: int) -> str:
    """The name of a WAL file (XLogFileName in xlog_internal.h)."""
    per_id = (1 << 32) // segment_bytes
    return f"{timeline:08X}{number // per_id:08X}{number % per_id:08X}"


ROLE = "pgassay"
"""Our superuser in a cluster that came from elsewhere."""
DATABASE = "postgres"
_SIGNALS = ("standby.signal", "recovery.signal", "recovery.conf", "recovery.done", "postmaster.opts", PID_FILE)
_OURS = (ownership.MARKER_FILE, ownership.OWNER_FILE)
"""Where the source itself was a cluster of ours: it is another one."""
_LEFT_OUT = frozenset({*_SIGNALS, *_OURS, *CONFIGURATION, settings.FILE, "tablespace_map"})
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


def adopt(installation: "LocalInstallation", source: Path, directory: Path, database: str) -> Control:
    """Fill the empty `directory` from the copy `source`, which is only read; raises `ClusterError`.

    The caller marks it. What is returned was true of the copy.
    """
    found = examine(installation, source)
    # By reference where the file system can; for the servers' account alone, as a server demands.
    with Directory.open(source.resolve()) as original, Directory.open(directory) as copy:
        try:
            copying.copy_into(
                original,
                copy,
                share=True,
                owner=installation.account.owner,
                closed=True,
                skipped=_skipped(original),
                emptied=_EMPTIED,
            )
        except OSError as error:
            raise ClusterError(f'could not copy "{source}": {error!s}') from None
    with Directory.open(directory) as cluster:
        inside = ""
        if cluster.status(TABLESPACES) is not None:
            with cluster.inner(TABLESPACES) as tablespaces:
                inside = _IN_PLACE if tablespaces.names() else ""
        for name, text in (
            ("postgresql.conf", f"{inside}include '{settings.FILE}'\n"),
            (settings.FILE, settings.file_text({})),
            ("postgresql.auto.conf", ""),
            ("pg_hba.conf", _HBA),
            ("pg_ident.conf", ""),
        ):
            cluster.replace(name, text, installation.account.owner)
    if (directory / LABEL).is_file():
        _require_no_new_tablespace(installation, directory)
    # Once, by ourselves alone; then its control file says that it was shut down.
    # As when data are loaded: what comes of it is synced when it is taken as a snapshot.
    given = {"max_prepared_transactions": str(found.prepared_max), "log_destination": "stderr", "fsync": "off"}
    program = str(installation.bindir / "postgres")
    words = [program, "--single", "-D", str(directory), *settings.as_options(given), database]
    done = installation.runner.run(words, directory=Path("/"), input_text="\n".join(_SQL) + "\n")
    failed = re.search(r"^(\S+ ){0,4}(ERROR|FATAL|PANIC):", done.stderr, re.MULTILINE)
    if done.status or failed or _REACHED not in done.stdout:
        raise _not_recovered(*complaint(done.stderr))
    after = read_control(directory, installation.bindir, installation.runner)
    if after.state not in SHUT_DOWN:
        raise _not_recovered(f"it was left {after.state}", None)
    return found


def examine(installation: "LocalInstallation", source: Path, *, links: bool = False) -> Control:
    """The copy's control file, once it is known that this installation can serve it, and that all of it can be copied.

    `links` of its WAL and tablespaces are for the caller to follow; a server of ours would write through them. Raises
    `ClusterError`, and `UntrustedError` for other links and for hard links to foreign files.
    """
    found = read_control(source, installation.bindir, installation.runner)
    if found.major != installation.version.major:
        raise ClusterError(
            f'the files in "{source}" are of PostgreSQL {found.major}, and PostgreSQL '
            f"{installation.version.major} cannot read them",
            "a dump can be loaded by any version: pgassay capture --data dump",
        )
    with ownership.empty_configuration(installation.account) as scratch:
        built = {
            name: int(settings.ask(installation.runner, installation.bindir, scratch, {}, name))
            for name in ("block_size", "wal_block_size")
        }
    for what, theirs in (("block_size", found.block_bytes), ("wal_block_size", found.wal_block_bytes)):
        if built[what] != theirs:
            raise ClusterError(
                f'the files in "{source}" have a {what} of {theirs} bytes, and these programs '
                f"were built with {built[what]}",
                "name a PostgreSQL built alike with --pg-bindir, or capture the data with --data dump",
            )
    require_not_served(source)
    require_usable(source, found)
    leading = list(outside(source))
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
    return _LEFT_OUT | needless(source)


def _require_no_new_tablespace(installation: "LocalInstallation", directory: Path) -> None:
    """Raise `ClusterError` where recovery would make a tablespace at the source's path, which may be its own files."""
    program = installation.bindir / "pg_waldump"
    label = (directory / LABEL).read_text(encoding="utf-8", errors="replace")
    start = re.search(r"^START WAL LOCATION: (\S+)", label, re.MULTILINE)
    line = re.search(r"^START TIMELINE: (\d+)", label, re.MULTILINE)
    words = [str(program), f"--path={directory / WAL}", "--rmgr=Tablespace"]
    words += [f"--start={start[1]}"] if start else []
    words += [f"--timeline={line[1]}"] if line else []
    done = installation.runner.run(words)  # it ends with an error where the WAL ends
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
