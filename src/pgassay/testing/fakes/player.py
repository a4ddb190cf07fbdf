"""A player of slices without a server: a given number of transactions a second, each as long as the other."""

from collections.abc import Callable

from pgassay.bench.errors import LoadError
from pgassay.bench.running import Clock
from pgassay.bench.slices import LatencyHistogram, Slice, StatementTimes

USUAL_TPS = 1000.0
"""Of each client."""


def _usual() -> float:
    return USUAL_TPS


class FakePlayer:
    """See `bench.slices.SlicePlayer`; time passes on the clock that it is given.

    `speed` is asked once a slice: transactions per second of each client; 0 stands for a server that is gone.
    """

    def __init__(self, clock: Clock, clients: int = 1, speed: Callable[[], float] = _usual) -> None:
        self._clock = clock
        self._clients = clients
        self._speed = speed
        self._open = True

    def play(self, *, duration_ms: int | None = None, transactions: int | None = None) -> Slice:
        """One slice, which takes no real time."""
        if not self._open:
            raise LoadError("the player of slices ended: it was closed")
        opened_ns = self._clock.monotonic_ns()
        speed = self._speed()
        if speed <= 0:
            return Slice(opened_ns, opened_ns, opened_ns, LatencyHistogram(), aborted=("client 0: the server is gone",))
        by_time = duration_ms is not None and (transactions is None or duration_ms * speed / 1e3 < transactions)
        length_s = (duration_ms or 0) / 1e3 if by_time else (transactions or 0) / speed
        self._clock.sleep(length_s)
        ended_ns, latency_ns = self._clock.monotonic_ns(), max(1, round(1e9 / speed))
        count = round(length_s * speed) * self._clients
        sum_ns = count * latency_ns
        return Slice(
            opened_ns=opened_ns,
            closed_ns=ended_ns,
            drained_ns=ended_ns,
            latencies=LatencyHistogram(count, sum_ns, latency_ns, latency_ns, ((latency_ns, count),)),
            statements=(StatementTimes(count, sum_ns, latency_ns, latency_ns),),
            cpu_ns=count,
        )

    def close(self) -> None:
        """Play no more."""
        self._open = False
