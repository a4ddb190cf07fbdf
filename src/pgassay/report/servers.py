"""The network between load and server, and servers of the user's that were compared: which, and what is not shown.

Of any network there is how much of a transaction's latency it takes. The record has round trips of an empty statement
on an idle connection, measured after each window, and how many of them a transaction makes. Their product is what a
transaction waits for the way there and back at least: a network in full use takes longer. It is an upper bound of what
the cable itself costs, since both ends answer within a trip; a study with `load.host = ["loopback", …]` measures what
they take without a cable.

Of servers that are compared, one instance of a kind does not show what is its kind's and what is its own. The load's
program runs here, so a server that is further away answers later: its share of the difference in latency is round trips
of a transaction times the difference of their medians, as transactions of one client follow each other.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from pgassay.design.stopping import ENOUGH
from pgassay.record.values import TrialRecord
from pgassay.report import formatting
from pgassay.report.bottleneck import trips_of
from pgassay.report.section import Brief, Part, Section, Sentences, Table, Values
from pgassay.report.trials import grouped, load_level, middle
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
    valid = (trial for trial in trials if trial.status is Status.VALID)
    for place, mine in grouped(valid, lambda trial: trial.place).items():
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


def _network(findings: "Findings") -> Iterator[Part]:
    found = paths(findings.trials)
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


NETWORK = Section("network", "The network", _network, secondary=True, link="Network")


_FACTOR = "postgres.server"
_NUMBERS = {2: "two", 3: "three", 4: "four"}
_NEGLIGIBLE_SHARE = 0.01
"""Round trips on one machine differ by chance: so little says nothing of which server is further away."""


def _of_each(findings: "Findings") -> tuple[int, int]:
    """How many kinds were compared, and by how many instances of each; zeros where no servers were."""
    kinds = findings.run.host.get("place", {}).get("servers", {})
    return (len(kinds), len(next(iter(kinds.values())))) if len(kinds) > 1 else (0, 0)


def label(findings: "Findings") -> str:
    """What a verdict on servers is about; empty for other runs."""
    kinds, each = _of_each(findings)
    if not kinds:
        return ""
    number = _NUMBERS.get(kinds, str(kinds))
    return f"on these {number} instances" if each == 1 else f"on {number} kinds of server, by {each} instances of each"


def _latency_by_distance(findings: "Findings") -> Iterator[str]:
    """What of a difference in latency is the way to the server, where treatments differ in nothing but that."""
    baseline = findings.study.design.baseline
    alike = {
        each.name
        for each in findings.study.treatments
        if {**each.levels, _FACTOR: ""} == {**baseline.levels, _FACTOR: ""} and each.name != baseline.name
    }
    found = {(each.treatment, each.condition, each.covariate): each for each in paths(findings.trials)}
    for (treatment, condition, covariate), path in found.items():
        near = found.get((baseline.name, condition, covariate)) if treatment in alike else None
        if near is not None:
            yield _distance_sentence(near, path)


def _distance_sentence(first: NetworkPath, other: NetworkPath) -> str:
    said = (
        f"a round trip takes {formatting.number(first.round_trip_us)} us with {first.place} and"
        f" {formatting.number(other.round_trip_us)} us with {other.place}"
    )
    latency_ms = [each.latency_ms for each in (first, other) if each.latency_ms is not None]
    shares = [each.latency_share for each in (first, other) if each.latency_share is not None]
    if len(latency_ms) < 2 or len(shares) < 2:
        return f"{said}; how many a transaction makes is not known"
    apart_ms, slower_ms = latency_ms[1] * shares[1] - latency_ms[0] * shares[0], latency_ms[1] - latency_ms[0]
    said += f": {formatting.number(abs(apart_ms))} ms of a transaction"
    differs = f"the {formatting.number(abs(slower_ms))} ms by which its mean latency differs"
    if abs(apart_ms) < _NEGLIGIBLE_SHARE * abs(slower_ms):
        return f"{said}, less than {formatting.share(_NEGLIGIBLE_SHARE)} of {differs}"
    if apart_ms * slower_ms <= 0.0:
        return f"{said}, which is no part of {differs}: the server that is further away is the faster one"
    if abs(apart_ms) > abs(slower_ms):
        return f"{said}, more than {differs}"
    return f"{said}, {formatting.share(apart_ms / slower_ms)} of {differs}"


def _describe(findings: "Findings") -> Iterator[Part]:
    kinds, each = _of_each(findings)
    if not kinds:
        return
    known = findings.run.host.get("attached", {})
    here = all(facts.get("here") for facts in known.values())  # round trips then differ by what each exchange wakes
    way = () if here else tuple(_latency_by_distance(findings))
    yield Values({"servers": {"of_each_kind": each, "instances": known, "network": way}})
    if each == 1:
        limits = (
            "the verdict is about these instances: one of a kind does not show what is due to its kind (version,"
            " machine, provider) and what to itself (neighbours, disk);"
            f" it takes {ENOUGH} of each (--server A=DSN,DSN,DSN)"
        )
    else:
        limits = f"a block ran on one server of each kind, and the {each} sets of them take the place of hosts"
        few = f"; so few hardly show how far instances of one kind differ: it takes {ENOUGH} of each"
        limits += few * (each < ENOUGH)
    yield Brief(limits)
    yield Sentences((limits, *way))
    names = list(dict.fromkeys(name for facts in known.values() for name in facts))
    rows = [[name, *(str(facts.get(name, formatting.MISSING)) for facts in known.values())] for name in names]
    yield Table(["", *known], rows, texts=True)


SECTION = Section("servers", "The servers", _describe, link="Servers")
