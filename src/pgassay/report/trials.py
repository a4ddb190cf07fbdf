"""The trials: by place and treatment, as tables ask for them, and each as a row with what became of it.

A place is a condition with a covariate point, both names empty where the study has none. A page carries at most `SHOWN`
rows, those first that do not plainly count; JSON and `pgassay export --csv` have all.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from pgassay.analysis.steadiness import Steadiness, TrialCourse
from pgassay.analysis.summary import Summary
from pgassay.record.values import TrialRecord
from pgassay.report import words
from pgassay.report.seconds import has_seconds
from pgassay.report.section import Block, Folded, Section, Sentences, Surface, Table
from pgassay.study.levels import Arm, Cell, Place
from pgassay.study.responses import Status

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

SHOWN = 400
_SERVER_SAYS = re.compile(r"\b(ERROR|FATAL|PANIC):.*", re.DOTALL)
"""What stands before it is the client's: `error: client 0 script 0 aborted in command 1 query 0: `."""


def valid_by_place(trials: Iterable[TrialRecord], arms: Iterable[Arm] = ()) -> Mapping[Cell, Sequence[TrialRecord]]:
    """The valid trials of each condition and covariate point: places as in `arms`, others as their first trials ran."""
    found: dict[Cell, list[TrialRecord]] = {arm.place.cell: [] for arm in arms}
    for trial in trials:
        if trial.status is Status.VALID:
            found.setdefault(trial.place.cell, []).append(trial)
    return {place: mine for place, mine in found.items() if mine}


def by_treatment(trials: Iterable[TrialRecord]) -> Mapping[str, Sequence[TrialRecord]]:
    """The trials of each treatment, in one pass."""
    found: dict[str, list[TrialRecord]] = {}
    for trial in trials:
        found.setdefault(trial.treatment, []).append(trial)
    return found


def by_arm(trials: Iterable[TrialRecord]) -> Mapping[Place, Sequence[TrialRecord]]:
    """The trials of each treatment, condition and covariate point, in one pass."""
    found: dict[Place, list[TrialRecord]] = {}
    for trial in trials:
        found.setdefault(trial.place, []).append(trial)
    return found


def failures(trials: Sequence[TrialRecord]) -> Mapping[Place, str]:
    """Why each treatment that never worked did not; none that worked once, or that only other programs disturbed."""
    last: dict[Place, TrialRecord] = {}
    worked: set[Place] = set()
    for trial in trials:
        place = trial.place
        if trial.status is Status.VALID:
            worked.add(place)
        elif trial.status is Status.OUTCOME:
            last[place] = trial
    reasons = {
        place: "; ".join(f"{reason.code}: {reason.detail}" for reason in trial.reasons)
        for place, trial in last.items()
        if place not in worked
    }
    return {place: text for place, text in reasons.items() if text}


def cause(trials: Sequence[TrialRecord], place: Place) -> str:
    """Why the last trial that failed there did: its first reason, in the server's own words where it has any."""
    last = next(trial for trial in reversed(trials) if trial.place == place and trial.status is Status.OUTCOME)
    detail = last.reasons[0].detail
    said = _SERVER_SAYS.search(detail)
    return " ".join((said.group() if said else detail).split())


def middle(values: Iterable[float | None]) -> float | None:
    """The median of what is known; None where nothing is."""
    known = [value for value in values if value is not None]
    return median(known) if known else None


def median_s(trials: Iterable[TrialRecord], name: str) -> float | None:
    """The median of a time of the trials' regimes: `window_s`, `warmup_s`; None where no trial has it."""
    return middle(float(s) for each in trials if isinstance(s := each.regime.get(name), int | float))


def load_level(trial: TrialRecord, option: str, default: str) -> str:
    """The canonical level of `load.OPTION`, or the `default` of a trial that names none."""
    level = trial.levels.get(f"load.{option}")
    return level.canonical if level is not None else default


def measured(rows: Sequence[Summary], *, primary: bool) -> Sequence[Summary]:
    """What a table of summaries shows: all of the primary's, of another response those that it has a value for."""
    return rows if primary else [row for row in rows if row.n] or rows


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


def rows_of(trials: Iterable[TrialRecord], courses: Mapping[int, TrialCourse], primary: str) -> tuple[TrialRow, ...]:
    """Every trial as a row, in order of number."""
    found = []
    for trial in trials:
        course = courses[trial.number]
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


def _blocks(findings: "Findings") -> Iterator[Block]:
    every = rows_of(findings.trials, findings.courses, findings.primary.name)
    rows, course = shown(every), has_seconds(findings.run.responses)
    fewer = (
        f"{len(rows)} of {len(every)} trials: those that do not count or were not steady come first;"
        " pgassay export RUN --csv gives all"
    )
    head = ["trial", "block", "treatment", "status", findings.primary.title]
    head += ["± error by its seconds", "course", "settled from"] if course else []
    cells = []
    for row in rows:
        mine = [
            str(row.number),
            str(row.block),
            row.place,
            str(row.status),
            words.quantity(row.value, findings.primary),
        ]
        if course:
            cycle = f" ({words.duration(row.cycle_s)})" if row.cycle_s else ""
            mine += [words.number(row.error), f"{row.steadiness}{cycle}", words.duration(row.truncation_s)]
        cells.append(mine)
    marked = [place for place, row in enumerate(rows) if row.doubtful]
    summary = f"Every trial{', and how it went second by second' if course else ''}"
    notes = (Sentences((fewer,), small=True),) if len(rows) < len(every) else ()
    yield Folded(summary, (*notes, Table(head, cells, marked=marked)))


def _brief(findings: "Findings") -> str:
    statuses = Counter(str(trial.status) for trial in findings.trials)
    return f"every trial: {', '.join(f'{count} {status}' for status, count in statuses.items())}"


def _plain(findings: "Findings") -> Mapping[str, object]:
    return {"courses": rows_of(findings.trials, findings.courses, findings.primary.name)}


SECTION = Section("trials", "Trials", _blocks, _plain, on=Surface.PAGE, brief=_brief)
