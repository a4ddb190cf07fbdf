"""A slower clock of a drive: the load is slowed before it runs, and what it measured is told by the drive's clock."""

from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.drive import options
from pgassay.interfaces.load import LoadOptions
from pgassay.interfaces.probe import Sample
from pgassay.lab.arms import slowed
from pgassay.lab.regime import by_drive_clock, series_by_drive_clock
from pgassay.load.pgbench.options import PgbenchOptions
from pgassay.load.sysbench import SysbenchOptions
from pgassay.probe.registry import every_probe
from pgassay.study.responses import Better, Response
from tests.lab.simulation import Simulation, arm_with, simulate, study_of

PLAIN = {"drive.data": "ssd", "drive.timing": "sata-ssd"}


@pytest.mark.parametrize(
    ("asked", "offered"),
    [
        (PgbenchOptions(rate_tps=100.0, latency_limit_ms=5.0), PgbenchOptions(rate_tps=25.0, latency_limit_ms=20.0)),
        (PgbenchOptions(scale=3), PgbenchOptions(scale=3)),
        (SysbenchOptions(rate_tps=8.0), SysbenchOptions(rate_tps=2.0)),
        (LoadOptions(), LoadOptions()),
    ],
)
def test_a_rate_and_the_limit_of_a_latency_are_offered_by_the_drives_clock(
    asked: LoadOptions, offered: LoadOptions
) -> None:
    assert slowed(asked, 4) == offered
    assert slowed(asked, 1) == asked


def test_an_arms_load_and_its_warm_up_are_slowed_and_its_data_are_the_same() -> None:
    levels = {"load__rate": "100", "load__warmup": "5s", "drive__data": "ssd", "drive__timing": "sata-ssd"}
    slow, usual = arm_with(**levels, drive__dilation="5"), arm_with(**levels)
    options = slow.load.options
    assert isinstance(options, PgbenchOptions)
    assert options.rate_tps == 20.0
    assert slow.warm_up is not None
    assert slow.warm_up.options == replace(options.warm_up())
    assert slow.setup.load == usual.setup.load, "the level stays as typed"
    assert slow.load.data_key() == usual.load.data_key()


def test_rates_and_times_are_converted_and_costs_are_not() -> None:
    declared = (
        Response("tps", "", "1/s", Better.HIGHER),
        Response("latency_ms", "", "ms", Better.LOWER),
        Response("failed_share", "", "share", Better.LOWER),
        Response("cpu_us_per_transaction", "", "us", Better.LOWER, cost=True),
        *every_probe().responses,
    )
    found: dict[str, float | None] = {
        "tps": 100.0, "latency_ms": 40.0, "failed_share": 0.5, "cpu_us_per_transaction": 200.0, "disk_iops": 10.0,
        "disk_read_bytes_per_s": 4096.0, "disk_write_latency_ms": 2.0, "asked_service_us": 90.0, "table_bytes": 8.0,
        "service_time_error": 0.01, "latency_max_ms": None,
    }  # fmt: skip
    assert by_drive_clock(found, declared, 4) == found | {
        "tps": 400.0, "latency_ms": 10.0, "disk_iops": 40.0, "disk_read_bytes_per_s": 16384.0,
        "disk_write_latency_ms": 0.5,
    }  # fmt: skip
    assert by_drive_clock(found, declared, 1) == found


def test_a_series_keeps_its_moments() -> None:
    told_by_load = (("tps", "1/s", 50.0), ("latency_ms", "ms", 8.0), ("tps", "1/s", None))
    series = [Sample(7, 8, "pgbench", *each) for each in told_by_load]
    assert [each.value for each in series_by_drive_clock(series, 2)] == [100.0, 4.0, None]
    assert {(each.monotonic_ns, each.wall_ns) for each in series_by_drive_clock(series, 2)} == {(7, 8)}


def test_a_run_tells_its_speed_by_the_drives_clock_and_keeps_the_factor(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options, "place_of", lambda server, name: Path("/"))
    usual, slow = (ran(place / name, fixed) for name, fixed in (("1", PLAIN), ("5", {**PLAIN, "drive.dilation": "5"})))
    pairs = list(zip(usual.run.trials, slow.run.trials, strict=True))
    assert pairs
    for one, other in pairs:  # whose fake drive cannot say what it is, so none of them is valid
        assert one.responses["tps"] is not None
        assert other.responses["tps"] == pytest.approx(5 * one.responses["tps"])
        assert (one.regime.get("dilation"), other.regime["dilation"]) == (None, 5.0)
        assert one.regime["window_s"] == other.regime["window_s"], "windows are lengths of the machine's clock"


def ran(place: Path, fixed: dict[str, str]) -> Simulation:
    """A run on a drive with service times."""
    place.mkdir()
    simulation = simulate(place, study=study_of(fixed=fixed), events={})
    simulation.carry_on()
    return simulation
