"""Space at the end of the windows: database, WAL, every table and every index, a column a treatment; medians.

The lab records each relation's bytes as a counter, `relation.table.NAME_bytes` or `relation.index.NAME_bytes`, since no
study can know their names beforehand.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from pgassay.record.values import TrialRecord
from pgassay.report import words
from pgassay.report.section import Block, Section, Table
from pgassay.report.trials import by_treatment, middle, valid_by_place

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

_PREFIX, _SUFFIX = "relation.", "_bytes"
_WHOLES = (("database_bytes", "database"), ("table_bytes", "all tables"), ("index_bytes", "all indexes"),
           ("wal_directory_bytes", "pg_wal"))  # fmt: skip
ROWS_MAX = 12
"""Of single tables and indexes; the largest ones."""


def _blocks(findings: "Findings") -> Iterator[Block]:
    """A table for each condition and covariate point; nothing where no trial recorded any size."""
    treatments = [each.name for each in findings.study.treatments]
    for place, mine in valid_by_place(findings.trials, findings.study.arms).items():
        yield from _tables(mine, treatments, findings.baseline, findings.responses, words.place(*place))


def _tables(
    trials: Sequence[TrialRecord],
    treatments: Sequence[str],
    baseline: str,
    responses: Container[str],
    where: str,
) -> Iterator[Table]:
    of = by_treatment(trials)
    rows = []
    relations: dict[str, dict[str, float]] = {}
    counters = dict.fromkeys(chain.from_iterable(trial.counters for trial in trials))
    for name in (each for each in counters if each.startswith(_PREFIX)):
        kind, _, relation = name.removeprefix(_PREFIX).removesuffix(_SUFFIX).partition(".")
        found = {each: [trial.counters.get(name) for trial in of.get(each, ())] for each in treatments}
        relations[f"{kind} {relation}"] = _medians(found)
    if not relations:
        return
    for name, title in _WHOLES:
        if name in responses:
            found = {each: [trial.responses.get(name) for trial in of.get(each, ())] for each in treatments}
            sizes = _medians(found)
            if sizes:
                rows.append(_row(title, sizes, treatments, baseline))
    largest = sorted(relations, key=lambda each: -max(relations[each].values(), default=0.0))
    rows += [_row(name, relations[name], treatments, baseline) for name in largest[:ROWS_MAX]]
    notes = ["tables include TOAST and maps; in brackets the ratio to the baseline; pg_wal includes recycled files"]
    if len(largest) > ROWS_MAX:
        notes.append(f"{len(largest) - ROWS_MAX} smaller relations are only in the trials' counters")
    yield Table(("", *map(words.headed, treatments)), rows, where, notes)


def _medians(values: Mapping[str, list[float | None]]) -> dict[str, float]:
    medians = {treatment: middle(found) for treatment, found in values.items()}
    return {treatment: value for treatment, value in medians.items() if value is not None}


def _row(title: str, sizes: Mapping[str, float], treatments: Sequence[str], baseline: str) -> tuple[str, ...]:
    whole = sizes.get(baseline)
    cells = []
    for treatment in treatments:
        size = sizes.get(treatment)
        if size is None:
            cells.append(words.MISSING)
            continue
        quotient = f" ({size / whole:.3g})" if whole and treatment != baseline else ""
        cells.append(f"{words.size(size)}{quotient}")
    return (title, *cells)


def _brief(findings: "Findings") -> str:
    response = findings.responses.get(_WHOLES[0][0])
    sizes = [row.median for row in findings.summaries(response) if row.n] if response else []
    if not sizes:
        return ""
    least, most = words.size(min(sizes)), words.size(max(sizes))
    return f"database {least}" if least == most else f"database {least} to {most}, by table and index"


SECTION = Section("space", "Space at the end of the window", _blocks, secondary=True, brief=_brief)
