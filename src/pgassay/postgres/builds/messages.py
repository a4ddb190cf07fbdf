"""Every message about builds that a user may see: lower case, no full stop, with the remedy."""

from collections.abc import Sequence
from pathlib import Path

from pgassay.bench.errors import BenchError
from pgassay.errors import UsageError
from pgassay.study.units import format_bytes


class BuildError(BenchError):
    """A PostgreSQL could not be built, fetched or verified."""


_ROOM = "free space there, remove builds (pgassay postgres list, remove), or name another place with PGASSAY_CACHE"


def too_little_space(path: Path, builds: int, needed: int, free: int) -> BuildError:
    """Said before anything is written."""
    what = "a build needs" if builds == 1 else f"{builds} builds need"
    return BuildError(f'"{path}" has {format_bytes(free >> 20 << 20)} free, {what} about {format_bytes(needed)}', _ROOM)


def disk_full(path: Path) -> BuildError:
    """It filled up while a source was unpacked."""
    return BuildError(f'the disk of "{path}" is full', _ROOM)


def failed(step: str, words: str, hint: str, log: Path) -> BuildError:
    """configure or make failed; `words` are its own."""
    return BuildError(f"{step} failed: {words}", f"{hint}; its whole output is in {log}")


def no_such_source(path: Path) -> UsageError:
    """Neither a file nor a folder."""
    return UsageError(
        f'there is no "{path}"', "name PostgreSQL's source: tarball:FILE, directory:DIR or git:DIR@COMMIT"
    )


def damaged(key: str, detail: str) -> BuildError:
    """The cache was changed, or the disk lost something."""
    return BuildError(f"build {key} in the cache is damaged: {detail}", f"remove it: pgassay postgres remove {key}")


def damaged_builds(keys: Sequence[str], looked_at: int) -> BuildError:
    """What `verify` found, after all builds were looked at."""
    return BuildError(
        f"{len(keys)} of {looked_at} builds {'is' if len(keys) == 1 else 'are'} damaged",
        f"remove them; a study builds them again: pgassay postgres remove {' '.join(keys)}",
    )


def not_as_requested(key: str, name: str, expected: object, found: object) -> BuildError:
    """The programs are not what their key says."""
    return BuildError(
        f"build {key} has {name} = {found}, not {expected} as requested", f"pgassay postgres remove {key}"
    )
