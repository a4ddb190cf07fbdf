"""A scheduler of Dask with its workers in this process, whose files and ports are a test's own.

Dask warns where its folders took longer than a second to make, as on a busy machine, and where another cluster has the
port 8787, which it takes for its page also where none is asked for. Here a warning is an error.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dask
import pytest
from distributed import LocalCluster

SLOW_DISK = pytest.mark.filterwarnings("ignore:Creating scratch directories is taking:UserWarning")
"""For every test of a module that makes one."""
_ANY_PORT = "127.0.0.1:0"


@contextmanager
def in_process(folder: Path, workers: int) -> Iterator[LocalCluster]:
    """So many workers with one thread each."""
    pages = {"dashboard_address": _ANY_PORT, "worker_dashboard_address": _ANY_PORT}
    with (
        dask.config.set({"temporary-directory": str(folder)}),
        LocalCluster(  # type: ignore[no-untyped-call,unused-ignore]
            n_workers=workers, threads_per_worker=1, processes=False, protocol="inproc://", **pages
        ) as found,
    ):
        yield found
