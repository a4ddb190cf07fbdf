"""Imported runs in their places: treatment, condition and covariate, order, block, and whether each is a result.

An aborted or short run is an outcome with its reasons, whatever its table says of it. The planned length is the
source's own word where it has one, else what the other runs show (`analysis.lint.benchmark`). Where the source numbers
its repetitions, run k of each treatment is block k. Where it does not, the k-th run of each treatment is put into
block k, and the report says so. Rows that are seconds of a run are joined to that run, with their mean as its value:
seconds are not independent, so a table of them holds as many results as runs (docs/report.md).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from math import isfinite
from statistics import fmean

from pgassay.analysis.lint.benchmark import Length, fell_short_of
from pgassay.importing.fields import Roles, levels_of
from pgassay.importing.values import ForeignRun, Second
from pgassay.record.values import NO_VALUE, SHORT, Reason
from pgassay.study.levels import Level, Place, label

_NS = 1_000_000_000


@dataclass(frozen=True)
class Placed:
    """A run with its levels by role, and all that speaks against counting it."""

    run: ForeignRun
    treatment: Mapping[str, str]
    condition: Mapping[str, str]
    covariate: Mapping[str, str]
    planned_s: float | None
    reasons: tuple[Reason, ...]

    @property
    def place(self) -> Place:
        """Treatment, condition and covariate point by their names in the record."""
        return Place(named(self.treatment), named(self.condition), named(self.covariate))

    @property
    def counts(self) -> bool:
        """Is its value a result?"""
        return not self.reasons


def named(levels: Mapping[str, str]) -> str:
    """The label of levels as typed."""
    return label({name: Level(typed, typed) for name, typed in levels.items()})


def place(runs: Sequence[ForeignRun], roles: Roles, primary: str) -> tuple[Placed, ...]:
    """Every run with its levels, its planned length and its problems, in the order given."""
    placed = [
        Placed(
            run,
            levels_of(roles.treatment, run.fields),
            levels_of(roles.condition, run.fields),
            levels_of(roles.covariate, run.fields),
            run.planned_s,
            run.problems,
        )
        for run in runs
    ]
    lengths = [Length(str(each.place), str(each.place.cell), each.run.seconds, each.run.planned_s) for each in placed]
    targets = fell_short_of(lengths)
    return tuple(_judged(each, target, primary) for each, target in zip(placed, targets, strict=True))


def in_time(runs: Sequence[ForeignRun], ordered: bool) -> tuple[tuple[ForeignRun, ...], bool]:
    """The runs in the order in which they ran, and whether that is known: by their times, else as their source says."""
    if runs and all(run.started_s is not None for run in runs):
        return tuple(sorted(runs, key=lambda run: run.started_s or 0.0)), True
    return tuple(runs), ordered


def _judged(each: Placed, target_s: float | None, primary: str) -> Placed:
    reasons = list(each.reasons)
    codes = {reason.code for reason in reasons}
    if target_s is not None and each.run.seconds is not None and SHORT not in codes:
        of = "where similar runs took" if each.run.planned_s is None else "of"
        reasons.append(Reason(SHORT, f"ran {each.run.seconds:.3g} s {of} {target_s:.5g} s"))
    value = each.run.responses.get(primary)
    if NO_VALUE not in codes:
        if value is None:
            reasons.append(Reason(NO_VALUE, f"there is no {primary}"))
        elif not isfinite(value) or value <= 0.0:
            reasons.append(Reason(NO_VALUE, f"{primary} is {value:g}"))
    planned_s = each.run.planned_s if each.run.planned_s is not None else target_s
    return replace(each, planned_s=planned_s, reasons=tuple(reasons))


class BlockRule(StrEnum):
    """How blocks were made, as the report says it."""

    NUMBERED = "block k holds repetition k of each treatment, as the source numbers them"
    COUNTED = (
        "the source names no repetitions: block k holds the k-th run of each treatment, which takes drift out only if "
        "they ran in turn"
    )
    REPEATED = (
        "the source's repetition numbers are not whole numbers or occur twice: block k holds the k-th run of each "
        "treatment instead"
    )


def assign_blocks(placed: Sequence[Placed], block_field: str) -> tuple[tuple[int, ...], BlockRule]:
    """A block number, from 1, for each run in order, and how it was made."""
    if not block_field:
        return _counted(placed), BlockRule.COUNTED
    numbers = _numbered(placed, block_field)
    return (numbers, BlockRule.NUMBERED) if numbers is not None else (_counted(placed), BlockRule.REPEATED)


def _counted(placed: Sequence[Placed]) -> tuple[int, ...]:
    seen: dict[Place, int] = {}
    found = []
    for each in placed:
        seen[each.place] = seen.get(each.place, 0) + 1
        found.append(seen[each.place])
    return tuple(found)


def _numbered(placed: Sequence[Placed], block_field: str) -> tuple[int, ...] | None:
    """The source's numbers, counted from 1 in their order; None where one is missing or twice in an arm."""
    texts = [each.run.fields.get(block_field, "").strip() for each in placed]
    if not all(text.isdecimal() for text in texts):
        return None
    if len({(each.place, int(text)) for each, text in zip(placed, texts, strict=True)}) < len(placed):
        return None
    order = {number: position for position, number in enumerate(sorted({int(text) for text in texts}), start=1)}
    return tuple(order[int(text)] for text in texts)


def join_seconds(rows: Sequence[ForeignRun], roles: Roles) -> tuple[ForeignRun, ...]:
    """One run for each file, arm and repetition, in the order of first rows; a second without a value does not count.

    A second that is there k times in one of them belongs to k runs that were appended, in the order of the rows.
    """
    groups: dict[tuple[object, ...], list[ForeignRun]] = {}
    times: Counter[tuple[object, ...]] = Counter()
    for row in rows:
        file = row.place.rpartition(" line ")[0]
        key = (file, *levels_of(roles.levels, row.fields).values(), row.fields.get(roles.block, ""))
        times[*key, row.second] += 1
        groups.setdefault((*key, times[*key, row.second]), []).append(row)
    return tuple(_joined(sorted(group, key=lambda row: row.second or 0.0)) for group in groups.values())


def remarks_on_seconds(rows: Sequence[ForeignRun]) -> tuple[str, ...]:
    """What a reader of the runs must know of their seconds."""
    missing = sum(any(value is None for value in row.responses.values()) for row in rows)
    said = (f"the {len(rows)} lines are seconds: a run's value is their mean",)
    return (*said, f"{missing} of the seconds have no value and do not count in it") if missing else said


def _joined(rows: Sequence[ForeignRun]) -> ForeignRun:
    first, last = rows[0], rows[-1]
    series = tuple(_second(row, name, value) for row in rows for name, value in row.responses.items())
    moments = [row.second or 0.0 for row in rows]
    gaps = [later - earlier for earlier, later in pairwise(moments) if later > earlier]
    length = moments[-1] - moments[0] + min(gaps) if gaps else None
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
