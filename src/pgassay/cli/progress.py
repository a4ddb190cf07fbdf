"""Progress of runs and builds on standard error.

Of a run a bar with the time left and the current estimate, on a terminal only: elsewhere (a pipe, a log, `--json`)
nothing is printed until the end. Of a build one line that is written over, and a line now and then elsewhere.
"""

import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from pgassay.analysis.effects import Effect
from pgassay.lab.notes import Assignment
from pgassay.lab.runner import Watcher
from pgassay.record.values import TrialRecord
from pgassay.study.levels import Arm
from pgassay.study.model import Study
from pgassay.study.responses import Status

if TYPE_CHECKING:
    from pgassay.postgres.builds.compilation import Progress as BuildProgress
    from pgassay.postgres.builds.compilation import Tell

_EVERY_S = 30.0
_BAR = 20
"""Characters of a build's bar."""


@contextmanager
def watcher_for(study: Study, stream: TextIO, *, quiet: bool) -> Iterator[Watcher]:
    """A watcher that draws on `stream` if it is a terminal."""
    if quiet or not stream.isatty():
        yield Watcher()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(file=stream)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[left]}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        yield _Bar(study, progress)


class _Bar(Watcher):
    """Draws what happens. The end is not known beforehand: a study stops when it knows enough."""

    def __init__(self, study: Study, progress: object) -> None:
        from rich.progress import Progress

        assert isinstance(progress, Progress)
        self._study = study
        self._progress = progress
        self._total = len(study.arms) * study.design.blocks_max
        self._task = progress.add_task("starting", total=self._total, left="")
        self._lengths_s: list[float] = []
        self._used_s = 0.0
        self._told: Sequence[Effect] = ()

    def preparing(self, arm: Arm) -> None:
        self._progress.update(self._task, description=f"preparing {arm.name}")

    def trial_started(self, assignment: Assignment) -> None:
        text = f"block {assignment.block}, trial {assignment.number}: {assignment.arm.name}"
        self._progress.update(self._task, description=text)

    def trial_finished(self, record: TrialRecord) -> None:
        self._lengths_s.append(record.length_s)
        self._used_s += self._lengths_s[-1]
        self._progress.update(self._task, advance=1, left=self._left())
        value = record.responses.get(self._study.primary)
        if record.status is not Status.VALID or value is None:
            reasons = "; ".join(f"{reason.code}: {reason.detail}" for reason in record.reasons)
            self._progress.console.print(f"trial {record.number} ({record.treatment}) {record.status}: {reasons}")

    def estimated(self, effects: Sequence[Effect], used_s: float) -> None:
        from pgassay.report import words
        from pgassay.study.responses import Better, Response, Scale

        self._used_s = used_s
        if effects == self._told:
            return  # asked again after a drop: nothing new
        self._told = effects
        for effect in effects:
            scale = Scale(effect.scale)
            shown = words.effect(effect, Response(effect.response, effect.response, "", Better.HIGHER, scale))
            seen = words.counted(effect.blocks, "block")
            self._progress.console.print(f"after {seen}: {effect.treatment}: {effect.response} {shown}")

    def dropped(self, arm_name: str, reason: str) -> None:
        self._progress.console.print(f"{arm_name}: {reason}")

    def _left(self) -> str:
        from pgassay.report import words

        mean_s = sum(self._lengths_s) / len(self._lengths_s)
        left_s = (self._total - len(self._lengths_s)) * mean_s
        budget_s = self._study.design.budget_s
        if budget_s is not None:
            left_s = min(left_s, max(0.0, budget_s - self._used_s))
        return f"at most {words.duration(left_s)} left"


def teller(*, quiet: bool = False) -> "Tell":
    """A function that prints a build's progress on standard error."""
    from pgassay.postgres.builds.compilation import tell_nobody

    if quiet:
        return tell_nobody
    return _BuildLine() if sys.stderr.isatty() else _BuildLines()


def build_line(progress: "BuildProgress") -> str:
    """`building PostgreSQL 15.18, 2kB pages, 8kB WAL blocks: make, 312 of 1020 objects, 80 s, about 190 s left`."""
    left = progress.left_s
    ending = f", about {left:.0f} s left" if left is not None else ""
    return (
        f"building PostgreSQL {progress.name}: {progress.step}, {progress.objects} of about"
        f" {max(progress.objects, progress.expected)} objects, {progress.seconds:.0f} s{ending}"
    )


class _BuildLines:
    """A line when a build begins, then every half minute."""

    def __init__(self) -> None:
        self._name = ""
        self._told_s = 0.0

    def __call__(self, progress: "BuildProgress") -> None:
        if progress.name != self._name or progress.seconds - self._told_s >= _EVERY_S:
            self._name, self._told_s = progress.name, progress.seconds
            print(build_line(progress), file=sys.stderr, flush=True)


def build_bar(progress: "BuildProgress", columns: int) -> str:
    """`[#######-------------] about 190 s left: PostgreSQL 15.18, 2kB pages, 8kB WAL blocks: make, 80 s`, cut to fit.

    A line that wraps could not be written over.
    """
    share = 1.0 if progress.done else min(1.0, progress.objects / progress.expected)
    bar = f"[{'#' * int(share * _BAR):-<{_BAR}}]"
    left = progress.left_s
    told = "done" if progress.done else "" if left is None else f"about {left:.0f} s left"
    text = f"{told + ': ' if told else ''}PostgreSQL {progress.name}: {progress.step}, {progress.seconds:.0f} s"
    return f"{bar} {text}"[: max(1, columns - 1)]


class _BuildLine:
    """One line with a bar, written over."""

    def __call__(self, progress: "BuildProgress") -> None:
        told = build_bar(progress, shutil.get_terminal_size().columns)
        print(f"\r\x1b[K{told}", end="\n" if progress.done else "", file=sys.stderr, flush=True)
