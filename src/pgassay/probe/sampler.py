"""Reads all probes once a second in the background, and exactly when asked at the window's edges.

A reader without an answer gives None and is tried again; a slow one makes the sampler skip seconds, never bunch them.
Readings never overlap, for readers hold connections; every sample carries the moment of its own reading. From the
readings at the edges `differences` makes what happened in the window: a cumulative counter that went down was reset (a
crash, pg_stat_reset), so its difference is None, never negative; the "difference" of a gauge is its value at the end.
"""

import threading
from collections.abc import Callable, Mapping, Sequence

from pgassay.interfaces.probe import Meter, Reader, Reading, Sample
from pgassay.interfaces.running import Clock

JOIN_S = 30.0


class Sampler:
    """Samples `readers` every `interval_s`; None takes no series (for a simulated clock)."""

    def __init__(self, readers: Sequence[Reader], clock: Clock, interval_s: float | None = 1.0) -> None:
        self._readers = tuple(readers)
        self._clock = clock
        self._interval_s = interval_s
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._readings: list[Reading] = []

    def meters(self) -> Mapping[str, Meter]:
        """`source.name` to meter, of all readers."""
        return {
            f"{source}.{meter.name}": meter
            for reader in self._readers
            for source, meters in reader.meters.items()
            for meter in meters
        }

    def read_all(self) -> tuple[Reading, ...]:
        """One reading of every reader, after all have settled. They are read in the order given."""
        with self._lock:
            for reader in self._readers:
                reader.settle()
            readings = tuple(reading for reader in self._readers for reading in reader.read())
            if self._thread is not None:
                self._readings.extend(readings)
            return readings

    def start(self, notify: Callable[[Reading], None] | None = None) -> None:
        """Begin the series; harmless when it has begun. `notify` gets every reading at once, in another thread."""
        if self._interval_s is None or self._thread is not None:
            return
        self._ended.clear()
        self._thread = threading.Thread(target=self._run, args=(self._interval_s, notify), name="sampler", daemon=True)
        self._thread.start()

    def rest(self) -> None:
        """Leave the server alone until `wake`: it is about to stand still. Not while a series is taken."""
        for reader in self._readers:
            reader.rest()

    def wake(self) -> None:
        """The server runs again: readers may ask it from now on."""
        for reader in self._readers:
            reader.wake()

    def stop(self) -> tuple[Sample, ...]:
        """End the series and return every sample since `start`; a second call returns the same."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(JOIN_S)
        with self._lock:
            readings = sorted(self._readings, key=lambda each: each.monotonic_ns)
        return to_samples(readings, self.meters())

    def close(self) -> None:
        self.stop()
        with self._lock:
            for reader in self._readers:
                reader.close()

    def _run(self, interval_s: float, notify: Callable[[Reading], None] | None) -> None:
        step_ns = round(interval_s * 1e9)
        due_ns = self._clock.monotonic_ns()
        while True:
            with self._lock:
                if self._ended.is_set():
                    return
                found = [each for reader in self._readers if reader.per_second for each in reader.read()]
                self._readings.extend(found)
            if notify is not None:
                for each in found:
                    notify(each)
            due_ns = next_due_ns(due_ns, self._clock.monotonic_ns(), step_ns)
            if self._ended.wait(max(0.0, (due_ns - self._clock.monotonic_ns()) / 1e9)):
                return


def next_due_ns(due_ns: int, now_ns: int, step_ns: int) -> int:
    """The next moment of the grid that is still to come: seconds that were missed are skipped, not caught up."""
    return due_ns + step_ns * max(1, -(-(now_ns - due_ns) // step_ns))


def to_samples(readings: Sequence[Reading], meters: Mapping[str, Meter]) -> tuple[Sample, ...]:
    """Readings as long rows, raw: cumulative counters stay cumulative."""
    return tuple(
        Sample(reading.monotonic_ns, reading.wall_ns, reading.source, name, meter.unit, value)
        for reading in readings
        for name, value in reading.values.items()
        if (meter := meters.get(f"{reading.source}.{name}")) is not None
    )


def differences(
    before: Sequence[Reading], after: Sequence[Reading], meters: Mapping[str, Meter]
) -> dict[str, float | None]:
    """Every meter's difference; None where either reading lacks it or it was reset.

    Several readings of one source: the first before and the last after count.
    """
    first = {reading.source: reading for reading in reversed(before)}
    last = {reading.source: reading for reading in after}
    found: dict[str, float | None] = {}
    for full_name, meter in meters.items():
        source, _, name = full_name.partition(".")
        old, new = first.get(source), last.get(source)
        end = new.values.get(name) if new is not None else None
        start = old.values.get(name) if old is not None else None
        found[full_name] = difference(start, end) if meter.cumulative else end
    return found


def difference(start: float | None, end: float | None) -> float | None:
    """End minus start; None where one is missing or the counter was reset between."""
    if start is None or end is None or end < start:
        return None
    return end - start
