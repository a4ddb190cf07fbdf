"""A scheduler and workers of pgassay on this machine, over loopback, for benchmarks of fleets; ended on every way out.

Each worker may be pinned to cores, so that it stands for a machine that has no more.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from distributed import Client

from pgassay.fleet import addresses, dask_crew, spread
from tests.fleet.namespaces import end

ROOT = Path(__file__).parents[1]
WAIT_S = 120.0


@contextmanager
def fleet(cores: Sequence[Collection[int]]) -> Iterator[Client]:
    """A client of as many workers as there are sets of cores (an empty one: all), which are there when it yields."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{found.getsockname()[1]}"
    with ExitStack() as stack:
        words = ("--host", address, "--no-dashboard", "--dashboard-address", "127.0.0.1:0")
        stack.enter_context(_started((), "distributed.cli.dask_scheduler", *words))
        for number, mine in enumerate(cores, start=1):
            stack.enter_context(_started(mine, "pgassay", "worker", address, "--name", f"h{number}"))
        client = stack.enter_context(dask_crew.connect(addresses.parse(address), None, WAIT_S))
        spread.hosts_of(client, len(cores), WAIT_S)
        yield client


@contextmanager
def _started(cores: Collection[int], *words: str) -> Iterator[None]:
    search = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    pinned = ("taskset", "--cpu-list", ",".join(map(str, cores))) if cores else ()
    process = subprocess.Popen(
        [*pinned, sys.executable, "-m", *words], env={**os.environ, "PYTHONPATH": search},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield
    finally:
        end(process)
