"""What is said of data that are a server's files, in PostgreSQL's manner: lower case, no full stop, with a hint."""

from collections.abc import Iterable
from pathlib import Path

from pgassay.capture.messages import CaptureError, hint_for
from pgassay.errors import UsageError
from pgassay.study.units import format_size


def bad_command(text: str, why: str) -> UsageError:
    """A restore command that cannot be run."""
    return UsageError(
        f'--restore-command "{text}" cannot be run: {why}',
        "it is a program with its words, not a shell's: --restore-command \"pgbackrest --stanza=app --pg1-path=%p"
        ' restore"; what needs a shell goes into a script of your own',
    )


def all_values(option: str) -> UsageError:
    """`--no-literals` with the files themselves."""
    return UsageError(
        f"--no-literals and {option} exclude each other: the server's files hold every value, of all databases",
        "--data synthetic captures no value of yours",
    )


def no_such_programs(major: int) -> CaptureError:
    """Files can only be read by their own major version."""
    return CaptureError(
        f"no PostgreSQL {major} is on this machine, and no other version can read its files",
        f"install PostgreSQL {major}, or name it with --pg-bindir; --data dump can be loaded by any version",
    )


def basebackup_failed(detail: str) -> CaptureError:
    """pg_basebackup ended with an error."""
    return CaptureError(
        f"pg_basebackup failed: {detail}",
        hint_for(
            detail, _BACKING_UP, "the role needs REPLICATION, and pg_hba.conf a line for the database replication"
        ),
    )


_BACKING_UP = (
    ("no pg_hba.conf entry", "pg_hba.conf of the server needs a line for the database replication and this role"),
    ("rejects replication connection", "pg_hba.conf of the server must let this role connect to replication"),
    ("must be superuser or replication role", "the role needs the attribute: ALTER ROLE … REPLICATION"),
    ("permission denied to start WAL sender", "the role needs the attribute: ALTER ROLE … REPLICATION"),
    ("number of requested standby connections", "two connections are needed: raise max_wal_senders, or try later"),
    ("all replication slots are in use", "one slot is needed for a while: raise max_replication_slots, or try later"),
    ("wal_level", "wal_level must be replica or logical, which needs a restart; --data dump needs neither"),
    ("max_wal_senders", "max_wal_senders must be 2 at least, which needs a restart; --data dump needs none"),
    ("No space left on device", "name a place with more room with --out"),
)
"""What the program and the server say in English, and what helps."""


def not_copied(directory: Path, words: str) -> CaptureError:
    """Files that cannot be read."""
    return CaptureError(
        f'could not copy "{directory}": {words}', "run as root, or as the account that owns the files, and see for room"
    )


def changed_meanwhile(directory: Path) -> CaptureError:
    """A server was started on the directory."""
    return CaptureError(f'"{directory}" changed while it was copied', "no server may run on it: take a base backup")


def restore_failed(program: str, status: int, words: str) -> CaptureError:
    """The user's own program failed."""
    return CaptureError(f"{program} ended with status {status}: {words or 'it printed nothing'}")


def nothing_restored(program: str) -> CaptureError:
    """It ended well, and wrote elsewhere."""
    return CaptureError(f"{program} left the directory empty", "%p in the command is the directory that it has to fill")


def tablespace_missing(link: Path, place: Path) -> CaptureError:
    """A copy without one of its tablespaces."""
    return CaptureError(
        f'the copy is incomplete: "{link.name}" leads to "{place}", which is not there',
        "copy the tablespaces with it; pg_basebackup maps each by --tablespace-mapping",
    )


def incomplete_backup(detail: str) -> CaptureError:
    """A file is missing or damaged."""
    return CaptureError(f"the backup is not whole: {detail}", "pg_verifybackup DIR says more; take the backup again")


def no_room(place: Path, needed: int, free: int) -> CaptureError:
    """Too little room for the files."""
    return CaptureError(
        f'the files need {format_size(needed)} in "{place}", which has {format_size(free)} free',
        "name another place with --out; --data dump is smaller, --data synthetic smallest",
    )


def other_cluster(found: str, asked: str) -> str:
    """A warning: the backup is of another cluster than the load."""
    return f"the files are of another cluster (system identifier {found}) than the server that was asked ({asked})"


def only_dumps(version: str, major: int) -> CaptureError:
    """Another major version, asked of files."""
    return CaptureError(
        f"the data are files of PostgreSQL {major}, which PostgreSQL {version} cannot read",
        "capture with --data dump to compare major versions: a dump loads into any (pg_upgrade is not run here)",
    )


def no_advice(path: Path) -> CaptureError:
    """`advise` on files: its studies load their data."""
    return CaptureError(
        f'"{path}" holds a server\'s files, on which advise does not search yet',
        "capture again with --data dump; pgassay ask compares any settings on the files",
    )


def missing_libraries(names: Iterable[str], version: str) -> CaptureError:
    """Functions of the database are in libraries that are not here."""
    return CaptureError(
        f"functions of the database need libraries that this PostgreSQL {version} does not have: {', '.join(names)}",
        "install the extensions that they belong to, or name another PostgreSQL with --pg-bindir",
    )


def collation_differs(source: str, here: str) -> str:
    """A warning: text sorts otherwise, so that indexes on text may be wrong."""
    return (
        f"the files were sorted with version {source} of their collation, and this machine has {here}: indexes on text"
        " may miss rows here; REINDEX in a --change shows whether it matters"
    )


def not_data(text: str) -> UsageError:
    """`--data` with another word."""
    return UsageError(
        f'--data cannot be "{text}"',
        "it takes dump, synthetic, none, basebackup, or backup:DIR; --restore-command"
        " fills a directory by a program of yours",
    )
