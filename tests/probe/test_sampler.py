"""The sampler: a grid that is kept, edges that are exact, and one owner of every connection at a time.

Differences between two readings: resets and gaps give None, never a negative or a made-up number.
"""

import threading
import time
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pgassay.host.runner import SystemClock
from pgassay.interfaces.probe import Meter, Reading
from pgassay.interfaces.running import Clock
from pgassay.probe.sampler import Sampler, difference, differences, next_due_ns
from pgassay.testing.fakes import FakeClock
from tests.fakes.probe import FakeReader

PATIENCE_S = 300.0


def test_an_edge_reads_everything_after_settling() -> None:
    clock = FakeClock()
    quick = FakeReader(clock, "quick", rates={"n": 10.0})
    slow = FakeReader(clock, "slow", gauges={"size": 3.0}, per_second=False)
    sampler = Sampler([quick, slow], clock, interval_s=None)
    readings = sampler.read_all()
    assert [reading.source for reading in readings] == ["quick", "slow"]
    assert (quick.settled, slow.settled) == (1, 1)
    assert set(sampler.meters()) == {"quick.n", "slow.size"}
    sampler.start()
    assert sampler.stop() == (), "without an interval there is no series"


class Counted(FakeReader):
    """Sets `enough` at its n-th reading, so that a test need not guess how long that takes."""

    def __init__(self, clock: Clock, source: str, readings: int, *, dies_after: int | None = None) -> None:
        super().__init__(clock, source, rates={"n": 10.0})
        self.enough = threading.Event()
        self._awaited = readings
        self._dies_after = dies_after
        self._read = 0

    def read(self) -> tuple[Reading, ...]:
        self._read += 1
        self.closed |= self._dies_after is not None and self._read > self._dies_after
        found = super().read()
        if self._read >= self._awaited:
            self.enough.set()
        return found


def test_a_series_holds_what_is_cheap_and_the_edges_hold_all() -> None:
    clock = SystemClock()
    quick = Counted(clock, "quick", readings=3)
    slow = FakeReader(clock, "slow", gauges={"size": 3.0}, per_second=False)
    sampler = Sampler([quick, slow], clock, interval_s=0.02)
    told: list[Reading] = []
    sampler.start(told.append)
    sampler.start()
    sampler.read_all()
    assert quick.enough.wait(PATIENCE_S)
    samples = sampler.stop()
    assert {reading.source for reading in told} == {"quick"}, "readings at the edges are not told"
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
    dying = Counted(clock, "dying", readings=4, dies_after=2)
    sampler = Sampler([dying], clock, interval_s=0.01)
    sampler.start()
    assert dying.enough.wait(PATIENCE_S)
    values = [sample.value for sample in sampler.stop()]
    assert values[0] is not None
    assert values[-1] is None


class Exclusive(FakeReader):
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


METERS = {
    "a.count": Meter("count", "count"),
    "a.size": Meter("size", "bytes", cumulative=False),
    "b.x": Meter("x", "ms"),
}


def reading(source: str, **values: float | None) -> Reading:
    return Reading(source, 0, 0, values)


def test_counters_differ_and_gauges_stand() -> None:
    before = [reading("a", count=10.0, size=5.0), reading("b", x=1.0)]
    after = [reading("a", count=15.0, size=4.0), reading("b", x=1.0)]
    assert differences(before, after, METERS) == {"a.count": 5.0, "a.size": 4.0, "b.x": 0.0}


def test_a_reset_a_gap_and_a_missing_source_are_none() -> None:
    before = [reading("a", count=10.0, size=None)]
    after = [reading("a", count=3.0, size=None)]
    assert differences(before, after, METERS) == {"a.count": None, "a.size": None, "b.x": None}


def test_the_outer_readings_count() -> None:
    before = [reading("a", count=1.0, size=0.0), reading("a", count=2.0, size=0.0)]
    after = [reading("a", count=8.0, size=1.0), reading("a", count=9.0, size=2.0)]
    assert differences(before, after, METERS)["a.count"] == 8.0
    assert differences(before, after, METERS)["a.size"] == 2.0


numbers = st.none() | st.floats(0, 1e15)


@given(numbers, numbers)
def test_never_negative(start: float | None, end: float | None) -> None:
    found = difference(start, end)
    if start is None or end is None or end < start:
        assert found is None
    else:
        assert found == end - start


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=20))
def test_parts_add_up_to_the_whole(steps: list[float]) -> None:
    totals = [sum(steps[: number + 1]) for number in range(len(steps))]
    parts = [difference(old, new) for old, new in pairwise(totals)]
    whole = difference(totals[0], totals[-1])
    assert whole is not None
    assert abs(sum(part or 0.0 for part in parts) - whole) <= 1e-6 * max(1.0, whole)
