"""Space at the end of the windows, a column a treatment, and what would be left of it compressed; medians.

The lab records each relation's bytes as a counter, `relation.table.NAME_bytes` or `relation.index.NAME_bytes`, since no
study can know their names beforehand. What a codec would leave of tables, indexes and WAL is read from a sample of each
trial's own files (`load.compressibility`), so it holds on any drive: on one that does not compress it is what one that
does would have made of the same bytes.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from pgassay.report import formatting
from pgassay.report.section import Brief, Part, Section, Table, Values
from pgassay.report.trials import by_treatment, middle, valid_by_place

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

_PREFIX, _SUFFIX = "relation.", "_bytes"
_WHOLES = (("database_bytes", "database"), ("table_bytes", "all tables"), ("index_bytes", "all indexes"),
           ("wal_directory_bytes", "pg_wal"))  # fmt: skip
ROWS_MAX = 12
"""Of single tables and indexes; the largest ones."""


def _describe(findings: "Findings") -> Iterator[Part]:
    """A table for each condition and covariate point; nothing where no trial recorded any size."""
    database = findings.responses.get(_WHOLES[0][0])
    if sizes := [row.median for row in findings.summaries(database) if row.n] if database else []:
        least, most = formatting.size(min(sizes)), formatting.size(max(sizes))
        yield Brief(f"database {least}" if least == most else f"database {least} to {most}, by table and index")
    treatments, baseline = [each.name for each in findings.study.treatments], findings.baseline
    for place, trials in valid_by_place(findings.trials, findings.study.arms).items():
        of = by_treatment(trials)
        relations: dict[str, dict[str, float]] = {}
        counters = dict.fromkeys(chain.from_iterable(trial.counters for trial in trials))
        for name in (each for each in counters if each.startswith(_PREFIX)):
            kind, _, relation = name.removeprefix(_PREFIX).removesuffix(_SUFFIX).partition(".")
            found = {each: [trial.counters.get(name) for trial in of.get(each, ())] for each in treatments}
            relations[f"{kind} {relation}"] = _medians(found)
        if not relations:
            continue
        rows = []
        for name, title in _WHOLES:
            if name in findings.responses:
                found = {each: [trial.responses.get(name) for trial in of.get(each, ())] for each in treatments}
                if medians := _medians(found):
                    rows.append(_row(title, medians, treatments, baseline))
        largest = sorted(relations, key=lambda each: -max(relations[each].values(), default=0.0))
        rows += [_row(name, relations[name], treatments, baseline) for name in largest[:ROWS_MAX]]
        notes = ["tables include TOAST and maps; in brackets the ratio to the baseline; pg_wal includes recycled files"]
        if len(largest) > ROWS_MAX:
            notes.append(f"{len(largest) - ROWS_MAX} smaller relations are only in the trials' counters")
        yield Table(("", *(each or "median" for each in treatments)), rows, formatting.place(*place), notes)


def _medians(values: Mapping[str, list[float | None]]) -> dict[str, float]:
    medians = {treatment: middle(found) for treatment, found in values.items()}
    return {treatment: value for treatment, value in medians.items() if value is not None}


def _row(title: str, sizes: Mapping[str, float], treatments: Sequence[str], baseline: str) -> tuple[str, ...]:
    whole = sizes.get(baseline)
    cells = []
    for treatment in treatments:
        size = sizes.get(treatment)
        if size is None:
            cells.append(formatting.MISSING)
            continue
        quotient = f" ({size / whole:.3g})" if whole and treatment != baseline else ""
        cells.append(f"{formatting.size(size)}{quotient}")
    return (title, *cells)


SECTION = Section("space", "Space at the end of the window", _describe, secondary=True)

_KINDS = (("heap", "tables"), ("index", "indexes"), ("wal", "WAL since the last checkpoint"))


def _compression(findings: "Findings") -> Iterator[Part]:
    """A table for each place, bytes and ratios of each treatment; nothing where no trial was asked."""
    yield Brief("logical and compressed bytes of each kind of file, by treatment")
    treatments = [each.name for each in findings.study.treatments]
    plain: list[dict[str, Any]] = []
    for (condition, covariate), trials in valid_by_place(findings.trials, findings.study.arms).items():
        of = by_treatment(trials)
        found: dict[tuple[str, str], tuple[float | None, float | None, float | None]] = {}
        for treatment in treatments:
            kinds = {}
            for kind, _ in _KINDS:
                names = (f"stored.{kind}_logical_bytes", f"stored.{kind}_compressed_bytes")
                logical, stored = (
                    middle(trial.counters.get(name) for trial in of.get(treatment, ())) for name in names
                )
                ratio = logical / stored if logical and stored else None
                found[treatment, kind] = logical, stored, ratio
                kinds[kind] = {"logical_bytes": logical, "compressed_bytes": stored, "ratio": ratio}
            if any(each["logical_bytes"] or each["compressed_bytes"] for each in kinds.values()):
                place = {"treatment": treatment, "condition": condition, "covariate": covariate}
                plain.append({**place, "kinds": kinds})
        if any(ratio for _, _, ratio in found.values()):
            rows = [(title, *(_quotient(*found[each, kind]) for each in treatments)) for kind, title in _KINDS]
            notes = ("file size ÷ compressed size = ratio; 4 KiB blocks, estimated from a sample of the files",)
            yield Table(
                ("", *(each or "median" for each in treatments)), rows, formatting.place(condition, covariate), notes
            )
    yield Values({"stored_kinds": plain})


def _quotient(logical: float | None, stored: float | None, ratio: float | None) -> str:
    return (
        formatting.MISSING if ratio is None else f"{formatting.size(logical)} ÷ {formatting.size(stored)} = {ratio:.2f}"
    )


COMPRESSION = Section("compression", "Compressibility of tables, indexes and WAL", _compression, secondary=True)
