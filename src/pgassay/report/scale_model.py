"""What a scale model keeps of its study and what not: the dimensionless numbers of both, side by side.

A ratio of two treatments on a model is an answer for the original only as far as the numbers that it goes by are kept;
those that are not stand first. Everything here was computed when the study was shrunk (`lab.scale_model`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from pgassay.report import formatting
from pgassay.report.section import Brief, Cell, Part, Section, Sentences, Table, Values
from pgassay.study.scale_model import Likeness, ScaleModel

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

CANNOT = (
    "a model does not tell absolute speed: transactions per second, latencies, and whatever goes by hours; B-trees are"
    " lower, and fixed costs (empty cluster, WAL files, items) weigh more"
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


def not_kept(model: ScaleModel) -> Sequence[Likeness]:
    """The numbers in which the model differs from its original."""
    return [each for each in model.likeness if each.kept is False]


def _describe(findings: "Findings") -> Iterator[Part]:
    model = findings.study.model
    if model is None:
        return
    yield Values({"scale_model": {"label": model.label, **asdict(model)}})
    kept = sum(each.kept is True for each in model.likeness)
    yield Brief(f"{model.label}, {kept} of {formatting.counted(len(model.likeness), 'dimensionless number')} kept")
    differing = ", ".join(each.name for each in not_kept(model))
    differs = f"not kept: {differing}" if differing else "every number that is known on both sides is kept"
    yield Sentences((f"all sizes are {model.times} times smaller than in the study; {differs}", CANNOT))
    rows: list[tuple[str | Cell, ...]] = [(Cell(name, note), *cells) for name, *cells, note in _rows(model)]
    yield Table(("dimensionless number", "original", "model", ""), rows, "What the model keeps", whole=True)
    sizes = [(each.factor, each.original, each.model, each.note) for each in model.resized]
    yield Table(("size", "original", "model", "not to scale"), sizes, "Sizes", texts=True, whole=True)


SECTION = Section("scale_model", "Scale model", _describe, link="Scale model")
