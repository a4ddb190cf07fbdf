"""What a drive can do is measured in a file of our own, which is gone afterwards."""

from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from pgassay.host import capacity


def small(monkeypatch: pytest.MonkeyPatch, tick_ms: int) -> None:
    """A small file, 20 ms for each rate, and a clock that goes on by so much whenever it is read."""
    monkeypatch.setattr(capacity, "PATIENCE_S", 0.02)
    monkeypatch.setattr(capacity, "FILE_BYTES", 4 * capacity.CHUNK_BYTES)
    ticks = count(0, tick_ms * 1_000_000)
    monkeypatch.setattr(capacity, "time", SimpleNamespace(perf_counter_ns=lambda: next(ticks)))


def test_rates_are_a_seconds_and_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch, tick_ms=1)
    found = capacity.measure(tmp_path)
    assert found["written_bytes"] == pytest.approx(4 * capacity.CHUNK_BYTES / 0.005)
    assert found["flushes"] == pytest.approx(20 / 0.021)
    assert found.get("reads", found["flushes"]) == found["flushes"], "not every file system reads past the cache"
    assert list(tmp_path.iterdir()) == []


def test_where_one_takes_longer_than_there_is_time_for_it_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small(monkeypatch, tick_ms=100)
    found = capacity.measure(tmp_path)
    assert {"written_bytes", "flushes"} <= found.keys() <= {"written_bytes", "flushes", "reads"}
    assert all(value > 0 for value in found.values())


def test_where_nothing_can_be_written_nothing_is_claimed() -> None:
    assert capacity.measure(Path("/proc")) == {}
