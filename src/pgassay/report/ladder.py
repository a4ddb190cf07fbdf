"""The write ladder: what one transaction's row versions become on their way down to the flash, rung by rung.

Row versions, tables and indexes, WAL, file system, block layer, host writes, NAND writes:
bytes per transaction (means over the blocks, as in the table of costs), each with the source of the number. A rung
that was not measured says so.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgassay.report import costs, words
from pgassay.report.section import NOT_AVAILABLE, Brief, Part, Section, Sentences, Surface, Table, Values, folded
from pgassay.study.work import Work

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

_NAMED = 3
"""Rungs that the folded section names."""
ON_A_TERMINAL = 4
"""Ladders that a terminal shows; more are many screens."""


@dataclass(frozen=True)
class Step:
    """A rung's name, the response that measures it, and where that comes from."""

    title: str
    response: str
    source: str


STEPS: tuple[Step, ...] = (
    Step(
        "row versions", "tuple_bytes_per_transaction", "rows inserted and updated × the planner's widths: an estimate"
    ),
    Step(
        "tables and indexes",
        "relation_written_bytes_per_transaction",
        "pg_stat_io (from 16), before it buffers written × block size",
    ),
    Step("WAL", "wal_bytes_per_transaction", "pg_stat_wal, in 13 the distance of positions"),
    Step("handed to the file system", "file_written_bytes_per_transaction", "/proc/PID/io of the server's processes"),
    Step(
        "block layer, data",
        "disk_written_bytes_per_transaction",
        "/sys/dev/block of the data's device, with the file system's journal and all other programs",
    ),
    Step(
        "block layer, WAL's own device", "wal_disk_written_bytes_per_transaction", "/sys/dev/block of the WAL's device"
    ),
    Step("host writes to the drive", "host_bytes_per_transaction", "the drive's own count"),
    Step("NAND writes", "nand_bytes_per_transaction", "the drive's own count"),
)


OF_THE_SERVER = frozenset(step.title for step in STEPS[:4])
"""No rungs of a disk study, which asks the drive past a server that idles."""


@dataclass(frozen=True)
class Rung(Step):
    """One rung of one place: bytes per transaction by treatment, None where it was not measured."""

    bytes_per_transaction: tuple[float | None, ...]


@dataclass(frozen=True)
class Ladder:
    """The rungs of one condition and covariate point (`place`, empty where there are none)."""

    place: str
    treatments: tuple[str, ...]
    rungs: tuple[Rung, ...]


def ladders_of(findings: "Findings") -> tuple[Ladder, ...]:
    """A ladder for every place in which something was written; none for loads that only read."""
    treatments = tuple(treatment.name for treatment in findings.study.treatments)
    work = findings.work
    if not work.device_writes:
        return ()
    steps = STEPS if work.server_writes else tuple(each for each in STEPS if each.title not in OF_THE_SERVER)
    places = dict.fromkeys(arm.place.cell for arm in findings.study.arms)
    found = []
    for place in places:
        rungs = []
        for step in steps:
            response = findings.responses.get(step.response)
            known = {} if response is None else costs.typical(findings, response, place)
            rungs.append(Rung(step.title, step.response, step.source, tuple(map(known.get, treatments))))
        if any(value is not None for rung in rungs for value in rung.bytes_per_transaction):
            found.append(Ladder(words.place(*place), treatments, tuple(rungs)))
    return tuple(found)


def _describe(findings: "Findings") -> Iterator[Part]:
    ladders, work = findings.once(ladders_of), findings.work
    yield Values({"ladders": ladders})
    if not ladders:
        return
    first = ladders[0]
    place = first.treatments.index(findings.baseline)
    mine = [(each.title, size) for each in first.rungs if (size := each.bytes_per_transaction[place]) is not None]
    rungs = mine if len(mine) <= _NAMED else [mine[0], *mine[1 - _NAMED :]]
    where = words.place(findings.baseline, first.place)
    said = ", ".join(f"{title} {words.size(size)}" for title, size in rungs)
    yield Brief(f"{work.article}{f' of {where}' if where else ''}: {said}")
    if len(ladders) > ON_A_TERMINAL:
        many = f"the write ladders of {len(ladders)} combinations are on the page and in --json"
        yield Sentences((many,), on=Surface.TERMINAL)
    else:
        yield from (_table(each, work, Surface.TERMINAL) for each in ladders)
    yield from folded([_table(each, work, Surface.PAGE) for each in ladders])
    first_rung = "from a row version down to the flash" if work.server_writes else "down to the flash"
    notes = (
        f"{first_rung}: means over the blocks, as in the table of costs",
        "the block layer counts what reached the device in the window, late writes of the page cache and the file"
        " system's journal among them; a drive's own counts are there for emulated drives and for NVMe drives that"
        " report them",
    )
    yield Sentences(notes, small=True, joined=True, on=Surface.PAGE)


def _table(ladder: Ladder, work: Work, surface: Surface) -> Table:
    """Rung, bytes of each treatment; on a page also the source of each number."""
    sources = surface is Surface.PAGE
    head = (f"bytes written per {work.name}", *map(words.headed, ladder.treatments), *(["source"] if sources else []))
    rows = [
        (
            rung.title,
            *(NOT_AVAILABLE if size is None else words.size(size) for size in rung.bytes_per_transaction),
            *([rung.source] if sources else []),
        )
        for rung in ladder.rungs
    ]
    return Table(head, rows, ladder.place, on=surface, whole=True)


SECTION = Section("ladder", "The write ladder", _describe, secondary=True)
