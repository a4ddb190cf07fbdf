"""A real pgbench keeps to the CPUs that it was given, and says so when none are left for it."""

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pgassay.testing import real
from tests.load.loads import pgbench
from tests.load.test_pgbench_runs import BASE, Bench

pytestmark = pytest.mark.system


@pytest.fixture
def bench() -> Iterator[Bench]:
    with real.server() as (server, _):
        pgbench(BASE).create(server)
        pgbench(BASE).fill(server)
        yield Bench(server, real.installation().bindir)


def test_the_program_keeps_to_its_cpus(bench: Bench, tmp_path: Path) -> None:
    seen: set[tuple[int, ...]] = set()
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(0.02):
            for folder in Path("/proc").glob("[0-9]*"):
                with contextlib.suppress(OSError):
                    words = (folder / "cmdline").read_bytes().split(b"\0")
                    if words[0].endswith(b"/pgbench") and str(tmp_path).encode() in b" ".join(words):
                        seen.add(tuple(sorted(os.sched_getaffinity(int(folder.name)))))

    watcher = threading.Thread(target=look)
    watcher.start()
    chosen = max(os.sched_getaffinity(0))
    try:
        found = pgbench({**BASE, "duration": "1s", "cores": f"cpu:{chosen}"}).run(bench.server, tmp_path / "out", 1)
    finally:
        ended.set()
        watcher.join()
    assert not found.problems
    assert (chosen,) in seen
    nowhere = pgbench({**BASE, "duration": "1s", "cores": "rest"}).run(bench.server, tmp_path / "rest", 1)
    assert "no_cores" in nowhere.problems
