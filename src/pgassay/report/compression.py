"""Tables, indexes and WAL apart: what each takes as files, and what a drive's codec leaves of it; medians.

Read from a sample of each trial's own files (`load.compressibility`), so it holds on any drive: on one that does not
compress it is what one that does would have made of the same bytes.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pgassay.record.values import TrialRecord
from pgassay.report import words
from pgassay.report.section import Block, Section, Table
from pgassay.report.trials import by_treatment, middle, valid_by_place

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

_KINDS = (("heap", "tables"), ("index", "indexes"), ("wal", "WAL since the last checkpoint"))
_SIDES = ("logical", "compressed")


def _blocks(findings: "Findings") -> Iterator[Block]:
    """A table for each condition and covariate point; nothing where no trial was asked."""
    for place, mine in valid_by_place(findings.trials, findings.study.arms).items():
        of = by_treatment(mine)
        treatments = [each.name for each in findings.study.treatments]
        rows = [_row(treatments, of, kind, title) for kind, title in _KINDS]
        if any(cell != words.MISSING for row in rows for cell in row[1:]):
            notes = ("file size ÷ compressed size = ratio; 4 KiB blocks, estimated from a sample of the files",)
            yield Table(("", *map(words.headed, treatments)), rows, words.place(*place), notes)


def _row(treatments: Sequence[str], of: Mapping[str, Sequence[TrialRecord]], kind: str, title: str) -> tuple[str, ...]:
    cells = []
    for treatment in treatments:
        logical, stored = _sizes(of.get(treatment, ()), kind)
        ratio = _ratio(logical, stored)
        shown = words.MISSING if ratio is None else f"{words.size(logical)} ÷ {words.size(stored)} = {ratio:.2f}"
        cells.append(shown)
    return (title, *cells)


def _sizes(trials: Sequence[TrialRecord], kind: str) -> tuple[float | None, float | None]:
    logical, stored = (middle(trial.counters.get(f"stored.{kind}_{side}_bytes") for trial in trials) for side in _SIDES)
    return logical, stored


def _ratio(logical: float | None, stored: float | None) -> float | None:
    return logical / stored if logical and stored else None


def _plain(findings: "Findings") -> Mapping[str, object]:
    """Bytes and ratios of each treatment at each place, null for what nobody asked."""
    found: list[dict[str, Any]] = []
    for (condition, covariate), mine in valid_by_place(findings.trials, findings.study.arms).items():
        of = by_treatment(mine)
        for treatment in findings.study.treatments:
            kinds = {kind: _sizes(of.get(treatment.name, ()), kind) for kind, _ in _KINDS}
            if any(size for sizes in kinds.values() for size in sizes):
                sizes_of_kinds = {
                    kind: {"logical_bytes": logical, "compressed_bytes": stored, "ratio": _ratio(logical, stored)}
                    for kind, (logical, stored) in kinds.items()
                }
                place = {"treatment": treatment.name, "condition": condition, "covariate": covariate}
                found.append({**place, "kinds": sizes_of_kinds})
    return {"stored_kinds": found}


def _brief(findings: "Findings") -> str:
    return "logical and compressed bytes of each kind of file, by treatment"


SECTION = Section(
    "compression", "Compressibility of tables, indexes and WAL", _blocks, _plain, secondary=True, brief=_brief
)
