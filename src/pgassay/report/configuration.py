"""What was effectively configured, side by side: a row a setting, a column a treatment, differences marked.

"Default configuration" is not one configuration: defaults depend on version, block size and machine, so the table shows
what each server said of itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pgassay.record.values import LevelRecord, Status, TrialRecord


@dataclass(frozen=True)
class Row:
    """A setting with its value in each treatment; `varied` says that the study varies it, `differs` that it differs."""

    name: str
    values: tuple[str, ...]
    varied: bool
    differs: bool

    @property
    def unexpected(self) -> bool:
        """Does it differ although the study does not vary it?"""
        return self.differs and not self.varied


def treatments_of(trials: Sequence[TrialRecord]) -> tuple[str, ...]:
    """Treatments in the order of their first trial."""
    return tuple(dict.fromkeys(trial.treatment for trial in trials))


def side_by_side(trials: Sequence[TrialRecord], varied: Sequence[str]) -> tuple[Row, ...]:
    """Every setting that some server had beyond the built-in default; a value that changed within one is joined."""
    treatments = treatments_of(trials)
    seen: dict[str, dict[str, list[str]]] = {}
    for trial in trials:
        if trial.status is Status.INVALID:
            continue
        for name, value in trial.settings.items():
            values = seen.setdefault(name, {}).setdefault(trial.treatment, [])
            if value not in values:
                values.append(value)
    rows = []
    for name in sorted(seen):
        cells = tuple(" / ".join(seen[name].get(treatment, ["(default)"])) for treatment in treatments)
        rows.append(Row(name, cells, f"server.{name}" in varied, len(set(cells)) > 1))
    return tuple(rows)


def merged(treatments: Sequence[str], rows: Sequence[Row]) -> tuple[tuple[str, ...], tuple[Row, ...]]:
    """The same with one column for treatments whose servers were configured alike: heads (a name a line), and rows."""
    alike: dict[tuple[str, ...], list[int]] = {}
    for index in range(len(treatments)):
        alike.setdefault(tuple(row.values[index] for row in rows), []).append(index)
    columns = list(alike.values())
    heads = tuple("\n".join(treatments[index] for index in column) for column in columns)
    kept = tuple(replace(row, values=tuple(row.values[column[0]] for column in columns)) for row in rows)
    return heads, kept


def levels_read_back(trials: Sequence[TrialRecord]) -> Mapping[str, Mapping[str, str]]:
    """Factor name to treatment to its level, with what the running system said of it."""
    found: dict[str, dict[str, str]] = {}
    for trial in trials:
        for name, level in trial.levels.items():
            found.setdefault(name, {}).setdefault(trial.treatment, _said(level))
    return found


def _said(level: LevelRecord) -> str:
    if level.read_back is None:
        return f"{level.typed} (as asked; nothing tells)"
    if level.read_back == level.canonical:
        return f"{level.typed} (confirmed)"
    return f"{level.typed} (the running system says {level.read_back})"
