"""The network: how far the load's host is from its server, and how much of a transaction's latency that is.

The record has round trips of an empty statement on an idle connection, measured after each window, and how many of them
a transaction makes. Their product is what a transaction waits for the way there and back at least: a network in full
use takes longer. It is an upper bound of what the cable itself costs, since both ends answer within a trip; a study
with `load.host = ["loopback", …]` measures what they take without a cable.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from pgassay.record.values import TrialRecord
from pgassay.report import formatting
from pgassay.report.bottleneck import trips_of
from pgassay.report.section import Brief, Part, Section, Table, Values
from pgassay.report.trials import by_arm, load_level, middle
from pgassay.study.responses import Status

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

_TRIP, _SHORTEST, _TRIPS = "network_round_trip_us", "network_shortest_trip_us", "network_trips_per_transaction"
_OFFSET, _ERROR = "client_clock_offset_us", "client_clock_error_us"
_LATENCY, _RATE, _STATEMENTS = "latency_ms", "tps", "qps"
_CLIENT_BUSY, _SERVER_BUSY = "client_busy_share", "cpu_busy_share"
_READ = (
    _TRIP, _SHORTEST, _TRIPS, _OFFSET, _ERROR, _LATENCY, _RATE, _STATEMENTS, _CLIENT_BUSY, _SERVER_BUSY,
)  # fmt: skip
_LOOPBACK = "loopback"
_NOTES = (
    "a round trip is that of an empty statement on an idle connection, after the window; medians over valid trials",
    "on the way: round trips of a transaction × their median ÷ its mean latency; both ends answer in that time, too",
)


@dataclass(frozen=True)
class NetworkPath:
    """Medians of one treatment, condition and covariate point; None for what is not known.

    `latency_share` is what a transaction's round trips take of its mean latency. It is above 1 where an idle
    connection answers slower than a busy one, whose processors are awake.
    """

    treatment: str
    condition: str
    covariate: str
    load_host: str
    round_trip_us: float
    shortest_trip_us: float | None
    trips_per_transaction: float | None
    tps: float | None
    latency_ms: float | None
    latency_share: float | None
    client_busy_share: float | None
    server_busy_share: float | None
    clock_offset_us: float | None
    clock_error_us: float | None

    @property
    def place(self) -> str:
        """Treatment, condition and covariate; `the load` where the study has none of them."""
        return formatting.place(self.treatment, self.condition, self.covariate) or "the load"


def paths(trials: Sequence[TrialRecord]) -> tuple[NetworkPath, ...]:
    """Every arm whose load reached its server over a network, in the order of the trials."""
    found = []
    for place, mine in by_arm(trial for trial in trials if trial.status is Status.VALID).items():
        medians = {name: middle(trial.responses.get(name) for trial in mine) for name in _READ}
        trip_us = medians[_TRIP]
        if trip_us is None:
            continue
        trips, latency_ms = trips_of(medians, _RATE), medians[_LATENCY]
        share = trips * trip_us / (latency_ms * 1e3) if trips is not None and latency_ms else None
        found.append(NetworkPath(
            *place, load_level(mine[0], "host", ""), trip_us, medians[_SHORTEST], trips, medians[_RATE], latency_ms,
            share, medians[_CLIENT_BUSY], medians[_SERVER_BUSY], medians[_OFFSET], medians[_ERROR],
        ))  # fmt: skip
    return tuple(found)


def _describe(findings: "Findings") -> Iterator[Part]:
    found = paths(findings.run.trials)
    if not found:
        return
    yield Values({"network": [asdict(each) for each in found]})
    known = [each for each in found if each.latency_share is not None]
    if known:
        most = max(known, key=lambda each: each.latency_share or 0.0)
        trips, trip_us = formatting.number(most.trips_per_transaction), formatting.number(most.round_trip_us)
        said = f"{trips} round trips of {trip_us} us take {formatting.share(most.latency_share)} of a latency"
        yield Brief(said if len(found) == 1 else f"{said} with {most.place}, where they take most")
    head = [
        "", "host of the load", "round trip, us", "shortest, us", "trips", "latency, ms", "on the way", "client busy",
        "server's machine busy",
    ]  # fmt: skip
    rows = [
        [
            each.place, each.load_host or formatting.MISSING, formatting.number(each.round_trip_us),
            formatting.number(each.shortest_trip_us), formatting.number(each.trips_per_transaction),
            formatting.number(each.latency_ms), formatting.share(each.latency_share),
            formatting.share(each.client_busy_share), formatting.share(each.server_busy_share),
        ]
        for each in found
    ]  # fmt: skip
    notes = [*_NOTES]
    if clocks := [
        (abs(each.clock_offset_us), each.clock_error_us)
        for each in found
        if each.load_host != _LOOPBACK and each.clock_offset_us is not None and each.clock_error_us is not None
    ]:
        offset_us, error_us = max(clocks)
        notes.append(
            f"the clocks of the load's host and of the server's were {formatting.number(offset_us)} us apart at most, "
            f"known to ± {formatting.number(error_us)} us; the load's seconds are put into the server's time by that"
        )
    yield Table(head, rows, notes=notes)


SECTION = Section("network", "The network", _describe, secondary=True, link="Network")
