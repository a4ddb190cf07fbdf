"""Why a PostgreSQL could not be built, fetched or verified."""

from pathlib import Path

from pgassay.bench.errors import BenchError
from pgassay.errors import UsageError
from pgassay.study.units import format_bytes

_ROOM = "free space there, remove builds (pgassay postgres list, remove), or name another place with PGASSAY_CACHE"


class BuildError(BenchError):
    """A PostgreSQL could not be built, fetched or verified."""


def too_little_space(path: Path, builds: int, needed: int, free: int) -> BuildError:
    what = "a build needs" if builds == 1 else f"{builds} builds need"
    return BuildError(f'"{path}" has {format_bytes(free >> 20 << 20)} free, {what} about {format_bytes(needed)}', _ROOM)


def disk_full(path: Path) -> BuildError:
    return BuildError(f'the disk of "{path}" is full', _ROOM)


def failed(step: str, words: str, hint: str, log: Path) -> BuildError:
    return BuildError(f"{step} failed: {words}", f"{hint}; its whole output is in {log}")


def no_such_source(path: Path) -> UsageError:
    return UsageError(
        f'there is no "{path}"', "name PostgreSQL's source: tarball:FILE, directory:DIR or git:DIR@COMMIT"
    )
