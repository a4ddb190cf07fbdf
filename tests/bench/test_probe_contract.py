"""What every probe keeps: the fake, and the real ones on a private server of this machine."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pgassay.bench.probe import Reader, Target
from pgassay.bench.running import Clock
from pgassay.host.clock import SystemClock
from pgassay.probe.disks import Device, Diskstats, GroupIo
from pgassay.probe.processes import MachineReader, ProcessIo, ProcessTree
from pgassay.probe.registry import Probes
from pgassay.testing import real
from pgassay.testing.fakes.clock import FakeClock
from pgassay.testing.fakes.probe import FakeReader

NO_PROCESS = 2**22 + 1


class Bench:
    """Probes that work, probes whose object is gone, and the clock that stamps them."""

    def __init__(self, clock: Clock, probes: tuple[Reader, ...], orphans: tuple[Reader, ...]) -> None:
        self.clock = clock
        self.probes = probes
        self.orphans = orphans


@pytest.fixture(scope="module", params=["fake", pytest.param("real", marks=pytest.mark.system)])
def bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    if request.param == "fake":
        clock = FakeClock()
        alive = FakeReader(clock, rates={"transactions": 1000.0}, gauges={"size_bytes": 8192.0})
        yield Bench(clock, (alive,), (FakeReader(clock, rates={"transactions": 1.0}, dies_at_ns=0),))
        return
    with real.private_folder() as folder:
        installation, system = real.installation(), SystemClock()
        installation.initialize(folder / "data", {})
        server = installation.start(folder / "data", {"fsync": "off"}, folder / "socket")
        try:
            gone = tmp_path_factory.mktemp("empty")
            probes = Probes().open(Target(server, folder / "data", system))
            try:
                yield Bench(system, probes, _orphans(gone, system))
            finally:
                for probe in probes:
                    probe.close()
        finally:
            server.stop()


def _orphans(gone: Path, clock: Clock) -> tuple[Reader, ...]:
    return (
        ProcessTree("process_tree", NO_PROCESS, clock),
        ProcessIo(NO_PROCESS, clock),
        MachineReader(clock, proc=gone, cpus=gone),
        Diskstats("diskstats", Device("1:1", "gone", "1:1"), clock, sys=gone),
        GroupIo(NO_PROCESS, Device("1:1", "gone", "1:1"), clock, root=gone),
    )


def test_a_reading_has_every_declared_meter_and_no_other(bench: Bench) -> None:
    for probe in (*bench.probes, *bench.orphans):
        read = {reading.source: set(reading.values) for reading in probe.read()}
        assert read == {source: {meter.name for meter in meters} for source, meters in probe.meters.items()}


def test_no_two_probes_share_a_source(bench: Bench) -> None:
    sources = [source for probe in bench.probes for source in probe.meters]
    assert len(set(sources)) == len(sources)


def test_times_are_of_the_moment(bench: Bench) -> None:
    for probe in bench.probes:
        before = bench.clock.monotonic_ns(), bench.clock.wall_ns()
        for reading in probe.read():
            assert before[0] <= reading.monotonic_ns <= bench.clock.monotonic_ns()
            assert before[1] <= reading.wall_ns <= bench.clock.wall_ns()


def test_counters_never_go_back(bench: Bench) -> None:
    for probe in bench.probes:
        probe.settle()
        first = {reading.source: reading.values for reading in probe.read()}
        bench.clock.sleep(0.2)
        second = {reading.source: reading.values for reading in probe.read()}
        for source, meters in probe.meters.items():
            for meter in meters:
                old, new = first[source][meter.name], second[source][meter.name]
                assert (old is None) == (new is None), f"{source}.{meter.name}"
                if meter.cumulative and old is not None and new is not None:
                    assert new >= old, f"{source}.{meter.name}"


def test_something_is_read(bench: Bench) -> None:
    for probe in bench.probes:
        for reading in probe.read():
            # pg_stat_io is there from 16 on only; the group of a plain session keeps no account of its I/O.
            if reading.source not in ("io", "cgroup_io"):
                assert any(value is not None for value in reading.values.values()), reading.source


def test_what_is_gone_is_none_never_zero(bench: Bench) -> None:
    for probe in bench.orphans:
        probe.settle()
        for reading in probe.read():
            assert set(reading.values.values()) == {None}


def test_closing_twice_is_harmless(bench: Bench) -> None:
    for probe in bench.orphans:
        probe.close()
        probe.close()
