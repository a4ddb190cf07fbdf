"""Does another PostgreSQL work beside us? One that is busy spoils ours, and ours disturbs it, so `run` asks first."""

from collections.abc import Mapping
from dataclasses import dataclass

from pgassay.host.processes import Process, descendants
from pgassay.study.findings import Finding, Severity

NAMES = ("postgres", "postmaster")
BUSY_SHARE = 0.05
"""Of one processor."""


@dataclass(frozen=True)
class Neighbour:
    """Another server: its postmaster and the share of one processor that its whole family used."""

    pid: int
    share: float


def neighbours(
    before: Mapping[int, Process], after: Mapping[int, Process], elapsed_ticks: float, ours: int
) -> list[Neighbour]:
    """Every PostgreSQL server that does not descend from process `ours`, the busiest first."""
    own = {process.pid for process in descendants(ours, dict(after))} | {ours}
    servers = [
        process
        for process in after.values()
        if process.name in NAMES
        and process.pid not in own
        and (process.parent not in after or after[process.parent].name not in NAMES)
    ]
    found = []
    for server in servers:
        family = [server, *descendants(server.pid, dict(after))]
        ticks = sum(_used(before.get(process.pid), process) for process in family)
        found.append(Neighbour(server.pid, ticks / elapsed_ticks))
    return sorted(found, key=lambda each: -each.share)


def _used(before: Process | None, after: Process) -> int:
    same = before is not None and before.started_ticks == after.started_ticks
    return after.cpu_ticks - before.cpu_ticks if same and before is not None else after.cpu_ticks


def judge(found: list[Neighbour], places: Mapping[int, str]) -> Finding:
    """`busy_neighbour`; `places` tells a server's data directory by its pid, where it may be known."""
    busy = [each for each in found if each.share >= BUSY_SHARE]
    if busy:
        names = "; ".join(
            f"process {each.pid}{_in(places.get(each.pid))} uses {each.share:.0%} of a processor" for each in busy
        )
        return Finding(
            "busy_neighbour",
            Severity.ERROR,
            f"another PostgreSQL is at work: {names}",
            "wait until it is idle: a run would disturb it, and be disturbed",
        )
    if found:
        text = f"{len(found)} other PostgreSQL server{'s are' if len(found) > 1 else ' is'} here, idle while we looked"
        return Finding("busy_neighbour", Severity.NOTE, text, "it may wake up during a run")
    return Finding("busy_neighbour", Severity.OK, "no other PostgreSQL runs here")


def _in(place: str | None) -> str:
    return f' in "{place}"' if place else ""
