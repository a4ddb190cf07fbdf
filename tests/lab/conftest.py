"""Where simulated machines keep their small clusters: in memory where there is a place for that, for speed alone."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest

SHARED_MEMORY = Path("/dev/shm")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An empty directory, removed at the end."""
    if not SHARED_MEMORY.is_dir():
        yield tmp_path_factory.mktemp("machines")
        return
    path = Path(mkdtemp(prefix="simulated-", dir=SHARED_MEMORY))
    try:
        yield path
    finally:
        shutil.rmtree(path)
