"""A run as CSV: a row a trial, with all levels and responses, for a spreadsheet or for `COPY … FROM … CSV HEADER`.

Missing values are empty, which COPY reads as NULL; numbers are written so that they read back exactly.
"""

import csv
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TextIO

from pgassay.record.reading import Run
from pgassay.record.values import TrialRecord

_NS = 1_000_000_000

Cell = str | int | float | None


def rows(run: Run) -> Iterator[list[Cell]]:
    """The header, then a row for every committed trial, whatever its status.

    Responses come in the order of their declaration, then undeclared ones; each level as typed and as read back.
    """
    levels = list(dict.fromkeys(name for trial in run.trials for name in trial.levels))
    declared = [response.name for response in run.responses]
    responses = list(dict.fromkeys([*declared, *(name for trial in run.trials for name in trial.responses)]))
    yield [
        *("number", "block", "attempt", "treatment", "condition", "covariate", "status", "reasons"),
        *("started", "finished", "seed"),
        *(column for name in levels for column in (name, f"{name} read back")),
        *responses,
    ]
    for trial in run.trials:
        yield [
            *(trial.number, trial.block, trial.attempt, trial.treatment, trial.condition, trial.covariate),
            *(trial.status.value, "; ".join(f"{reason.code}: {reason.detail}" for reason in trial.reasons)),
            *(_utc(trial.started_wall_ns), _utc(trial.finished_wall_ns), trial.seed),
            *(cell for name in levels for cell in _level(trial, name)),
            *(trial.responses.get(name) for name in responses),
        ]


def write_csv(run: Run, file: TextIO) -> None:
    """Write all rows; open the file with `newline=""`."""
    csv.writer(file, lineterminator="\n").writerows(rows(run))


def _level(trial: TrialRecord, name: str) -> tuple[Cell, Cell]:
    level = trial.levels.get(name)
    return (None, None) if level is None else (level.typed, level.read_back)


def _utc(wall_ns: int) -> str:
    """ISO 8601 in UTC, to the microsecond, without going through a float."""
    seconds, rest = divmod(wall_ns, _NS)
    moment = datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest // 1000, tzinfo=None)
    return f"{moment.isoformat(timespec='microseconds')}Z"
