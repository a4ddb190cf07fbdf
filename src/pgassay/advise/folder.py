"""The folder of an advice: its task, a run for every step, and in the end the configuration and what speaks for it.

The task holds all that decides, so that `--resume` needs no option that was given before. Steps are ordinary runs.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from pgassay import untrusted
from pgassay.advise.task import Question, Task
from pgassay.errors import UsageError
from pgassay.lab.workbench import BenchOptions
from pgassay.record.errors import already_there

TASK_FILE = "task.json"
LINES_FILE = "postgresql.auto.conf"
RESULT_FILE = "advice.json"
FORMAT = 1


@dataclass(frozen=True)
class SavedTask:
    """A task as its folder keeps it; where its clusters live, as texts."""

    task: Task
    question: Question
    bindir: str | None = None
    data_directory: str | None = None
    format: int = FORMAT

    def options(self, given: BenchOptions) -> BenchOptions:
        """The bench of the task, unless `given` says where things are now."""
        return replace(
            given,
            bindir=given.bindir or (Path(self.bindir) if self.bindir else None),
            data_directory=given.data_directory or (Path(self.data_directory) if self.data_directory else None),
        )


class _Answer(msgspec.Struct):
    study: str | None = None


def answered(folder: Path) -> Path:
    """The run whose page has the answer of an advice; raises `UsageError` where it has not ended, or has no page."""
    try:
        found: _Answer = untrusted.json(untrusted.read_bytes(folder / RESULT_FILE), _Answer)
    except (OSError, ValueError):
        raise UsageError(f'"{folder}" has no result', f"let it end: pgassay advise --resume {folder}") from None
    if found.study is None:
        raise UsageError(
            f'"{folder}" has no page: nothing was confirmed', f"see it with: pgassay advise --resume {folder}"
        )
    return folder / found.study


def begin(folder: Path, kept: SavedTask) -> None:
    """Make the folder with its task; raises `RecordError` where something is already."""
    if folder.exists():
        raise already_there(folder)
    folder.mkdir(parents=True)
    (folder / TASK_FILE).write_bytes(msgspec.json.format(msgspec.json.encode(kept), indent=1))


def read(folder: Path) -> SavedTask:
    """The task of a folder; raises `UsageError` where there is none."""
    try:
        found: SavedTask = untrusted.json(untrusted.read_bytes(folder / TASK_FILE), SavedTask)
    except (OSError, ValueError):
        raise UsageError(f'"{folder}" is not a directory of pgassay advise', "name the one that it has made") from None
    return found
