"""A cacheprobe run as the published CSV, column for column, so that its authors' own spreadsheets take it.

`huge_pages(2MiB),pg_cache,pg_cache(KiB),idx1(ms),seq(ms),idx2(ms),heap_blks_read,heap_blks_hit,idx_blks_read,
idx_blks_hit,finish`; a trial without its huge pages is `hugepage_error,finish`, as there.
"""

import csv
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TextIO

from pgassay.record.errors import not_of_load
from pgassay.record.reading import Run
from pgassay.record.values import TrialRecord
from pgassay.study.responses import Status
from pgassay.study.units import parse_memory, split_quantity

HEADER = (
    "huge_pages(2MiB)", "pg_cache", "pg_cache(KiB)", "idx1(ms)", "seq(ms)", "idx2(ms)", "heap_blks_read",
    "heap_blks_hit", "idx_blks_read", "idx_blks_hit", "finish",
)  # fmt: skip
HUGE_PAGES_MISSING = "hugepage_error"
_BUFFERS = "server.shared_buffers"
_TIMES = ("idx1_ms", "seq_ms", "idx2_ms")
_BLOCKS = HEADER[6:10]


def rows(run: Run) -> Iterator[list[str]]:
    """The header, then valid trials and those without huge pages, in the order in which they ran."""
    declared = {response.name for response in run.responses}
    if not declared.issuperset(_TIMES):
        raise not_of_load(run.path, "cacheprobe")
    yield list(HEADER)
    for trial in run.trials:
        finish = datetime.fromtimestamp(trial.finished_wall_ns // 10**9, UTC).isoformat(timespec="seconds")
        if any(reason.code == HUGE_PAGES_MISSING for reason in trial.reasons):
            yield [HUGE_PAGES_MISSING, finish]
        elif trial.status is Status.VALID:
            yield [_count(trial, "huge_pages"), *_buffers(trial), *_times(trial), *_blocks(trial), finish]


def write(run: Run, file: TextIO) -> None:
    """Write all rows; open the file with `newline=""`."""
    csv.writer(file, lineterminator="\n").writerows(rows(run))


def _buffers(trial: TrialRecord) -> tuple[str, str]:
    level = trial.levels.get(_BUFFERS)
    text = level.typed if level else trial.settings.get("shared_buffers", "")
    quantity = split_quantity(text)
    return text, str(parse_memory(text) // 1024) if quantity and quantity[1] else ""


def _times(trial: TrialRecord) -> list[str]:
    """In ms to the microsecond, as pgbench prints them."""
    values = (trial.responses.get(name) for name in _TIMES)
    return ["" if value is None else f"{value:.3f}" for value in values]


def _blocks(trial: TrialRecord) -> list[str]:
    return [_count(trial, name) for name in _BLOCKS]


def _count(trial: TrialRecord, name: str) -> str:
    value = trial.responses.get(name)
    return "" if value is None else str(int(value))
