"""A player of slices without a server: a given number of transactions a second, each as long as the other."""

from pgassay.bench.errors import LoadError
from pgassay.bench.slices import LatencyHistogram, Slice, StatementTimes
from pgassay.testing.fakes.clock import FakeClock

_LATENCY_NS = 1_000_000


class FakePlayer:
    """See `bench.slices.SlicePlayer`; each of `clients` ends a transaction every millisecond of the fake clock."""

    def __init__(self, clock: FakeClock, clients: int = 1) -> None:
        self._clock = clock
        self._clients = clients
        self._open = True

    def play(self, *, duration_ms: int | None = None, transactions: int | None = None) -> Slice:
        """One slice, which takes no real time."""
        if not self._open:
            raise LoadError("the player of slices ended: it was closed")
        rounds = min(each for each in (duration_ms, transactions) if each is not None)
        opened_ns = self._clock.monotonic_ns()
        self._clock.sleep(rounds * _LATENCY_NS / 1e9)
        ended_ns, count = self._clock.monotonic_ns(), rounds * self._clients
        sum_ns = count * _LATENCY_NS
        return Slice(
            opened_ns=opened_ns,
            closed_ns=ended_ns,
            drained_ns=ended_ns,
            latencies=LatencyHistogram(count, sum_ns, _LATENCY_NS, _LATENCY_NS, ((_LATENCY_NS, count),)),
            statements=(StatementTimes(count, sum_ns, _LATENCY_NS, _LATENCY_NS),),
            cpu_ns=count,
        )

    def close(self) -> None:
        """Play no more."""
        self._open = False
