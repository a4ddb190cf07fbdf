"""Every probe of ours, every reader of theirs and the fake one keep the contract of probes."""

from collections.abc import Iterator

import pytest

from pgassay.host.runner import SystemClock
from pgassay.interfaces.probe import Probe, Target
from pgassay.probe.procfs import Device, Diskstats, MachineReader, ProcessIo, ProcessTree
from pgassay.probe.registry import PROBES, Probes
from pgassay.testing import real
from pgassay.testing.contracts import ProbeContract, ReaderContract, Readers
from pgassay.testing.fakes import FakeClock
from tests.fakes.probe import FakeReader

NO_PROCESS = 2**22 + 1


class TestProbes(ProbeContract):
    @pytest.fixture(params=PROBES, ids=[probe.name for probe in PROBES])
    def probe(self, request: pytest.FixtureRequest) -> Probe:
        probe: Probe = request.param
        return probe


class TestFakeReader(ReaderContract):
    @pytest.fixture(scope="class")
    @classmethod
    def readers(cls) -> Readers:
        clock = FakeClock()
        alive = FakeReader(clock, rates={"transactions": 1000.0}, gauges={"size_bytes": 8192.0})
        return Readers(clock, (alive,), (FakeReader(clock, rates={"transactions": 1.0}, dies_at_ns=0),))


@pytest.mark.system
class TestRealReaders(ReaderContract):
    @pytest.fixture(scope="class")
    @classmethod
    def readers(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Readers]:
        gone, clock = tmp_path_factory.mktemp("empty"), SystemClock()
        orphaned = (
            ProcessTree("process_tree", NO_PROCESS, clock),
            ProcessIo("process_io", NO_PROCESS, clock),
            MachineReader(clock, proc=gone, cpus=gone),
            Diskstats("diskstats", Device("1:1", "gone", "1:1"), clock, sys=gone),
        )
        with real.server() as (server, directory):
            working = Probes().open(Target(server, directory, clock))
            # pg_stat_io is there from 16 on only.
            yield Readers(clock, working, orphaned, sparse=("io",))
            for reader in working:
                reader.close()
