"""cacheprobe: sizes, rows, responses, and where pages are; then the whole on a real server."""

import os
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.errors import UsageError
from pgassay.interfaces.server import Server
from pgassay.interfaces.slices import LatencyHistogram, Slice
from pgassay.load import cacheprobe as load
from pgassay.load.cacheprobe import SIZE, CacheprobeLoad, CacheprobeOptions, Outcome, Phase, Size, cached_pages
from pgassay.testing import real
from pgassay.testing.fakes import FakeInstallation
from tests.load.loads import cacheprobe, fake_tools

PATIENCE_S = 300.0


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("75000000rows", Size(rows=75_000_000)),
        ("75_000_000 rows", Size(rows=75_000_000)),
        ("16GB", Size(bytes=16 << 30)),
        ("1.5x", Size(multiple=1.5)),
    ],
)
def test_a_size_is_rows_bytes_or_a_multiple(text: str, size: Size) -> None:
    assert SIZE.parse("load.size", text) == size
    assert SIZE.parse("load.size", str(size)) == size, "the canonical form means the same"


@pytest.mark.parametrize("text", ["", "1", "10rows", "0x", "-1GB", "8kB", "many", "1GBx"])
def test_other_sizes_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"load\.size"):
        SIZE.parse("load.size", text)


def test_the_published_rows_fill_the_published_memory() -> None:
    pages = CacheprobeOptions(size=Size(rows=75_000_000), memory_bytes=1).rows / 37
    assert pages * 8192 == pytest.approx(16e9, rel=0.05)
    in_bytes = CacheprobeOptions(size=Size(bytes=2 << 30), memory_bytes=1).rows
    assert CacheprobeOptions(size=Size(multiple=2), memory_bytes=1 << 30).rows == in_bytes
    assert CacheprobeOptions(size=Size(bytes=2 << 30)).rows == in_bytes


@given(st.integers(1, 50), st.integers(0, 9))
def test_rows_are_what_copy_binary_takes(count: int, seed: int) -> None:
    body = b"".join(load.chunks(count, seed))
    one = 2 + 4 + 4 + 4 + 260
    assert len(body) == count * one
    fields, key_bytes, key, array_bytes = struct.unpack_from(">hifi", body, (count - 1) * one)
    assert (fields, key_bytes, array_bytes) == (2, 4, 260)
    dimensions, flags, element, size, lower = struct.unpack_from(">5i", body, (count - 1) * one + 14)
    assert (dimensions, flags, element, size, lower) == (1, 0, 701, 20, 1)
    for item in range(20):
        length, value = struct.unpack_from(">id", body, (count - 1) * one + 34 + 12 * item)
        assert length == 8
        assert value == pytest.approx(key, abs=1e-7)
    assert 0 <= key <= 1


def test_the_first_probe_and_the_slowest_tenth_are_told_apart() -> None:
    each = [9.0, *([0.1] * 90), *([5.0] * 10)]
    found = load.of_phase("idx1", 0.7, each)
    assert found["idx1_first_ms"] == 9.0
    assert found["idx1_trimmed_ms"] == pytest.approx(0.1)
    assert found["idx1_ms"] == pytest.approx((9.0 + 50.0) / 100)
    assert found["idx1_max_ms"] == 5.0
    assert load.of_phase("idx1", 0.7, ()) == {"idx1_ms": 0.7}, "a single statement"


def test_the_players_first_probe_is_told_apart_and_its_mean_is_exact() -> None:
    first = Slice(0, 1, 1, LatencyHistogram(1, 9_000_100, 9_000_100, 9_000_100, ((9_003_007, 1),)))
    rest = Slice(2, 3, 3, LatencyHistogram(3, 300_300, 100_000, 100_300, ((100_031, 2), (100_351, 1))))
    found = load.played(Phase("idx1", 4), [first, rest])
    assert found.each_ms == (9.0001, 0.100031, 0.100031, 0.1003)
    assert found.mean_ms == pytest.approx((9_000_100 + 300_300) / 4 / 1e6, rel=1e-12)
    gone = Slice(4, 4, 4, LatencyHistogram(), aborted=("client 0: the connection was closed",))
    assert dict(load.played(Phase("idx2", 4), [first, gone]).problems) == {
        "aborted": "idx2: client 0: the connection was closed"
    }


def test_every_declared_response_is_there_and_missing_ones_are_none() -> None:
    found = load.derived({"idx1_ms": 0.1, "idx2_ms": 0.3})
    assert set(found) == {response.name for response in load.RESPONSES}
    assert found["idx2_slowdown"] == pytest.approx(3.0)
    assert found["probes_ms"] == pytest.approx(0.2)
    assert found["seq_ms"] is None
    assert load.derived({})["idx2_slowdown"] is None


def test_a_length_and_a_missing_warm_up_are_refused() -> None:
    tools = fake_tools()
    cacheprobe({"size": "1GB", "warmup": "2s"}, tools).check()
    with pytest.raises(UsageError, match=r"load\.duration"):
        cacheprobe({"duration": "60s"}, tools).check()
    with pytest.raises(UsageError, match=r"load\.warmup"):
        cacheprobe({"warmup": "0s"}, tools).check()


def test_the_page_cache_tells_which_pages_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "relation"
    path.write_bytes(bytes(64 * os.sysconf("SC_PAGE_SIZE")))
    deadline = time.monotonic() + PATIENCE_S
    while (found := cached_pages(path)) not in (None, 64):  # a machine without memory may have given them away
        assert time.monotonic() < deadline, found
        path.read_bytes()
    path.write_bytes(b"")
    assert cached_pages(path) in (None, 0)


def test_what_a_phase_has_read_is_counted_when_its_session_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only then has the server the counts, and it ends a moment after its client."""
    sessions: list[int] = []
    blocks = [0]

    def play(made: CacheprobeLoad, server: Server, phase: Phase, output: Path) -> Outcome:
        sessions.append(3)
        return Outcome(0.251)

    def alive(server: object, match: object, parameters: object) -> list[tuple[Any, ...]]:
        if not sessions:
            return []
        sessions[0] -= 1
        if sessions[0]:
            return [(1,)]
        sessions.pop(0)
        blocks[0] += 7
        return []

    installation = FakeInstallation(
        answers={
            "SELECT 1 FROM pg_stat_activity": alive,
            "SELECT heap_blks_read": lambda server, match, parameters: [(0, blocks[0], 0, 0)],
            "SELECT pg_relation_size": lambda server, match, parameters: [(8192, 8192)],
        }
    )
    installation.initialize(tmp_path / "data", {})
    server = installation.start(tmp_path / "data", {}, tmp_path)
    monkeypatch.setattr(CacheprobeLoad, "_play", play)
    found = cacheprobe({"probes": "5"}, fake_tools()).run(server, tmp_path / "out", 1)
    assert (dict(found.problems), found.responses["heap_blks_hit"]) == ({}, 3 * 7)


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with real.server(shared_buffers="2MB") as (server, _):
        cacheprobe({"size": "40000rows"}).create(server)
        cacheprobe({"size": "40000rows"}).fill(server)
        yield server


@pytest.mark.system
def test_the_table_is_the_published_one_frozen_and_indexed(probed: Server) -> None:
    server = probed
    assert server.query("SELECT count(*), count(DISTINCT data[20]) > 39000 FROM random") == [(40000, True)]
    ((heap, index),) = server.query("SELECT pg_relation_size('random'), pg_relation_size('random_random_idx')")
    assert heap + index == pytest.approx(cacheprobe({"size": "40000rows"}).estimated_bytes(), rel=0.05)
    assert server.query("SELECT obj_description('random'::regclass)") == [("40000rows",)]
    assert server.query("SELECT relallvisible = relpages FROM pg_class WHERE relname = 'random'") == [(True,)]
    ((plan,), *_) = server.query(f"EXPLAIN {load.PROBE.removesuffix(';')}")
    assert "Index Only Scan" in plan


@pytest.mark.system
def test_a_run_times_its_phases_and_sees_both_caches(
    probed: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = probed
    slow = load.SCAN.replace("from random", "from random, pg_sleep(2)")
    monkeypatch.setattr(load, "SCRIPTS", {**load.SCRIPTS, "seq": slow})
    levels = {"size": "40000rows", "probes": "20"}
    warm = cacheprobe({**levels, "duration": "1s"}).run(server, tmp_path / "warmup", 1)
    assert dict(warm.problems) == {}
    assert "idx1_ms" not in {name for name, value in warm.responses.items() if value is not None}
    result = cacheprobe(levels).run(server, tmp_path / "run", 1)
    assert dict(result.problems) == {}
    found = {name: value for name, value in result.responses.items() if value is not None}
    assert 0 < found["idx1_trimmed_ms"] < 1000 < found["seq_ms"], "the scan was made slow"
    assert {"idx1_ms", "seq_ms"} <= set(found)
    assert found["heap_blks_read"] + found["heap_blks_hit"] >= 40000 // 37, "the scan reads every page"
    assert found["idx_blks_read"] + found["idx_blks_hit"] >= 2 * 20
    assert found["index_bytes"] < found["table_bytes"]
    assert 0 < found["heap_page_cache_scan_share"] <= 1
    assert 0 <= found["heap_buffers_scan_share"] < 0.5, "2 MB of buffers cannot hold 9 MB"
    assert "idx2_trimmed_ms" in found
    assert (tmp_path / "run" / "seq.json").is_file()


@pytest.mark.system
def test_a_server_that_is_gone_is_a_problem_of_the_result(tmp_path: Path) -> None:
    with real.server() as (server, _):
        result = cacheprobe({"probes": "5"}).run(server, tmp_path, 1)
    assert "aborted" in result.problems, "there is no such table"
