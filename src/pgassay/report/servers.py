"""Servers of the user's that were compared: which they are, how far each is from the load, what is not shown of them.

One instance of a kind does not show what is its kind's and what is its own. The load's program runs here, so a server
that is further away answers later: its share of the difference in latency is round trips of a transaction times the
difference of their medians (see `network`), as transactions of one client follow each other.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pgassay.design.stopping import ENOUGH
from pgassay.report import formatting
from pgassay.report.network import NetworkPath, paths
from pgassay.report.section import Brief, Part, Section, Sentences, Table, Values

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

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


def _limits(each: int) -> str:
    if each == 1:
        return (
            "the verdict is about these instances: one of a kind does not show what is due to its kind (version,"
            " machine, provider) and what to itself (neighbours, disk);"
            f" it takes {ENOUGH} of each (--server A=DSN,DSN,DSN)"
        )
    limits = f"a block ran on one server of each kind, and the {each} sets of them take the place of hosts"
    few = f"; so few hardly show how far instances of one kind differ: it takes {ENOUGH} of each"
    return limits + few * (each < ENOUGH)


def _of_network(findings: "Findings") -> Iterator[str]:
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
            yield _way(near, path)


def _way(first: NetworkPath, other: NetworkPath) -> str:
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
    way = () if here else tuple(_of_network(findings))
    yield Values({"servers": {"of_each_kind": each, "instances": known, "network": way}})
    limits = _limits(each)
    yield Brief(limits)
    yield Sentences((limits, *way))
    names = list(dict.fromkeys(name for facts in known.values() for name in facts))
    rows = [[name, *(str(facts.get(name, formatting.MISSING)) for facts in known.values())] for name in names]
    yield Table(["", *known], rows, texts=True)


SECTION = Section("servers", "The servers", _describe, link="Servers")
