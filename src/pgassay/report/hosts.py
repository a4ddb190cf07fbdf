"""The effect on each host of a fleet, how far hosts differ, and what is the same of them.

A verdict over several hosts is one of this kind of host (docs/fleet.md). A host's own interval is of that host alone,
by the spread of blocks that all hosts share: it says whether one stands out, and takes no part in the verdict.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import exp, isfinite, log
from typing import TYPE_CHECKING, Any

from pgassay.analysis.hosts import BetweenHosts, HostEffect, host_interval
from pgassay.report import formatting
from pgassay.report.provenance import facts, lasting
from pgassay.report.section import (
    Block,
    Brief,
    Folded,
    Part,
    Section,
    Sentences,
    Surface,
    Table,
    Values,
)
from pgassay.study.responses import Response, Scale

if TYPE_CHECKING:
    from pgassay.analysis.effects import Effect
    from pgassay.report.findings import Findings

KIND = "this kind of host"
"""The row that the verdict is about."""
_KNOWN_FOLD = 2.0
"""Where the spread between hosts may be more than twofold, its interval tells nothing: two hosts allow anything."""


def _sentence(effect: "Effect", found: BetweenHosts, response: Response) -> str:
    hosts = formatting.counted(len(found.hosts), "host")
    spread, low, high = (_spread(value, response) for value in (found.deviation, found.low, found.high))
    about = f"{effect.place.name}: {formatting.effect(effect, response)} on {KIND}, by {hosts}"
    if not isfinite(found.deviation):
        return f"{about}; how far hosts differ is not known: none has two blocks"
    within = _spread(found.within, response)
    apart = f"between hosts the effect differs by {spread}"
    if response.scale is not Scale.RATIO or found.high <= log(_KNOWN_FOLD):
        return f"{about}; {apart} [{low}, {high}], from block to block by {within}"
    if found.low > 0:
        return f"{about}; {apart}, at least {low}, from block to block by {within}"
    return f"{about}; how far hosts differ is not known from so few: {spread} was seen, {within} from block to block"


def _spread(value: float, response: Response) -> str:
    if not isfinite(value):
        return "unknown"
    if response.scale is Scale.RATIO:
        return f"{formatting.number((exp(value) - 1) * 100)} %"
    return formatting.quantity(value, response)


def _shown(host: HostEffect, found: BetweenHosts, response: Response) -> tuple[float, float, float]:
    """A host's mean of contrasts with its interval, as a change: contrasts of ratios are logarithms."""
    mean, (low, high) = host.mean, host_interval(found, host)
    return (exp(mean), exp(low), exp(high)) if response.scale is Scale.RATIO else (mean, low, high)


def _table(findings: "Findings", effects: Sequence[tuple["Effect", BetweenHosts]]) -> Table:
    response = findings.primary
    names = list(dict.fromkeys(host.host for _, found in effects for host in found.hosts))
    rows = []
    for name in names:
        cells = []
        for _, found in effects:
            mine = next((host for host in found.hosts if host.host == name), None)
            shown = mine and formatting.interval(*_shown(mine, found, response), response.scale, response)
            cells.append(f"{shown} ({formatting.counted(mine.blocks, 'block')})" if mine else formatting.MISSING)
        rows.append([name, *cells])
    kind = [formatting.effect(effect, response) for effect, _ in effects]
    head = ["host", *(effect.place.name for effect, _ in effects)]
    note = "a host's interval is of that host alone, at 95 % and at one look; the last row is the verdict's"
    return Table(head, [*rows, [KIND, *kind]], "Effect by host", (note,), texts=True)


def _facts(fleet: Mapping[str, Any]) -> Iterator[Block]:
    """What is recorded of the hosts: what differs among them first."""
    leaves: dict[str, dict[str, str]] = {}
    for name, host in fleet.items():
        found = host.get("facts") if isinstance(host, Mapping) else None
        mine = facts(found) if isinstance(found, Mapping) else []
        leaves[str(name)] = {fact: text for fact, text in mine if lasting(fact)}
    names = list(dict.fromkeys(name for each in leaves.values() for name in each))
    rows = [[name, *(each.get(name, formatting.MISSING) for each in leaves.values())] for name in names]
    different = [row for row in rows if len(set(row[1:])) > 1]
    alike = [row for row in rows if len(set(row[1:])) == 1]
    yield Folded(
        f"What differs among the hosts: {formatting.counted(len(different), 'fact')}",
        (Table(["fact", *leaves], different, on=Surface.PAGE),),
    )
    yield Folded("What is the same", (Table(["fact", "all hosts"], [row[:2] for row in alike], on=Surface.PAGE),))


def _describe(findings: "Findings") -> Iterator[Part]:
    effects = [(each.effect, each.effect.between) for each in findings.verdicts if each.effect.between is not None]
    response = findings.primary
    if not effects:
        return
    places = [
        {
            **effect.place._asdict(), "host": host.host, "blocks": host.blocks,
            **dict(zip(("estimate", "low", "high"), _shown(host, between, response), strict=True)),
        }
        for effect, between in effects
        for host in between.hosts
    ]  # fmt: skip
    yield Values({"hosts": places})
    said = tuple(_sentence(each, found, response) for each, found in effects)
    yield Brief(said[0])
    yield Sentences(said)
    yield _table(findings, effects)
    fleet = findings.run.host.get("fleet")
    if isinstance(fleet, Mapping) and fleet:
        yield from _facts(fleet)


SECTION = Section("hosts", "By host", _describe, link="By host")
