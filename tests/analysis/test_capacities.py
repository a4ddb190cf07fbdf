"""The utilisation law, by hand."""

import pytest

from pgassay.analysis.capacities import Capacity, bounds

CPU = Capacity("cpu_us", "server CPU", 2e6, "2 cores")
WAL = Capacity("wal_bytes", "WAL", 100e6, "sequential write of the drive")
FLUSH = Capacity("flushes", "flushes", 500.0, "pg_test_fsync")


def test_the_tightest_comes_first() -> None:
    """2 cores at 80 us: 25 000/s; 100 MB/s at 8 kB: 12 500/s."""
    found = bounds({"cpu_us": 80.0, "wal_bytes": 8000.0}, [CPU, WAL], measured_per_s=10_000.0)
    assert [bound.per_s for bound in found.bounds] == [pytest.approx(12_500.0), pytest.approx(25_000.0)]
    assert found.bounds[0].used == pytest.approx(0.8)
    assert found.text == "WAL saturates first, at about 12,500 transactions per second; 80 % of it was in use"


def test_what_cannot_be_bounded_is_named() -> None:
    found = bounds({"cpu_us": None, "wal_bytes": 0.0, "flushes": 1.0}, [CPU, WAL, FLUSH], 400.0)
    assert [bound.capacity.response for bound in found.bounds] == ["flushes"]
    assert len(found.left_out) == 2
    assert bounds({}, [CPU], 1.0).text == "no resource could be bounded"
    assert "not known" in bounds({"cpu_us": 1.0}, [Capacity("cpu_us", "server CPU", 0.0, "")], 1.0).left_out[0]


def test_more_than_all_of_a_resource_is_said_to_be_a_wrong_capacity() -> None:
    found = bounds({"flushes": 1.0}, [FLUSH], 600.0)
    assert found.bounds == (), "no limit is below what was measured"
    assert found.left_out == (
        "flushes: the load used 1.2 times the capacity that was measured (pg_test_fsync),"
        " so that figure is too low for a limit",
    )
    assert bounds({"flushes": 1.0}, [FLUSH], 510.0).text == "flushes is full: all of it was in use"
