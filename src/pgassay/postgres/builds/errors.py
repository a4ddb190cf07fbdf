"""Why a PostgreSQL could not be built, fetched or verified."""

from pathlib import Path

from pgassay.errors import UsageError
from pgassay.interfaces.errors import BenchError

ROOM = "free space there, remove builds (pgassay postgres list, remove), or name another place with PGASSAY_CACHE"


class BuildError(BenchError):
    """A PostgreSQL could not be built, fetched or verified."""


def failed(step: str, words: str, hint: str, log: Path) -> BuildError:
    return BuildError(f"{step} failed: {words}", f"{hint}; its whole output is in {log}")


def no_such_source(path: Path) -> UsageError:
    return UsageError(
        f'there is no "{path}"', "name PostgreSQL's source: tarball:FILE, directory:DIR or git:DIR@COMMIT"
    )
