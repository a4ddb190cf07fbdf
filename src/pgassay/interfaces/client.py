"""The host that a load's program runs on, where it is not simply where its server runs: how it is reached, and how far
it is.

`load.host` names it: `here` (by the server's private socket), `loopback` (this machine, but over TCP as if it were
another), or a worker of a fleet. The round trip is that of an empty statement, for which a server only answers. The
offset of the clocks is taken from the exchange with the shortest trip, as in NTP (RFC 5905, clock filter): whatever
delays an answer can only lengthen its trip, and the offset is wrong by half a trip at most.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Protocol

from pgassay.interfaces.hosting import Placement
from pgassay.interfaces.places import Endpoint, Listening
from pgassay.interfaces.running import Dialogue, Starter
from pgassay.study.responses import Better, Response, Scale

HERE, LOOPBACK = "here", "loopback"

ROUND_TRIP = Response(
    "network_round_trip_us", "round trip of an empty statement, median", "us", Better.LOWER, Scale.RATIO
)
SHORTEST = Response("network_shortest_trip_us", "shortest round trip of an empty statement", "us", Better.LOWER)
CLOCK_OFFSET = Response(
    "client_clock_offset_us", "the server's clock less the client's", "us", Better.NEITHER, Scale.DIFFERENCE
)
CLOCK_ERROR = Response("client_clock_error_us", "by how much that may be wrong", "us", Better.NEITHER, Scale.DIFFERENCE)
TRANSACTION_TRIPS = Response(
    "network_trips_per_transaction", "round trips of a transaction, as its scripts are written", "count", Better.NEITHER
)
BUSY = Response(
    "client_busy_share", "share of the CPU time of the load's host that was used", "share", Better.NEITHER,
    Scale.DIFFERENCE,
)  # fmt: skip
"""Of a host of its own; `cpu_busy_share` is then the server's machine alone."""
RESPONSES = (ROUND_TRIP, SHORTEST, CLOCK_OFFSET, CLOCK_ERROR, TRANSACTION_TRIPS)


@dataclass(frozen=True)
class ClockExchange:
    """One question for the server's time: when it was sent and how long the answer took by the client's clocks, and
    the answer; all in ns."""

    sent_wall_ns: int
    trip_ns: int
    server_wall_ns: int

    @property
    def offset_ns(self) -> float:
        """The server's clock less the client's, if both ways took equally long."""
        return self.server_wall_ns - (self.sent_wall_ns + self.trip_ns / 2)


@dataclass(frozen=True)
class NetworkPath:
    """What was measured between a client and its server, on an idle connection: trips of empty statements, in ns."""

    trips_ns: Sequence[int]
    clocks: Sequence[ClockExchange]

    def responses(self) -> Mapping[str, float | None]:
        found: dict[str, float | None] = dict.fromkeys(each.name for each in RESPONSES)
        if self.trips_ns:
            found[ROUND_TRIP.name] = median(self.trips_ns) / 1e3
            found[SHORTEST.name] = min(self.trips_ns) / 1e3
        if self.clocks:
            best = min(self.clocks, key=lambda each: each.trip_ns)
            found[CLOCK_OFFSET.name] = best.offset_ns / 1e3
            found[CLOCK_ERROR.name] = best.trip_ns / 2e3
        return found


class PlayerHost(Protocol):
    """Another host that the player can play on, in slices and of logs."""

    def require_player(self) -> None:
        """Raise `PgassayError` where it has none, or another version than ours."""

    def converse(self, description: Mapping[str, Any], endpoint: Endpoint, placement: Placement) -> Dialogue:
        """A player there that is connected to this server; raises `LoadError`, `ClientLostError`."""


class ClientHost(Protocol):
    """A host for the load's program that reaches the server over TCP."""

    @property
    def listening(self) -> Listening:
        """Where the server shall listen for it."""

    @property
    def runner(self) -> Starter:
        """Starts programs there."""

    @property
    def player_host(self) -> PlayerHost | None:
        """Who plays there; None where that is this machine, so that the player is started as any program here."""

    def require(self) -> None:
        """Wait until it is there, for a while; raises `PgassayError` where it is not."""

    def measure(self, endpoint: Endpoint) -> NetworkPath:
        """The way from there to this server; raises `interfaces.errors.BenchError` where it does not answer."""
