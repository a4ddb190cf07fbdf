"""What this package adds keeps pgassay's contracts."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from pgassay_sample.drive import THICK
from pgassay_sample.host_factor import SWAPPINESS
from pgassay_sample.load import DRIVER, BatchOptions
from pgassay_sample.probe import INTERRUPTS, InterruptReader, parse

from pgassay.drive.block.image import ImageVolume, PluginDrive
from pgassay.interfaces.factor import Factor
from pgassay.interfaces.probe import Probe
from pgassay.testing.contracts import (
    DriveContract,
    FactorContract,
    LoadContract,
    LoadOnServer,
    ProbeContract,
    ReaderContract,
    Readers,
    load_on_server,
)
from pgassay.testing.fakes import FakeClock


@pytest.mark.system
class TestBatches(LoadContract):
    @pytest.fixture(scope="class")
    @classmethod
    def bench(cls) -> Iterator[LoadOnServer]:
        yield from load_on_server(DRIVER, BatchOptions(rows=1000, batch=10, duration_s=2), larger="rows")


class TestSwappiness(FactorContract):
    @pytest.fixture
    def factor(self) -> Factor:
        return SWAPPINESS

    @pytest.fixture
    def levels(self) -> Mapping[str, str]:
        return {"60": "60", " 0 ": "0", "200": "200"}

    @pytest.fixture
    def refused(self) -> Sequence[str]:
        return ("", "-1", "201", "none")


class TestInterrupts(ProbeContract):
    @pytest.fixture
    def probe(self) -> Probe:
        return INTERRUPTS


class TestThick(DriveContract):
    @pytest.fixture
    def drive(self) -> PluginDrive:
        return THICK

    def test_a_restored_disk_is_allocated(self, volume: ImageVolume) -> None:
        volume.blank()
        volume.keep("key")
        volume.restore("key")
        assert volume.how_restored == "copy", "no block is shared"
        assert volume.file.stat().st_blocks * 512 >= volume.capacity_bytes


class TestReader(ReaderContract):
    @pytest.fixture(scope="class")
    @classmethod
    def readers(cls) -> Readers:
        clock = FakeClock()
        return Readers(clock, (InterruptReader(clock),), (InterruptReader(clock, Path("/nowhere")),))


def test_the_first_number_is_the_total() -> None:
    assert parse("cpu 1 2\nintr 12345 9 0 3\nctxt 7\n") == 12345.0
    assert parse("cpu 1 2\n") is None
