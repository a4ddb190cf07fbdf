"""The probes on a real server and a real load: their numbers agree with what pgbench and the views say themselves."""

import os
import signal
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from pgassay.host.runner import SystemClock
from pgassay.interfaces.load import Tools
from pgassay.interfaces.probe import Target
from pgassay.interfaces.server import Server
from pgassay.load.pgbench.driver import PgbenchLoad
from pgassay.load.pgbench.options import PgbenchOptions
from pgassay.postgres import processes
from pgassay.probe.registry import Probes
from pgassay.probe.sampler import Sampler, differences
from pgassay.testing import real

pytestmark = pytest.mark.system

CLOCK = SystemClock()
PATIENCE_S = 300.0
OPTIONS: Mapping[str, str] = {
    "scale": "1",
    "clients": "2",
    "jobs": "2",
    "duration": "3s",
    "script": "simple-update",
    "protocol": "prepared",
}


@dataclass
class Bench:
    """A server with pgbench's tables."""

    load: PgbenchLoad
    server: Server
    directory: Path

    def sampler(self) -> Sampler:
        return Sampler(Probes().open(Target(self.server, self.directory, CLOCK)), CLOCK)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """Counters are awaited as long as it takes: on a busy machine a backend is there for seconds after its client."""
    monkeypatch.setattr("pgassay.probe.statistics.SETTLE_S", PATIENCE_S)
    with real.private_folder() as folder:
        installation = real.installation()
        installation.initialize(folder / "data", {})
        server = installation.start(folder / "data", {"autovacuum": "off"}, folder / "socket")
        try:
            tools = Tools(installation.bindir, real.runner(), CLOCK)
            load = PgbenchLoad(PgbenchOptions.from_levels(OPTIONS), tools)
            load.create(server)
            load.fill(server)
            yield Bench(load, server, folder / "data")
        finally:
            server.stop()


def test_a_window_counts_exactly_what_the_load_did(bench: Bench, tmp_path: Path) -> None:
    bench.server.execute("VACUUM")
    bench.server.execute("CHECKPOINT")
    sampler = bench.sampler()
    try:
        sampler.start()
        before = sampler.read_all()
        result = bench.load.run(bench.server, tmp_path / "out", 1)
        after = sampler.read_all()
        samples = sampler.stop()
        counters = differences(before, after, sampler.meters())
    finally:
        sampler.close()
    assert not result.problems
    assert counters["tables.n_tup_upd"] == result.transactions
    assert counters["tables.n_tup_ins"] == result.transactions
    assert counters["tables.n_tup_del"] == 0
    # An account of 97 bytes and a line of history of 40 to 56 (its columns were never analysed), 28 more for each.
    row_bytes = counters["tuples.written_bytes"]
    assert row_bytes is not None
    assert 180 <= row_bytes / result.transactions <= 260
    commits = counters["database.xact_commit"]
    assert commits is not None
    readings = len({sample.monotonic_ns for sample in samples}) + len(before) + len(after)
    assert result.transactions <= commits <= result.transactions + 100 + 10 * readings, "ours and the sampler's own"
    found = Probes().costs(counters, result.transactions)
    cpu, client = found["server_cpu_us_per_transaction"], found["client_cpu_us_per_transaction"]
    read_ns = [each.monotonic_ns for each in (*before, *after)]
    assert cpu is not None
    assert client is not None
    most_us = (max(read_ns) - min(read_ns)) / 1e3 * (os.cpu_count() or 1)
    assert 0 < (cpu + client) * result.transactions < 1.1 * most_us, "no more than the machine has between the readings"
    wal, by_position = found["wal_bytes_per_transaction"], counters["wal.lsn_bytes"]
    assert wal is not None
    assert by_position is not None
    assert wal * result.transactions == pytest.approx(by_position, rel=0.05)
    written = found["file_written_bytes_per_transaction"]
    assert written is not None
    assert written > 0.9 * wal, "all WAL passes through write()"
    moments = {sample.monotonic_ns for sample in samples if sample.source == "tables"}
    assert len(moments) >= 3, "both edges, and at least one of the seconds: a busy machine misses some"
    assert "sizes" in {sample.source for sample in samples}, "the edges are in the series"


def test_sums_are_those_of_the_views(bench: Bench) -> None:
    bench.server.execute("CREATE TABLE wide (i int PRIMARY KEY, t text)")
    bench.server.execute("ALTER TABLE wide ALTER t SET STORAGE EXTERNAL")
    bench.server.execute("INSERT INTO wide SELECT i, repeat('x', 9000) FROM generate_series(1, 50) i")
    sampler = bench.sampler()
    try:
        readings = {reading.source: reading.values for reading in sampler.read_all()}
    finally:
        sampler.close()
    ((inserted, updated, hot),) = bench.server.query(
        "SELECT sum(n_tup_ins), sum(n_tup_upd), sum(n_tup_hot_upd) FROM pg_stat_all_tables WHERE relid >= 16384"
    )
    assert readings["tables"]["n_tup_ins"] == float(inserted)
    assert readings["tables"]["n_tup_upd"] == float(updated)
    assert readings["tables"]["n_tup_hot_upd"] == float(hot)
    ((toast,),) = bench.server.query("SELECT sum(n_tup_ins) FROM pg_stat_all_tables WHERE schemaname = 'pg_toast'")
    assert toast >= 50, "long values lie in the TOAST table, which counts"
    ((size,),) = bench.server.query("SELECT pg_database_size(current_database())")
    assert readings["sizes"]["database_bytes"] == pytest.approx(float(size), rel=0.01)
    tables, indexes = readings["sizes"]["table_bytes"], readings["sizes"]["index_bytes"]
    assert tables is not None
    assert indexes is not None
    assert tables + indexes < float(size)


def test_what_an_idle_session_counted_does_not_leak_into_the_window(bench: Bench) -> None:
    sampler = bench.sampler()
    try:
        bench.server.execute("UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid <= 1000")
        before = sampler.read_all()
        bench.server.query("SELECT 1")
        time.sleep(1.2)
        bench.server.query("SELECT 1")
        after = sampler.read_all()
        counters = differences(before, after, sampler.meters())
    finally:
        sampler.close()
    assert counters["tables.n_tup_upd"] == 0


def test_sampling_survives_the_death_of_the_server(bench: Bench) -> None:
    sampler = bench.sampler()
    try:
        sampler.start()
        sampler.read_all()
        os.kill(bench.server.postmaster_pid, signal.SIGQUIT)
        deadline = time.monotonic() + PATIENCE_S
        while processes.serving(bench.directory):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        readings = {reading.source: reading.values for reading in sampler.read_all()}
        samples = sampler.stop()
    finally:
        sampler.close()
    for source in ("database", "tables", "wal", "sizes"):
        assert set(readings[source].values()) == {None}, source
    assert any(value is not None for value in readings["machine"].values())
    commits = [sample.value for sample in samples if (sample.source, sample.name) == ("database", "xact_commit")]
    assert commits[0] is not None
    assert commits[-1] is None
