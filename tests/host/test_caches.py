"""The page cache of our own files: really dropped, really filled, and no accident when a file goes meanwhile."""

import ctypes
import mmap
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pgassay.host import storage
from pgassay.host.storage import PageCache, mount_of, unsuitable
from tests.noise import noise

pytestmark = pytest.mark.system  # the others flush nothing (tests/conftest.py)

PAGE = mmap.PAGESIZE
PAGES = 64


def _cached_pages(path: Path) -> int:
    """How many pages of a file the kernel holds, by mincore(2)."""
    with path.open("r+b") as file, mmap.mmap(file.fileno(), PAGES * PAGE) as mapped:
        held = (ctypes.c_ubyte * PAGES)()
        start = ctypes.c_char.from_buffer(mapped)
        status = ctypes.CDLL(None, use_errno=True).mincore(
            ctypes.c_void_p(ctypes.addressof(start)), ctypes.c_size_t(PAGES * PAGE), held
        )
        del start
        assert status == 0, os.strerror(ctypes.get_errno())
        return sum(each & 1 for each in held)


@pytest.fixture
def relation(tmp_path: Path) -> Path:
    if unsuitable(mount_of(tmp_path)) is not None:
        pytest.skip("files in memory cannot be dropped from it")
    path = tmp_path / "base" / "1"
    path.parent.mkdir()
    path.write_bytes(noise(PAGES * PAGE))
    return path


def test_cold_and_warm(relation: Path) -> None:
    directory = relation.parent.parent
    PageCache().make_cold(directory)
    assert _cached_pages(relation) == 0
    PageCache().make_warm(directory)
    assert _cached_pages(relation) == PAGES


def test_a_file_that_goes_meanwhile_is_passed_over(relation: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def listing(directory: Path) -> Iterator[Path]:
        yield relation.with_name("gone")
        yield relation

    monkeypatch.setattr(storage, "_cached_files", listing)
    assert PageCache().make_warm(relation.parent.parent)
    assert PageCache().make_cold(relation.parent.parent)
    assert _cached_pages(relation) == 0, "the rest was still dropped"
