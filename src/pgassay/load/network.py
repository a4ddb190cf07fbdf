"""The network path from a load's program to its server, measured on a connection of its own, once the window is over.

Python's part of each exchange is some microseconds, since libpq is called directly; they belong to the trip, as a load
program's own do.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from pgassay.bench.client import (
    BUSY,
    HERE,
    LOOPBACK,
    RESPONSES,
    TRANSACTION_TRIPS,
    ClientHost,
    ClockExchange,
    NetworkPath,
)
from pgassay.bench.errors import BenchError, LoadError
from pgassay.bench.load import LoadOptions
from pgassay.bench.places import Endpoint, Listening
from pgassay.bench.running import Runner
from pgassay.bench.server import Server
from pgassay.errors import UsageError
from pgassay.study.responses import Response

if TYPE_CHECKING:
    from psycopg.pq.abc import PGresult

LOOPBACK_ADDRESS = "127.0.0.1"
TRIPS, CLOCKS, UNTIMED = 200, 50, 20
LONGEST_S = 2.0
Found = TypeVar("Found")
_TIME = b"SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"


def measure(endpoint: Endpoint) -> NetworkPath:
    """From this machine; raises `LoadError`."""
    import psycopg

    try:
        with endpoint.connect(autocommit=True) as connection:
            execute = connection.pgconn.exec_
            trips_ns = list(_until(lambda: _trip_ns(execute), UNTIMED + TRIPS))[UNTIMED:]
            return NetworkPath(trips_ns, list(_until(lambda: _clock(execute), CLOCKS)))
    except psycopg.Error as error:
        raise _no_path(str(error).strip().splitlines()[0]) from None


def _no_path(reason: str) -> LoadError:
    return LoadError(f"could not measure the network between client and server: {reason}")


def _until(exchange: Callable[[], Found], times: int) -> Iterator[Found]:
    """As many as `times`, or on a slow network what can be done within `LONGEST_S`."""
    begun_s = time.monotonic()
    for done in range(times):
        if done > UNTIMED and time.monotonic() - begun_s > LONGEST_S:
            return
        yield exchange()


def _trip_ns(execute: Callable[[bytes], object]) -> int:
    began_ns = time.monotonic_ns()
    execute(b"")
    return time.monotonic_ns() - began_ns


def _clock(execute: Callable[[bytes], "PGresult"]) -> ClockExchange:
    sent_ns, began_ns = time.time_ns(), time.monotonic_ns()
    answer = execute(_TIME)
    trip_ns = time.monotonic_ns() - began_ns
    said = answer.get_value(0, 0)
    if said is None:
        raise _no_path("the server did not tell its time")
    return ClockExchange(sent_ns, trip_ns, int(said) * 1000)


@dataclass(frozen=True)
class Loopback:
    """This machine as a client of itself over TCP: what encryption and the network's stack cost, without a network.

    See `bench.client.ClientHost`. With `absent` it stands for the worker of that name, to which no scheduler leads: a
    plan names it, a run is refused.
    """

    runner: Runner
    listening: Listening = field(default_factory=lambda: Listening(LOOPBACK_ADDRESS, LOOPBACK_ADDRESS))
    absent: str = ""
    player_host: None = None

    def require(self) -> None:
        if self.absent:
            raise UsageError(
                f'"load.host" names the worker "{self.absent}", and nothing leads to it',
                "--scheduler tls://HOST:PORT names the scheduler that the worker is connected to; here and loopback"
                " need none",
            )

    def measure(self, endpoint: Endpoint) -> NetworkPath:
        self.require()
        return measure(endpoint)


class NetworkReference:
    """Measures the network after each window of a load that uses one; see `bench.reference.ReferenceMeasurement`."""

    def __init__(self, client: Callable[[str], ClientHost | None]) -> None:
        self._client = client

    def responses(self, options: LoadOptions) -> tuple[Response, ...]:
        if options.host == HERE:
            return ()
        return RESPONSES if options.host == LOOPBACK else (*RESPONSES, BUSY)

    def measure(self, options: LoadOptions, server: Server) -> Mapping[str, float | None]:
        """None of each where it could not be measured: the load has run all the same."""
        client = self._client(options.host)
        if client is None:
            return {}
        try:
            found = client.measure(server.client_endpoint)
        except BenchError:
            found = NetworkPath((), ())
        return {**found.responses(), TRANSACTION_TRIPS.name: options.round_trips}
