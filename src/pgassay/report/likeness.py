"""How like its original what was run is: a played load to the source's, and a scale model to its study.

A question to a capture (docs/your-server.md) is answered with another load than the source's: made of its statements,
as fast as it goes. Where too little of it is alike, the words of each verdict end with that, on every surface. All
figures were compared before the run began (`record.ask`).

A ratio of two treatments on a model is an answer for the original only as far as the dimensionless numbers that it goes
by are kept; those that are not stand first. They were computed when the study was shrunk (`lab.scale_model`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from pgassay.analysis.numbers import per_cent
from pgassay.analysis.verdicts import Kind, Verdict
from pgassay.record.ask import Likeness, likeness
from pgassay.report import formatting
from pgassay.report.section import Brief, Cell, Part, Section, Sentences, Table, Values
from pgassay.study.scale_model import ScaleModel

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

UNLIKE = "on a load unlike yours"
SHOWN = 5
"""Statements that are listed, the one that differs most first."""
_LISTED = 0.01
"""A statement whose share of the time differs by less is not listed."""
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
    rows: list[tuple[str | Cell, ...]] = []
    for part in found.parts:
        name = Cell(part.name, "" if part.counts else "at most" if part.caps else "not counted")
        figures = [_figure(value, part.unit) for value in (part.source, part.here)]
        rows.append((name, *figures, formatting.share(part.likeness, 0)))
    yield Table(("part", "source", "here", "alike"), rows, "The source's load and this one", whole=True)
    far = [each for each in found.statements if each.distance >= _LISTED][:SHOWN]
    if far:
        cells = []
        for each in far:
            times = ["none" if ms is None else f"{formatting.number(ms)} ms" for ms in (each.source_ms, each.here_ms)]
            cells.append(
                (
                    " ".join(each.text.split())[:_TEXT_MAX],
                    f"{each.source_calls:.1%} → {each.here_calls:.1%}",
                    f"{each.source_time:.1%} → {each.here_time:.1%}",
                    " → ".join(times),
                )
            )
        head = ("statement", "of all calls", "of all time", "mean of a call")
        yield Table(head, cells, f"Statements that differ most, of {len(found.statements)}", texts=True, whole=True)


def _figure(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    return f"{value:.1%}" if unit == "share" else f"{formatting.number(value)} {unit}".strip()


SECTION = Section("likeness", "Likeness to the source's load", _describe, link="Likeness")


CANNOT = (
    "a model does not show absolute speed: transactions per second, latencies, and whatever is paced by the clock;"
    " B-trees are lower, and fixed costs (empty cluster, WAL files, items) weigh more"
)
_KEPT: Mapping[bool | None, str] = {True: "kept", False: "not kept", None: "not known"}


def in_words(model: ScaleModel) -> tuple[str, ...]:
    """For a plan: what became smaller, the numbers of original and model, what a model cannot tell."""
    resized = (
        f"{each.factor} {each.original} → {each.model}{f' ({each.note})' if each.note else ''}"
        for each in model.resized
    )
    return (
        f"{model.label}: {'; '.join(resized)}",
        *(
            f"{name}: {original} in the original, {here} here, {kept}"
            + (f" ({note})" if note and kept != _KEPT[True] else "")
            for name, original, here, kept, note in _rows(model)
        ),
        CANNOT,
    )


def _rows(model: ScaleModel) -> list[tuple[str, str, str, str, str]]:
    """Those that are not kept first, then those that are not known."""
    order = (False, None, True)
    found = sorted(model.likeness, key=lambda each: order.index(each.kept))
    return [(each.name, _span(each.original), _span(each.model), _KEPT[each.kept], each.note) for each in found]


def _span(values: tuple[float, float] | None) -> str:
    if values is None:
        return formatting.MISSING
    least, most = map(formatting.number, values)
    return least if least == most else f"{least} to {most}"


def _scale_model(findings: "Findings") -> Iterator[Part]:
    model = findings.study.model
    if model is None:
        return
    yield Values({"scale_model": {"label": model.label, **asdict(model)}})
    kept = sum(each.kept is True for each in model.likeness)
    yield Brief(f"{model.label}, {kept} of {formatting.counted(len(model.likeness), 'dimensionless number')} kept")
    differing = ", ".join(each.name for each in model.likeness if each.kept is False)
    differs = f"not kept: {differing}" if differing else "every number that is known on both sides is kept"
    yield Sentences((f"all sizes are {model.times} times smaller than in the study; {differs}", CANNOT))
    rows: list[tuple[str | Cell, ...]] = [(Cell(name, note), *cells) for name, *cells, note in _rows(model)]
    yield Table(("dimensionless number", "original", "model", ""), rows, "What the model keeps", whole=True)
    sizes = [(each.factor, each.original, each.model, each.note) for each in model.resized]
    yield Table(("size", "original", "model", "not to scale"), sizes, "Sizes", texts=True, whole=True)


SCALE_MODEL = Section("scale_model", "Scale model", _scale_model, link="Scale model")
