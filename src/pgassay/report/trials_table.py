"""Every trial as a row: what it yielded, how it went second by second, what became of it.

A page carries at most `SHOWN` rows, those first that do not plainly count; JSON and `pgassay export --csv` have all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgassay.analysis.steadiness import Steadiness
from pgassay.study.responses import Status

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

SHOWN = 400


@dataclass(frozen=True)
class TrialRow:
    """One trial. `error` is the standard error of `value` by its own seconds, for transactions per second only."""

    number: int
    block: int
    attempt: int
    place: str
    status: Status
    value: float | None
    error: float | None
    steadiness: Steadiness
    truncation_s: float | None
    cycle_s: float | None

    @property
    def doubtful(self) -> bool:
        """Not valid, or known not to be flat."""
        return self.status is not Status.VALID or self.steadiness not in (Steadiness.FLAT, Steadiness.UNKNOWN)


def rows_of(findings: "Findings") -> tuple[TrialRow, ...]:
    """All trials in order of number."""
    primary = findings.primary.name
    found = []
    for trial in findings.trials:
        course = findings.courses[trial.number]
        found.append(
            TrialRow(
                number=trial.number,
                block=trial.block,
                attempt=trial.attempt,
                place=trial.arm,
                status=trial.status,
                value=trial.responses.get(primary),
                error=course.error if primary == "tps" else None,
                steadiness=course.kind,
                truncation_s=course.truncation_s,
                cycle_s=course.cycle_s,
            )
        )
    return tuple(found)


def shown(rows: Sequence[TrialRow]) -> tuple[TrialRow, ...]:
    """What a page shows: all, or the doubtful ones and then the first ones, in order of number."""
    if len(rows) <= SHOWN:
        return tuple(rows)
    first = sorted(rows, key=lambda row: (not row.doubtful, row.number))[:SHOWN]
    return tuple(sorted(first, key=lambda row: row.number))
