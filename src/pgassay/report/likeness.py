"""How like the source's load the played one was: what every verdict says where it is not, and the figures.

A question to a capture (docs/your-server.md) is answered with another load than the source's: made of its statements,
as fast as it goes. Where too little of it is alike, the words of each verdict end with that, on every surface. All
figures were compared before the run began (`record.likeness`).
"""

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from pgassay.analysis.numbers import per_cent
from pgassay.analysis.verdicts import Kind, Verdict
from pgassay.record.ask import Likeness, likeness
from pgassay.report import formatting
from pgassay.report.section import Brief, Cell, Part, Section, Sentences, Table, Values

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

UNLIKE = "on a load unlike yours"
SHOWN = 5
"""Statements that are told, the one that differs most first."""
_TOLD = 0.01
"""A statement whose share of the time differs by less is not told."""
_TEXT_MAX = 100
_JUDGED = (Kind.BETTER, Kind.WORSE, Kind.DIFFERENT, Kind.EQUIVALENT)


def of_run(findings: "Findings") -> Likeness | None:
    """That of the run's load; None where it was compared with no other."""
    return likeness(findings.run)


def label(findings: "Findings") -> str:
    """What a headline begins with, and a verdict ends with, where the load was unlike the source's; else empty."""
    found = findings.once(of_run)
    return UNLIKE if found is not None and found.unlike else ""


def labelled(findings: "Findings", found: Verdict) -> Verdict:
    """The verdict, saying so where it was reached on a load unlike the source's."""
    said = label(findings) if found.kind in _JUDGED else ""
    return replace(found, text=f"{found.text} ({said})") if said else found


def _describe(findings: "Findings") -> Iterator[Part]:
    found = findings.once(of_run)
    if found is None:
        return
    yield Values({"likeness": {"score": found.score, "unlike": found.unlike, **asdict(found)}})
    if found.score is None:
        yield Sentences(("the load was played once on the baseline, and nothing of it could be compared",))
        return
    yield Brief(f"{per_cent(found.score)} like the source's load")
    yield Sentences(
        (
            f"the load, played once on the baseline before the run, is {per_cent(found.score)} like the source's, the"
            " mean of the parts that count and at most the share that is played; below"
            f" {per_cent(found.enough)} it is called unlike",
        )
    )
    rows: list[tuple[str | Cell, ...]] = [
        (
            Cell(each.name, "" if each.counts else "at most" if each.caps else "not counted"),
            _figure(each.source, each.unit),
            _figure(each.here, each.unit),
            formatting.share(each.likeness, 0),
        )
        for each in found.parts
    ]
    yield Table(("part", "source", "here", "alike"), rows, "The source's load and this one", whole=True)
    far = [each for each in found.statements if each.distance >= _TOLD][:SHOWN]
    if far:
        cells = [
            (
                " ".join(each.text.split())[:_TEXT_MAX],
                f"{each.source_calls:.1%} → {each.here_calls:.1%}",
                f"{each.source_time:.1%} → {each.here_time:.1%}",
                f"{_milliseconds(each.source_ms)} → {_milliseconds(each.here_ms)}",
            )
            for each in far
        ]
        head = ("statement", "of all calls", "of all time", "mean of a call")
        yield Table(head, cells, f"Statements that differ most, of {len(found.statements)}", texts=True, whole=True)


def _milliseconds(value: float | None) -> str:
    return "none" if value is None else f"{formatting.number(value)} ms"


def _figure(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    return f"{value:.1%}" if unit == "share" else f"{formatting.number(value)} {unit}".strip()


SECTION = Section("likeness", "Likeness to the source's load", _describe, link="Likeness")
