"""The real fio beside a real idle server: it works on the cluster's own file system, measures, and leaves with it."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.interfaces.server import Server
from pgassay.load.fio import FILE, FioLoad, FioOptions
from pgassay.testing import real
from tests.load.loads import fio, real_tools

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed"),
]
SMALL = {"file_size": "16MB", "duration": "1s"}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with real.server() as (running, _):
        yield running


@pytest.mark.parametrize("pattern", ["random:70%", "wal", "reread"])
def test_a_pattern_is_measured_on_the_clusters_own_file_system(server: Server, pattern: str, tmp_path: Path) -> None:
    found = fio({**SMALL, "pattern": pattern, "direct": "off"}).run(server, tmp_path / "out", 1)
    assert not found.problems
    assert found.transactions > 0
    assert (found.responses["iops"] or 0.0) > 0.0
    directory = Path(str(server.query("SHOW data_directory")[0][0]))
    assert (directory / FILE).stat().st_size == 16 << 20
    if pattern == "random:70%":
        reads, writes = found.responses["read_iops"], found.responses["write_iops"]
        assert reads is not None
        assert writes is not None
        assert abs(reads / (reads + writes) - 0.7) < 5 * (0.7 * 0.3 / found.transactions) ** 0.5, "drawn at random"
        assert {sample.name for sample in found.series} <= {"read_iops", "write_iops"}
    if pattern == "wal":
        assert (found.responses["flush_latency_ms"] or 0.0) > 0.0
    if pattern == "reread":
        assert (found.responses["reread_speedup"] or 0.0) > 0.0


def test_an_engine_that_cannot_go_is_an_outcome_in_fios_own_words(server: Server, tmp_path: Path) -> None:
    options = replace(FioOptions.from_levels(SMALL), engine="nosuchengine")
    found = FioLoad(options, real_tools()).run(server, tmp_path / "out", 1)
    assert "refused" in found.problems
    assert "nosuchengine" in found.problems["refused"]


def test_seqwr_makes_its_file_in_each_run_and_leaves_one(server: Server, tmp_path: Path) -> None:
    directory = Path(str(server.query("SHOW data_directory")[0][0]))
    # Of 1 MB: it writes the file once before the first fsync, whose time is the drive's.
    load = fio({**SMALL, "pattern": "seqwr", "direct": "off", "io_size": "1MB"})
    for turn in ("warm-up", "window"):
        found = load.run(server, tmp_path / turn, 1)
        assert not found.problems
        assert (found.responses["write_iops"] or 0.0) > 0.0
        assert found.responses["read_iops"] is None
        assert found.responses["stalls_1s"] is not None
        assert (directory / FILE).stat().st_size == 16 << 20
        assert not (tmp_path / turn / "layout.out").exists()
