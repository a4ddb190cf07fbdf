"""What every probe keeps: meters are declared, readings are of the moment, and what is missing is None, never 0."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest

from pgassay.bench.probe import Probe, Reader, Target
from pgassay.bench.running import Clock
from pgassay.host.clock import SystemClock
from pgassay.probe.registry import PROBES, Probes
from pgassay.testing import real


@dataclass(frozen=True)
class Readers:
    """Readers that work, readers whose object (a process, a disk) is gone, and the clock that stamps them.

    `sparse` are sources that may have no value at all on this version or machine.
    """

    clock: Clock
    working: tuple[Reader, ...]
    orphaned: tuple[Reader, ...] = ()
    sparse: tuple[str, ...] = ()


class ReaderContract:
    """What every reader keeps; give a fixture `readers`, of the scope of the class."""

    @pytest.fixture(scope="class")
    @classmethod
    def readers(cls) -> Readers | Iterator[Readers]:
        """The readers under test; the fixture that made them closes them."""
        raise NotImplementedError("the test class must have a fixture `readers`")

    def test_a_reading_has_every_declared_meter_and_no_other(self, readers: Readers) -> None:
        for reader in (*readers.working, *readers.orphaned):
            read = {reading.source: set(reading.values) for reading in reader.read()}
            assert read == {source: {meter.name for meter in meters} for source, meters in reader.meters.items()}

    def test_no_two_readers_share_a_source(self, readers: Readers) -> None:
        sources = [source for reader in readers.working for source in reader.meters]
        assert len(set(sources)) == len(sources)

    def test_times_are_of_the_moment(self, readers: Readers) -> None:
        for reader in readers.working:
            monotonic_ns, wall_ns = readers.clock.monotonic_ns(), readers.clock.wall_ns()
            for reading in reader.read():
                assert monotonic_ns <= reading.monotonic_ns <= readers.clock.monotonic_ns()
                assert wall_ns <= reading.wall_ns <= readers.clock.wall_ns()

    def test_counters_never_go_back(self, readers: Readers) -> None:
        for reader in readers.working:
            reader.settle()
            first = {reading.source: reading.values for reading in reader.read()}
            readers.clock.sleep(0.2)
            second = {reading.source: reading.values for reading in reader.read()}
            for source, meters in reader.meters.items():
                for meter in meters:
                    old, new = first[source][meter.name], second[source][meter.name]
                    assert (old is None) == (new is None), f"{source}.{meter.name}"
                    if meter.cumulative and old is not None and new is not None:
                        assert new >= old, f"{source}.{meter.name}"

    def test_something_is_read(self, readers: Readers) -> None:
        for reader in readers.working:
            for reading in reader.read():
                if reading.source not in readers.sparse:
                    assert any(value is not None for value in reading.values.values()), reading.source

    def test_what_is_gone_is_none_never_zero(self, readers: Readers) -> None:
        for reader in readers.orphaned:
            reader.settle()
            for reading in reader.read():
                assert set(reading.values.values()) == {None}

    def test_closing_twice_is_harmless(self, readers: Readers) -> None:
        for reader in readers.orphaned:
            reader.close()
            reader.close()


class ProbeContract:
    """What every probe keeps, as a description and on a private server; give a fixture `probe`."""

    @pytest.fixture
    def probe(self) -> Probe:
        """The probe under test; a subclass overrides this fixture."""
        raise NotImplementedError("the test class must have a fixture `probe`")

    def test_it_says_what_it_is(self, probe: Probe) -> None:
        assert probe.name.isidentifier()
        assert probe.summary, "a line for readers"
        assert probe.meters, "it reads something"

    def test_meters_are_declared_once(self, probe: Probe) -> None:
        for source, meters in probe.meters.items():
            names = [meter.name for meter in meters]
            assert len(set(names)) == len(names), source
            assert all(meter.unit for meter in meters), "every meter has a unit"

    def test_its_sources_and_responses_are_its_own(self, probe: Probe) -> None:
        others = [other for other in PROBES if other.name != probe.name]
        assert not set(probe.meters) & {source for other in others for source in other.meters}
        names = [cost.response.name for cost in probe.costs]
        assert len(set(names)) == len(names)
        assert not set(names) & {cost.response.name for other in others for cost in other.costs}

    def test_a_response_says_its_unit_and_title(self, probe: Probe) -> None:
        assert all(cost.response.unit and cost.response.title for cost in probe.costs)

    def test_a_response_of_nothing_is_none_never_zero(self, probe: Probe) -> None:
        counters = {f"{source}.{meter.name}": None for source, meters in probe.meters.items() for meter in meters}
        for missing in ({}, counters):
            assert {cost.value(missing, 1000) for cost in probe.costs} <= {None}

    def test_a_window_without_transactions_breaks_nothing(self, probe: Probe) -> None:
        counters = {f"{source}.{meter.name}": 0.0 for source, meters in probe.meters.items() for meter in meters}
        for cost in probe.costs:
            cost.value(counters, 0)

    @pytest.fixture(scope="class")
    @classmethod
    def target(cls) -> Iterator[Target]:
        """One private server for all tests of the class."""
        with real.server() as (server, directory):
            yield Target(server, directory, SystemClock())

    @pytest.mark.system
    def test_on_a_server_it_reads_what_it_declares(self, probe: Probe, target: Target) -> None:
        readers = self.opened(probe, target)
        try:
            for reader in readers:
                reader.settle()
            found = {reading.source: reading.values for reader in readers for reading in reader.read()}
        finally:
            for reader in readers:
                reader.close()
                reader.close()  # twice is harmless
        assert set(found) <= set(probe.meters)
        for source, values in found.items():
            assert set(values) == {meter.name for meter in probe.meters[source]}

    @pytest.mark.system
    def test_of_a_server_that_is_gone_it_reads_none_and_raises_nothing(self, probe: Probe) -> None:
        if not probe.asks_server:
            pytest.skip("it asks no server")
        with real.server() as (server, directory):
            readers = self.opened(probe, Target(server, directory, SystemClock()))
            server.stop()
            values = {value for reader in readers for reading in reader.read() for value in reading.values.values()}
            for reader in readers:
                reader.close()
        assert values <= {None}

    def opened(self, probe: Probe, target: Target) -> Sequence[Reader]:
        """Its readers; skips the test where it says that it cannot read."""
        reason = probe.unavailable(target)
        if reason is not None:
            pytest.skip(f"not on this machine: {reason}")
        return Probes(ours=(), foreign=(probe,)).open(target)
