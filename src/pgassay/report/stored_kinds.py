"""Tables, indexes and WAL apart: what each takes as files, and what a drive's codec leaves of it; medians.

Read from a sample of each trial's own files (`load.compressibility`), so it holds on any drive: on one that does not
compress it is what one that does would have made of the same bytes.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pgassay.record.values import TrialRecord
from pgassay.report import words
from pgassay.report.findings import Findings
from pgassay.report.part import Part
from pgassay.report.trials import by_treatment, middle, valid_by_place

_KINDS = (("heap", "tables"), ("index", "indexes"), ("wal", "WAL since the last checkpoint"))
_SIDES = ("logical", "compressed")


def parts(findings: Findings) -> Iterator[Part]:
    """A table for each condition and covariate point; nothing where no trial was asked."""
    for place, mine in valid_by_place(findings.trials, findings.study.arms).items():
        of = by_treatment(mine)
        rows = [_row(findings, of, kind, title) for kind, title in _KINDS]
        if any(cell != words.MISSING for row in rows for cell in row[1:]):
            where = words.place(*place)
            head = ("", *(words.headed(each.name) for each in findings.study.treatments))
            title = f"What compression leaves of tables, indexes and WAL{f': {where}' if where else ''}"
            notes = ("size of the files ÷ what the codec leaves of it = ratio; 4 KiB blocks, by a sample of the files",)
            yield Part(title, (head, *rows), notes)


def as_plain(findings: Findings) -> list[dict[str, Any]]:
    """For `--json`: bytes and ratios of each treatment at each place, null for what nobody asked."""
    found = []
    for (condition, covariate), mine in valid_by_place(findings.trials, findings.study.arms).items():
        of = by_treatment(mine)
        for treatment in findings.study.treatments:
            kinds = {kind: _sizes(of.get(treatment.name, ()), kind) for kind, _ in _KINDS}
            if any(size for sizes in kinds.values() for size in sizes):
                told = {
                    kind: {"logical_bytes": logical, "compressed_bytes": stored, "ratio": _ratio(logical, stored)}
                    for kind, (logical, stored) in kinds.items()
                }
                place = {"treatment": treatment.name, "condition": condition, "covariate": covariate}
                found.append({**place, "kinds": told})
    return found


def _row(findings: Findings, of: Mapping[str, Sequence[TrialRecord]], kind: str, title: str) -> tuple[str, ...]:
    cells = []
    for treatment in findings.study.treatments:
        logical, stored = _sizes(of.get(treatment.name, ()), kind)
        ratio = _ratio(logical, stored)
        shown = words.MISSING if ratio is None else f"{words.size(logical)} ÷ {words.size(stored)} = {ratio:.2f}"
        cells.append(shown)
    return (title, *cells)


def _sizes(trials: Sequence[TrialRecord], kind: str) -> tuple[float | None, float | None]:
    logical, stored = (middle(trial.counters.get(f"stored.{kind}_{side}_bytes") for trial in trials) for side in _SIDES)
    return logical, stored


def _ratio(logical: float | None, stored: float | None) -> float | None:
    return logical / stored if logical and stored else None
