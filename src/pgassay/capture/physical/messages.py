"""What is said of data that are a server's files, in PostgreSQL's manner: lower case, no full stop, with a hint."""

from pathlib import Path

from pgassay.capture.messages import CaptureError, hint_for


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
