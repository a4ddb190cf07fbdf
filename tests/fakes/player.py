"""A player of slices without a server, and a metronome without a machine; both let a given clock's time pass."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from pgassay.interfaces.errors import LoadError
from pgassay.interfaces.running import Clock
from pgassay.interfaces.slices import Beat, LatencyHistogram, Slice, StatementTimes

USUAL_TPS = 1000.0
"""Of each client."""


def _usual() -> float:
    return USUAL_TPS


class FakePlayer:
    """See `interfaces.slices.SlicePlayer`; time passes on the clock that it is given.

    `speed` is asked once a slice: transactions per second of each client; 0 stands for a server that is gone.
    """

    def __init__(self, clock: Clock, clients: int = 1, speed: Callable[[], float] = _usual) -> None:
        self._clock = clock
        self._clients = clients
        self._speed = speed
        self._open = True
        self._ended = False
        self.paired = False

    def play(self, *, duration_ms: int | None = None, transactions: int | None = None) -> Slice:
        """One slice, which takes no real time."""
        if not self._open:
            raise LoadError("the player of slices ended: it was closed")
        opened_ns = self._clock.monotonic_ns()
        nothing = Slice(opened_ns, opened_ns, opened_ns, LatencyHistogram(), (LatencyHistogram(),))
        if self._ended:
            return nothing  # The slice in which its clients ended has said so.
        speed = self._speed()
        if speed <= 0:
            self._ended = True
            return replace(nothing, aborted=("client 0: the server is gone",))
        by_time = duration_ms is not None and (transactions is None or duration_ms * speed / 1e3 < transactions)
        length_s = (duration_ms or 0) / 1e3 if by_time else (transactions or 0) / speed
        self._clock.sleep(length_s)
        ended_ns, latency_ns = self._clock.monotonic_ns(), max(1, round(1e9 / speed))
        count = round(length_s * speed) * self._clients
        sum_ns = count * latency_ns
        latencies = LatencyHistogram(count, sum_ns, latency_ns, latency_ns, ((latency_ns, count),))
        return Slice(
            opened_ns=opened_ns,
            closed_ns=ended_ns,
            drained_ns=ended_ns,
            latencies=latencies,
            scripts=(latencies,),
            statements=(StatementTimes(count, sum_ns, latency_ns, latency_ns),),
            cpu_ns=count,
            parts=() if duration_ms is None else _tenths(count),
        )

    def close(self) -> None:
        """Close it: a slice that is asked for afterwards is refused."""
        self._open = False


def _tenths(count: int) -> tuple[int, ...]:
    return tuple(count * (part + 1) // 10 - count * part // 10 for part in range(10))


class FakeMetronome:
    """See `interfaces.slices.Metronome`; `slowness` is asked at each beat and stretches everything that is measured."""

    def __init__(
        self, clock: Clock, cores: Sequence[int] = (0, 1), slowness: Callable[[], float] = lambda: 1.0
    ) -> None:
        self._clock = clock
        self._cores = tuple(cores)
        self._slowness = slowness
        self._open = True

    def beat(self) -> Beat:
        """Three milliseconds of the fake clock at the usual speed."""
        if not self._open:
            raise LoadError("the player of slices ended: it was closed")
        each_ns = round(1e6 * self._slowness())
        began_ns = self._clock.monotonic_ns()
        self._clock.sleep(3 * each_ns / 1e9)
        by_core = (each_ns,) * len(self._cores)
        return Beat(began_ns, self._clock.monotonic_ns(), self._cores, by_core, by_core, each_ns)

    def close(self) -> None:
        """Note that the metronome was closed."""
        self._open = False
