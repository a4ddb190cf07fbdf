"""Where heap and index are: their shares in the page cache (cachestat(2), else mincore(2)) and in shared_buffers.

That both hold the same pages, the double caching, is seen and not inferred. Looking reads no page of the files; the
question to pg_buffercache takes a moment, so it is asked between the timed phases only.
"""

import ctypes
import mmap
import os
from dataclasses import dataclass
from pathlib import Path

from pgassay.bench.errors import QueryError
from pgassay.bench.server import Server

_CACHESTAT = 451
"""The number of the system call, the same on every architecture (from Linux 6.5)."""


class _Range(ctypes.Structure):
    _fields_ = [("offset", ctypes.c_uint64), ("length", ctypes.c_uint64)]


class _CacheStat(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("cached", "dirty", "writeback", "evicted", "recently_evicted")]


@dataclass(frozen=True)
class Residency:
    """Shares of a relation, 0 … 1; None where they are not available."""

    page_cache: float | None
    buffers: float | None


def residency(server: Server, relation: str) -> Residency:
    """Of one relation of the server, now."""
    try:
        ((directory, path, size),) = server.query(
            "SELECT current_setting('data_directory'), pg_relation_filepath(%s), pg_relation_size(%s)",
            [relation, relation],
        )
    except (QueryError, ValueError):
        return Residency(None, None)
    return Residency(_in_page_cache(Path(directory) / path), _in_buffers(server, relation, int(size)))


def _in_buffers(server: Server, relation: str, size: int) -> float | None:
    try:
        ((share,),) = server.query(
            "SELECT count(*) * current_setting('block_size')::float8 / nullif(%s, 0) FROM pg_buffercache"
            " WHERE relfilenode = pg_relation_filenode(%s) AND relforknumber = 0"
            " AND reldatabase = (SELECT oid FROM pg_database WHERE datname = current_database())",
            [size, relation],
        )
    except (QueryError, ValueError):
        return None
    return None if share is None else float(share)


def _in_page_cache(path: Path) -> float | None:
    """Over all segments of a relation: PATH, PATH.1, PATH.2 …"""
    cached = total = 0
    number = 0
    segment = path
    while segment.exists():
        try:
            found = cached_pages(segment)
            total += -(-segment.stat().st_size // mmap.PAGESIZE)
        except OSError:
            return None
        if found is None:
            return None
        cached += found
        number += 1
        segment = path.with_name(f"{path.name}.{number}")
    return cached / total if total else None


def cached_pages(path: Path) -> int | None:
    """Pages of a file in the page cache; None where neither call is available."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size = os.fstat(descriptor).st_size
        found = _cachestat(descriptor, size)
        return _mincore(descriptor, size) if found is None else found
    finally:
        os.close(descriptor)


def _cachestat(descriptor: int, size: int) -> int | None:
    counts = _CacheStat()
    span = _Range(0, size)
    libc = ctypes.CDLL(None, use_errno=True)
    status = libc.syscall(_CACHESTAT, descriptor, ctypes.byref(span), ctypes.byref(counts), 0)
    return int(counts.cached) if status == 0 else None


def _mincore(descriptor: int, size: int) -> int | None:
    """From a mapping that is never touched; from Linux 5.2 on only the file's owner or root gets an answer."""
    if size == 0:
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    where = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
    if where is None or where == ctypes.c_void_p(-1).value:
        return None
    try:
        pages = (ctypes.c_ubyte * -(-size // mmap.PAGESIZE))()
        if libc.mincore(ctypes.c_void_p(where), ctypes.c_size_t(size), pages) != 0:
            return None
        return sum(byte & 1 for byte in pages)
    finally:
        libc.munmap(ctypes.c_void_p(where), ctypes.c_size_t(size))
