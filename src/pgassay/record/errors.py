"""What can be wrong with a run directory, each with what helps; every user message of this layer is in this file.

Messages follow the PostgreSQL manual's "Error Message Style Guide": lower case, no full stop.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pgassay.errors import PgassayError


class RecordError(PgassayError):
    """A run directory could not be made, read or written."""


class NotARunError(RecordError):
    """The path is no run directory of ours."""


class NewerFormatError(RecordError):
    """The run was written by a later pgassay, in a format that this one does not know."""


class DamagedError(RecordError):
    """A file of the run is missing or does not say what it must; `what` says which and how, without the run's path."""

    def __init__(self, message: str, hint: str | None = None, what: str = "") -> None:
        super().__init__(message, hint)
        self.what = what or message


class InUseError(RecordError):
    """Another runner holds the lock of this run."""


CHECK = "see all findings with: pgassay check {path}"
"""The hint for a reader, who cannot repair anything."""

MISSING = "it is in the journal but not under trials/"
"""Why a trial is left out whose directory is gone."""

RESUME = "remove the cause, then continue with: pgassay resume {path}"


def not_a_run(path: Path, what: str) -> NotARunError:
    """`path` exists or not, but holds no run."""
    return NotARunError(f'"{path}" is not a run directory: {what}', "name a directory that pgassay run made")


def already_there(path: Path) -> RecordError:
    """A run is never written into a directory that we did not make."""
    return RecordError(
        f'"{path}" exists already', "name a directory that does not exist yet, or continue a run with: pgassay resume"
    )


def no_parent(path: Path) -> RecordError:
    """The directory that is to hold the run is missing."""
    return RecordError(f'directory "{path.parent}" does not exist', "make it, or name another place with --out")


def newer_format(path: Path, found: int, known: int, writer: str) -> NewerFormatError:
    """Written by a later version; `writer` is the version in run.json, empty when it does not say."""
    needed = f"pgassay {writer} or later" if writer else "a later pgassay"
    return NewerFormatError(
        f'"{path}" has format {found}, this pgassay reads up to format {known}', f"read it with {needed}"
    )


def older_format(path: Path, found: int, known: int) -> RecordError:
    """Every version reads an older run, but none writes to it: one directory has one format."""
    return RecordError(
        f'"{path}" has format {found} and cannot be continued in format {known}', "read it, or start a new run"
    )


def damaged(path: Path, what: str) -> DamagedError:
    """`what` says which file and how; nothing is repaired by guessing."""
    return DamagedError(
        f'run directory "{path}" is damaged: {what}',
        f"see all findings with: pgassay check {path}; restore from a copy",
        what,
    )


def reason_of(failure: DamagedError | OSError) -> str:
    """Why a trial that cannot be read is left out."""
    if isinstance(failure, DamagedError):
        return failure.what
    name = Path(failure.filename).name if failure.filename else "a file"
    return f"{name}: {failure.strerror or failure}"


def in_use(path: Path, owner: str) -> InUseError:
    """The lock is held by a living process."""
    return InUseError(f'run directory "{path}" is in use by {owner or "another process"}', "wait for it or stop it")


def twice(number: int) -> RecordError:
    """A committed trial is never touched again."""
    return RecordError(f"trial {number} is committed already and is never written again")


def unusable_journal(path: Path) -> RecordError:
    """A failed write whose remains could not be taken back, or a failed fsync: what is on disk is unknown."""
    return RecordError(
        f'no more lines are written to "{path}" after a failed write',
        "continue with: pgassay resume, which reads what is stored",
    )


@contextmanager
def as_record_error(path: Path, doing: str, otherwise: str = RESUME) -> Iterator[None]:
    """Turn an operating system's error while `doing` something under `path` into a `RecordError` with a hint."""
    try:
        yield
    except OSError as failure:
        run = otherwise.format(path=path)
        if failure.errno in (errno.ENOSPC, errno.EDQUOT):
            hint = f"the file system is full: {run}"
        elif failure.errno == errno.EIO:
            hint = "the drive failed to store it: read the kernel log before you trust this drive with a record"
        elif failure.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            hint = "this account may not write there"
        else:
            hint = run
        name = failure.filename if isinstance(failure.filename, str) else ""
        where = f"{Path(name).name}: " if name and Path(name) != path else ""
        raise RecordError(f'could not {doing} in "{path}": {where}{failure.strerror or failure}', hint) from failure


def unreadable_proofs(path: Path, what: str) -> RecordError:
    """What is known of drives' counters cannot be told; nobody goes on as if nothing were known."""
    return RecordError(
        f'could not read what known writes showed of drives\' counters in "{path}": {what}',
        "restore it from a copy, or remove it and prove the drives again with: pgassay drive prove DIR",
    )


def wrong_load(path: Path, driver: str) -> RecordError:
    """A form that only one load's runs can take."""
    return RecordError(f'run "{path}" is not of the load {driver}, so it cannot be written in that form')


def not_a_capsule(path: Path, what: str) -> RecordError:
    """A file that is no capsule of ours."""
    return RecordError(f'"{path}" is not a capsule: {what}', "pgassay export RUN --capsule FILE makes one")


def capsule_exists(path: Path) -> RecordError:
    """No capsule is written over a file."""
    return RecordError(f'"{path}" exists already', "name another file")


def damaged_capsule(path: Path, what: str) -> DamagedError:
    """A capsule whose contents are not what it says."""
    return DamagedError(f'capsule "{path}" is damaged: {what}', "copy it again from where it was made", what)


def unsafe_capsule(path: Path, what: str) -> RecordError:
    """A file that pgassay would not have made, and that may be meant to do harm."""
    return RecordError(f'capsule "{path}" was not made by pgassay: {what}', "nothing of it was unpacked")
