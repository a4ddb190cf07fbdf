"""A run for other programs: every trial as a row of CSV, an object of JSON or samples of Prometheus.

And a cacheprobe run in its authors' published form, column for column, as their own spreadsheets take it. In CSV
missing values are empty, which `COPY … FROM … CSV HEADER` reads as NULL; numbers read back exactly.
"""

import csv
import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, TextIO

from pgassay.outgoing import cells, in_ascii, visible
from pgassay.record.errors import RecordError
from pgassay.record.reading import Run
from pgassay.record.values import UNKNOWN_TIME_NS, TrialRecord
from pgassay.study.responses import Status
from pgassay.study.units import parse_memory, split_quantity

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
            *(*_place(trial).values(), *((trial.host,) if hosts else ())),
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


def _place(trial: TrialRecord) -> dict[str, str | int]:
    return {name: getattr(trial, name) for name in _PLACE}


def _responses(run: Run) -> list[str]:
    declared = [response.name for response in run.responses]
    return list(dict.fromkeys([*declared, *(name for trial in run.trials for name in trial.responses)]))


def write_json(run: Run, file: TextIO) -> None:
    """Write an array with an object for every committed trial, whatever its status; a missing response is null."""
    responses = _responses(run)
    file.write(in_ascii(json.dumps([_plain(trial, responses) for trial in run.trials], indent=2, allow_nan=False)))
    file.write("\n")


def _plain(trial: TrialRecord, responses: list[str]) -> dict[str, Any]:
    return {
        **_place(trial),
        "status": trial.status.value,
        "reasons": [{"code": reason.code, "detail": reason.detail} for reason in trial.reasons],
        "started": _utc(trial.started_wall_ns),
        "finished": _utc(trial.finished_wall_ns),
        "seed": trial.seed,
        "levels": {
            name: {"typed": level.typed, "canonical": level.canonical, "read_back": level.read_back}
            for name, level in trial.levels.items()
        },
        "responses": {name: _finite(trial.responses.get(name)) for name in responses},
    }


def _finite(value: float | None) -> float | None:
    """JSON and Prometheus' users have no use for what is not a number."""
    return value if value is not None and math.isfinite(value) else None


def write_prometheus(run: Run, file: TextIO) -> None:
    """Write Prometheus' text format: a gauge `pgassay_NAME` a response, with one sample for each trial that has it.

    The labels say which run, study and trial it is, its arm and its status; a missing value has no sample. There are no
    time stamps, since node_exporter's textfile collector refuses them.
    """
    about = {response.name: f"{response.title} [{response.unit or '1'}]" for response in run.responses}
    labels = {trial.number: _labels(run, trial) for trial in run.trials}
    for name in _responses(run):
        metric = f"pgassay_{re.sub(r'[^a-zA-Z0-9_]', '_', name)}"
        samples = [
            f"{metric}{{{labels[trial.number]}}} {value}\n"
            for trial in run.trials
            if (value := _finite(trial.responses.get(name))) is not None
        ]
        if samples:
            file.write(f"# HELP {metric} {_escaped(about.get(name, name), quote=False)}\n# TYPE {metric} gauge\n")
            file.writelines(samples)


def _labels(run: Run, trial: TrialRecord) -> str:
    labels: Mapping[str, object] = {
        "run": run.path.name,
        "study": run.study.get("study", {}).get("title", ""),
        "trial": trial.number,
        **{name: value for name, value in _place(trial).items() if name != "number"},
        "status": trial.status.value,
    }
    return ",".join(f'{name}="{_escaped(str(value), quote=True)}"' for name, value in labels.items())


def _escaped(text: str, *, quote: bool) -> str:
    """Backslashes and line ends, and in a label's value quotes, as the format wants them."""
    text = visible(text).replace("\\", r"\\").replace("\n", r"\n")
    return text.replace('"', r"\"") if quote else text


def _utc(wall_ns: int) -> str | None:
    """ISO 8601 in UTC, to the microsecond, without going through a float; None for a moment that is not known."""
    if wall_ns == UNKNOWN_TIME_NS:
        return None
    seconds, rest = divmod(wall_ns, _NS)
    moment = datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest // 1000, tzinfo=None)
    return f"{moment.isoformat(timespec='microseconds')}Z"


_CACHEPROBE_HEADER = (
    "huge_pages(2MiB)", "pg_cache", "pg_cache(KiB)", "idx1(ms)", "seq(ms)", "idx2(ms)", "heap_blks_read",
    "heap_blks_hit", "idx_blks_read", "idx_blks_hit", "finish",
)  # fmt: skip
_HUGE_PAGES_MISSING = "hugepage_error"
_TIMES = ("idx1_ms", "seq_ms", "idx2_ms")


def write_cacheprobe_csv(run: Run, file: TextIO) -> None:
    """Valid trials and those without huge pages, in the order in which they ran; open the file with `newline=""`.

    Raises `RecordError` for a run of another load.
    """
    if not {response.name for response in run.responses}.issuperset(_TIMES):
        raise RecordError(f'run "{run.path}" is not of the load cacheprobe, so it cannot be written in that form')
    csv.writer(file, lineterminator="\n").writerows(cells([_CACHEPROBE_HEADER, *_cacheprobe_rows(run)]))


def _cacheprobe_rows(run: Run) -> Iterator[list[str]]:
    for trial in run.trials:
        finish = datetime.fromtimestamp(trial.finished_wall_ns // _NS, UTC).isoformat(timespec="seconds")
        if any(reason.code == _HUGE_PAGES_MISSING for reason in trial.reasons):
            yield [_HUGE_PAGES_MISSING, finish]
        elif trial.status is Status.VALID:
            level = trial.levels.get("server.shared_buffers")
            buffers = level.typed if level else trial.settings.get("shared_buffers", "")
            quantity = split_quantity(buffers)
            kib = str(parse_memory(buffers) // 1024) if quantity and quantity[1] else ""
            # Times in ms to the microsecond, as pgbench prints them.
            times = ["" if value is None else f"{value:.3f}" for value in map(trial.responses.get, _TIMES)]
            blocks = [_count(trial, name) for name in _CACHEPROBE_HEADER[6:10]]
            yield [_count(trial, "huge_pages"), buffers, kib, *times, *blocks, finish]


def _count(trial: TrialRecord, name: str) -> str:
    value = trial.responses.get(name)
    return "" if value is None else str(int(value))
