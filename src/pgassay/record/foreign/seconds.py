"""Rows that are seconds of a run, put together to the runs that they are: the mean is the run's value, they its series.

Seconds of one run are not independent, so a table of them holds as many results as it holds runs (see docs/lint.md).
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import fmean

from pgassay.record.foreign.roles import Roles, levels_of
from pgassay.record.foreign.values import ForeignRun, Second

_NS = 1_000_000_000


def as_runs(rows: Sequence[ForeignRun], roles: Roles) -> tuple[ForeignRun, ...]:
    """One run for each arm and repetition, in the order of their first rows; seconds without a value do not count."""
    groups: dict[tuple[str, ...], list[ForeignRun]] = {}
    for row in rows:
        key = (*levels_of(roles.levels, row.fields).values(), row.fields.get(roles.block, ""))
        groups.setdefault(key, []).append(row)
    return tuple(_run(sorted(group, key=lambda row: row.second or 0.0)) for group in groups.values())


def remarks(rows: Sequence[ForeignRun]) -> tuple[str, ...]:
    """What a reader of the runs must know of their seconds."""
    missing = sum(any(value is None for value in row.responses.values()) for row in rows)
    said = (f"the {len(rows)} lines are seconds: a run's value is their mean",)
    return (*said, f"{missing} of the seconds have no value and do not count in it") if missing else said


def _run(rows: Sequence[ForeignRun]) -> ForeignRun:
    first, last = rows[0], rows[-1]
    series = tuple(_second(row, name, value) for row in rows for name, value in row.responses.items())
    moments = [row.second or 0.0 for row in rows]
    gaps = [later - earlier for earlier, later in pairwise(moments) if later > earlier]
    length = moments[-1] - moments[0] + (min(gaps) if gaps else 1.0)
    return replace(
        first,
        place=f"{first.place} to {last.place.rpartition(' ')[2]}",
        responses={name: _mean(rows, name) for name in first.responses},
        seconds=first.seconds if first.seconds is not None else length,
        second=None,
        problems=tuple(dict.fromkeys(problem for row in rows for problem in row.problems)),
        series=series,
    )


def _mean(rows: Sequence[ForeignRun], name: str) -> float | None:
    values = [value for row in rows if (value := row.responses.get(name)) is not None]
    return fmean(values) if values else None


def _second(row: ForeignRun, name: str, value: float | None) -> Second:
    moment = round((row.second or 0.0) * _NS)
    return Second(moment, moment, "imported", name, "", value)
