"""Parquet of others that polars panics at: a reader hears of damage, and nothing of Rust's backtrace."""

import os
import shutil
from pathlib import Path

import polars as pl
import pytest

from pgassay import cli
from pgassay.fleet import FleetError, parcels
from pgassay.record import series
from pgassay.record.disk import RealDisk
from pgassay.record.series import unpanicked
from pgassay.testing.planted import make_run

PANICS = Path(__file__).with_name("panics.parquet")
"""A series with a byte changed."""


@pytest.fixture(autouse=True)
def panics(capfd: pytest.CaptureFixture[str]) -> None:
    try:
        pl.read_parquet(PANICS)
    except pl.exceptions.PanicException:
        assert "panicked" in capfd.readouterr().err
        return
    except pl.exceptions.PolarsError:
        pass
    pytest.skip("this polars does not panic at it")


def test_a_panic_becomes_an_error_and_is_not_printed(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(pl.exceptions.ComputeError), unpanicked():
        pl.read_parquet(PANICS)
    assert capfd.readouterr().err == ""
    os.write(2, b"said\n")
    assert capfd.readouterr().err == "said\n"


@pytest.mark.parametrize("command", ["check", "show", "report"])
def test_no_command_prints_a_panic(tmp_path: Path, capfd: pytest.CaptureFixture[str], command: str) -> None:
    run = make_run(tmp_path / "run", discarded=False).path
    shutil.copy(PANICS, run / "trials" / "000002" / "series.parquet")
    shutil.copy(PANICS, run / "index.parquet")
    more = ["--no-figures"] if command == "report" else []
    assert cli.main([command, str(run), *more]) in (0, 1, 2)
    shown = capfd.readouterr()
    assert "panicked" not in shown.err
    assert "Traceback" not in shown.err


def test_an_index_that_panics_counts_as_missing(tmp_path: Path) -> None:
    shutil.copy(PANICS, tmp_path / series.INDEX_FILE)
    assert series.read_index(RealDisk(), tmp_path, {1: "0" * 64}) == {}


def test_a_parcel_of_a_fleet_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(FleetError, match="its series cannot be read"):
        parcels._samples(1, PANICS.read_bytes())
    assert capfd.readouterr().err == ""
