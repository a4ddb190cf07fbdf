"""The stretches of benchmarks/short_against_long: counters cut at their edges, costs of each one's transactions."""

from math import exp

import pytest

from benchmarks.stretches import NS, stretches, told
from pgassay.bench.counters import Sample

BEGAN = 7 * NS


def samples(wal: tuple[float, ...]) -> list[Sample]:
    """A second each with 100 transactions and so much WAL; counters are read at the half seconds."""
    rates = [Sample(BEGAN + (second + 1) * NS, 0, "pgbench", "tps", "1/s", 100.0) for second in range(len(wal))]
    read, total = [], 0.0
    for second, grown in enumerate((wal[0], *wal, wal[-1])):
        read.append(Sample(BEGAN + second * NS - NS // 2, 0, "wal", "wal_bytes", "bytes", total))
        total += grown
    return [*rates, *read]


def test_each_stretch_has_its_own_cost() -> None:
    first, second = stretches(samples((1000.0, 1000.0, 5000.0, 5000.0)), 2.0)
    assert first["transactions"] == second["transactions"] == pytest.approx(200.0)
    assert first["wal_bytes"] == pytest.approx(2000.0)
    assert second["wal_bytes"] == pytest.approx(500.0 + 5000.0 + 2500.0), "the edge lies between two readings"
    assert "full_page_images" not in first, "nothing counted them"


def test_a_window_without_transactions_has_no_stretches() -> None:
    assert stretches(samples((1000.0, 1000.0))[2:], 1.0) == []


def test_the_effect_of_a_stretch_is_within_its_block() -> None:
    def row(wal: float) -> dict[str, float]:
        return {"transactions": 10.0, "wal_bytes": wal}

    cut = {("long", "100"): {1: [row(100.0), row(100.0)], 2: [row(200.0)]}, ("long", "75"): {1: [row(50.0), row(80.0)]}}
    one, two = told(cut, "long", "100", "75")
    assert [exp(each) for each in (*one.wal_logs, *two.wal_logs)] == pytest.approx([0.5, 0.8])
    assert "100: 10 transactions with 15 B of WAL" in one.text
    assert list(told(cut, "short", "100", "75")) == []
