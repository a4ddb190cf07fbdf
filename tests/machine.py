"""The PostgreSQLs of this machine and folders of ours, for system tests."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pgassay.errors import PgassayError
from pgassay.postgres.find import VARIABLE
from pgassay.testing import real


def bindirs() -> list[str]:
    """Every PostgreSQL of this machine, and the one in $PGASSAY_BINDIR; for parametrizing, so never an error."""
    try:
        found = [str(each.bindir) for each in real.finder().all()]
    except PgassayError:
        found = []
    named = os.environ.get(VARIABLE)
    return [*found, named] if named and named not in found else found


@contextmanager
def own_folder() -> Iterator[Path]:
    """A short directory of ours that the servers' account may enter and not write: what `--data-dir` takes."""
    folder = Path(tempfile.mkdtemp(prefix="real-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
