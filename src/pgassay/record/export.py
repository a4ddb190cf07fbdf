"""A run for other programs: every trial as a row of CSV or an object of JSON.

In CSV missing values are empty, which `COPY … FROM … CSV HEADER` reads as NULL; numbers read back exactly.
"""

import csv
import json
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TextIO

from pgassay.outgoing import cells, in_ascii
from pgassay.record.reading import Run
from pgassay.record.values import UNKNOWN_TIME_NS

_NS = 1_000_000_000

Cell = str | int | float | None
_PLACE = ("number", "block", "attempt", "treatment", "condition", "covariate")
"""What says which trial it is, and of which arm."""


def rows(run: Run) -> Iterator[list[Cell]]:
    """The header, then a row for every committed trial, whatever its status.

    Responses come in the order of their declaration, then undeclared ones; each level as typed and as read back.
    """
    levels = list(dict.fromkeys(name for trial in run.trials for name in trial.levels))
    responses = _responses(run)
    hosts = any(trial.host for trial in run.trials)
    yield [
        *(*_PLACE, *(("host",) if hosts else ()), "status", "reasons"),
        *("started", "finished", "seed"),
        *(column for name in levels for column in (name, f"{name} read back")),
        *responses,
    ]
    for trial in run.trials:
        yield [
            *(*(getattr(trial, name) for name in _PLACE), *((trial.host,) if hosts else ())),
            *(trial.status.value, "; ".join(f"{reason.code}: {reason.detail}" for reason in trial.reasons)),
            *(_utc(trial.started_wall_ns), _utc(trial.finished_wall_ns), trial.seed),
            *(
                cell
                for level in map(trial.levels.get, levels)
                for cell in ((None, None) if level is None else (level.typed, level.read_back))
            ),
            *(trial.responses.get(name) for name in responses),
        ]


def write_csv(run: Run, file: TextIO) -> None:
    csv.writer(file, lineterminator="\n").writerows(cells(rows(run)))


def _responses(run: Run) -> list[str]:
    declared = [response.name for response in run.responses]
    return list(dict.fromkeys([*declared, *(name for trial in run.trials for name in trial.responses)]))


def write_json(run: Run, file: TextIO) -> None:
    """Write an array with an object for every committed trial, whatever its status; a missing response is null."""
    responses = _responses(run)
    objects = [
        {
            **{name: getattr(trial, name) for name in _PLACE},
            "status": trial.status.value,
            "reasons": [{"code": reason.code, "detail": reason.detail} for reason in trial.reasons],
            "started": _utc(trial.started_wall_ns),
            "finished": _utc(trial.finished_wall_ns),
            "seed": trial.seed,
            "levels": {
                name: {"typed": level.typed, "canonical": level.canonical, "read_back": level.read_back}
                for name, level in trial.levels.items()
            },
            "responses": {  # JSON has no form for what is not a number
                name: value if (value := trial.responses.get(name)) is not None and math.isfinite(value) else None
                for name in responses
            },
        }
        for trial in run.trials
    ]
    file.write(in_ascii(json.dumps(objects, indent=2, allow_nan=False)))
    file.write("\n")


def _utc(wall_ns: int) -> str | None:
    """ISO 8601 in UTC, to the microsecond, without going through a float; None for a moment that is not known."""
    if wall_ns == UNKNOWN_TIME_NS:
        return None
    seconds, rest = divmod(wall_ns, _NS)
    moment = datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest // 1000, tzinfo=None)
    return f"{moment.isoformat(timespec='microseconds')}Z"
