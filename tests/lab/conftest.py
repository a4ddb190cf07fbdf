"""Where simulated machines keep their small clusters: in memory where there is room for them, for speed alone."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest

SHARED_MEMORY = Path("/dev/shm")
ROOM_BYTES = 1 << 30
"""A container has 64 MB there, which the machines of a module fill, and servers beside them need it, too."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An empty directory, removed at the end."""
    if not SHARED_MEMORY.is_dir() or shutil.disk_usage(SHARED_MEMORY).free < ROOM_BYTES:
        yield tmp_path_factory.mktemp("machines")
        return
    path = Path(mkdtemp(prefix="simulated-", dir=SHARED_MEMORY))
    try:
        yield path
    finally:
        shutil.rmtree(path)
