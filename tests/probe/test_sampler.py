"""The sampler: a grid that is kept, edges that are exact, and one owner of every connection at a time."""

import threading
import time

from hypothesis import given
from hypothesis import strategies as st

from pgassay.bench.counters import Reading
from pgassay.host.clock import SystemClock
from pgassay.probe.sampler import Sampler, next_due_ns
from pgassay.testing.fakes.clock import FakeClock
from pgassay.testing.fakes.probe import FakeProbe


def test_an_edge_reads_everything_after_settling() -> None:
    clock = FakeClock()
    quick = FakeProbe(clock, "quick", rates={"n": 10.0})
    slow = FakeProbe(clock, "slow", gauges={"size": 3.0}, per_second=False)
    sampler = Sampler([quick, slow], clock, interval_s=None)
    readings = sampler.read_all()
    assert [reading.source for reading in readings] == ["quick", "slow"]
    assert (quick.settled, slow.settled) == (1, 1)
    assert set(sampler.meters()) == {"quick.n", "slow.size"}
    sampler.start()
    assert sampler.stop() == (), "without an interval there is no series"
    assert sampler.lateness_ms() is None


def test_a_series_holds_what_is_cheap_and_the_edges_hold_all() -> None:
    clock = SystemClock()
    quick = FakeProbe(clock, "quick", rates={"n": 10.0})
    slow = FakeProbe(clock, "slow", gauges={"size": 3.0}, per_second=False)
    sampler = Sampler([quick, slow], clock, interval_s=0.02)
    sampler.start()
    sampler.start()
    time.sleep(0.2)
    sampler.read_all()
    time.sleep(0.1)
    samples = sampler.stop()
    assert sampler.stop() == samples, "a second stop tells the same"
    assert [sample.value for sample in samples if sample.source == "slow"] == [3.0]
    cheap = [sample for sample in samples if sample.source == "quick"]
    assert len(cheap) >= 3
    assert [sample.monotonic_ns for sample in samples] == sorted(sample.monotonic_ns for sample in samples)
    values = [sample.value for sample in cheap if sample.value is not None]
    assert values == sorted(values)
    assert {(sample.name, sample.unit) for sample in cheap} == {("n", "count")}
    sampler.close()
    assert quick.closed
    assert slow.closed


def test_a_probe_that_dies_leaves_gaps() -> None:
    clock = SystemClock()
    dying = FakeProbe(clock, "dying", rates={"n": 1.0}, dies_at_ns=clock.monotonic_ns() + 60_000_000)
    sampler = Sampler([dying], clock, interval_s=0.01)
    sampler.start()
    time.sleep(0.2)
    values = [sample.value for sample in sampler.stop()]
    assert values[0] is not None
    assert values[-1] is None


class Exclusive(FakeProbe):
    """Notes whether two readings ever overlapped."""

    overlapped = False
    _busy = threading.Lock()

    def read(self) -> tuple[Reading, ...]:
        """Takes a while."""
        alone = self._busy.acquire(blocking=False)
        self.overlapped |= not alone
        time.sleep(0.005)
        if alone:
            self._busy.release()
        return super().read()


def test_readings_never_overlap() -> None:
    probe = Exclusive(SystemClock(), rates={"n": 1.0})
    sampler = Sampler([probe], SystemClock(), interval_s=0.001)
    sampler.start()
    for _ in range(20):
        sampler.read_all()
    sampler.close()
    assert not probe.overlapped


@given(st.integers(0, 10**12), st.integers(0, 10**12), st.integers(1, 10**10))
def test_the_grid_is_kept_and_missed_seconds_are_skipped(due_ns: int, late_ns: int, step_ns: int) -> None:
    now_ns = due_ns + late_ns
    following = next_due_ns(due_ns, now_ns, step_ns)
    assert following > due_ns
    assert (following - due_ns) % step_ns == 0
    assert now_ns <= following < max(now_ns, due_ns + 1) + step_ns
