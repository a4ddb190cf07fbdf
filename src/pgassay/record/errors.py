"""What can be wrong with a run directory, each with what helps.

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
    return NotARunError(f'"{path}" is not a run directory: {what}', "name a directory that pgassay run made")


def already_there(path: Path) -> RecordError:
    return RecordError(
        f'"{path}" exists already', "name a directory that does not exist yet, or continue a run with: pgassay resume"
    )


def newer_format(path: Path, found: int, known: int, writer: str) -> NewerFormatError:
    """Written by a later version; `writer` is the version in run.json, empty when it does not say."""
    needed = f"pgassay {writer} or later" if writer else "a later pgassay"
    return NewerFormatError(
        f'"{path}" has format {found}, this pgassay reads up to format {known}', f"read it with {needed}"
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
