"""What is measured for reference after a load's window: the network path to its server, and the processors alone.

The path is measured on a connection of its own. Python's part of each exchange is some microseconds, since libpq is
called directly; they belong to the trip, as a load program's own do.

`sysbench cpu` for a second, with as many threads as the load has clients, needs no memory, lock or disk: where its
curve and pgbench's bend alike, PostgreSQL scales as well as the processors do. Measured in each trial after its window,
both saw the same hour.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from pgassay import children
from pgassay.errors import UsageError
from pgassay.interfaces.client import (
    BUSY,
    HERE,
    LOOPBACK,
    RESPONSES,
    TRANSACTION_TRIPS,
    ClientHost,
    ClockExchange,
    NetworkPath,
)
from pgassay.interfaces.errors import BenchError, LoadError
from pgassay.interfaces.kinds import NONE
from pgassay.interfaces.load import LoadOptions
from pgassay.interfaces.places import Endpoint, Listening
from pgassay.interfaces.running import Runner
from pgassay.interfaces.server import Server
from pgassay.study.responses import Better, Response

if TYPE_CHECKING:
    from psycopg.pq.abc import PGresult

LOOPBACK_ADDRESS = "127.0.0.1"
TRIPS, CLOCKS, UNTIMED = 200, 50, 20
LONGEST_S = 2.0
Found = TypeVar("Found")
_FAILED = "could not measure the network between client and server"
_TIME = b"SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"


def measure(endpoint: Endpoint, clocks: int = CLOCKS) -> NetworkPath:
    """From this machine; raises `LoadError`."""
    import psycopg

    try:
        with endpoint.connect(autocommit=True) as connection:
            execute = connection.pgconn.exec_
            trips_ns = list(_until(lambda: _trip_ns(execute), UNTIMED + TRIPS))[UNTIMED:]
            return NetworkPath(trips_ns, list(_until(lambda: _clock(execute), clocks)))
    except psycopg.Error as error:
        reason = str(error).strip().splitlines()[0]
        raise LoadError(f"{_FAILED}: {reason}") from None


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
        raise LoadError(f"{_FAILED}: the server did not report its time")
    return ClockExchange(sent_ns, trip_ns, int(said) * 1000)


@dataclass(frozen=True)
class Loopback:
    """This machine as a client of itself over TCP: what encryption and the network's stack cost, without a network.

    See `interfaces.client.ClientHost`. With `absent` it stands for the worker of that name, to which no scheduler
    leads: a plan names it, a run is refused.
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


@dataclass(frozen=True)
class NetworkReference:
    """Measures the network after each window of a load that uses one: a `interfaces.reference.ReferenceMeasurement`."""

    client: Callable[[str], ClientHost | None]
    from_here: bool = field(default=False, kw_only=True)
    """The servers are elsewhere, and a load that runs here has a network to them, too."""

    def responses(self, options: LoadOptions) -> tuple[Response, ...]:
        if options.host == HERE:
            return RESPONSES if self.from_here else ()
        return RESPONSES if options.host == LOOPBACK else (*RESPONSES, BUSY)

    def measure(self, options: LoadOptions, server: Server) -> Mapping[str, float | None]:
        """None of each where it could not be measured: the load has run all the same."""
        client = self.client(options.host)
        if client is None and not self.from_here:
            return {}
        try:
            # A load that runs here has its seconds by our own clock, whatever the server's says.
            found = client.measure(server.client_endpoint) if client else measure(server.client_endpoint, clocks=0)
        except BenchError:
            found = NetworkPath((), ())
        return {**found.responses(), TRANSACTION_TRIPS.name: options.round_trips}


PROGRAM = "sysbench"
SECONDS = 1
_PATIENCE_S = 30.0

_EVENTS = re.compile(r"^\s*events per second:\s+([0-9.]+)$", re.MULTILINE)
RESPONSE = Response("cpu_yardstick_per_s", "events of sysbench cpu, as many threads as clients", "1/s", Better.HIGHER)


@dataclass(frozen=True)
class CpuYardstick:
    """The reference measurement that `load.yardstick = "cpu"` asks for."""

    runner: Runner

    def responses(self, options: LoadOptions) -> tuple[Response, ...]:
        return () if options.yardstick == NONE else (RESPONSE,)

    def measure(self, options: LoadOptions, server: Server) -> Mapping[str, float | None]:
        """Events per second with a thread for each connection of the load; None where sysbench is missing or fails."""
        if not self.responses(options):
            return {}
        found, program, threads = None, children.which(PROGRAM), max(1, options.connections)
        if program is not None:
            command = [program, "cpu", f"--threads={threads}", f"--time={SECONDS}", "run"]
            with suppress(TimeoutError):
                done = self.runner.run(command, timeout_s=SECONDS + _PATIENCE_S)
                found = _EVENTS.search(done.stdout) if done.status == 0 else None
        return {RESPONSE.name: float(found[1]) if found else None}
