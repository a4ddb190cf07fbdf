"""Progress while a run goes on: a bar with the time left and the current estimate, on a terminal only.

Elsewhere (a pipe, a log, `--json`) nothing is printed until the end.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

from pgassay.analysis.effects import Effect
from pgassay.lab.notes import Assignment
from pgassay.lab.runner import Watcher
from pgassay.record.values import TrialRecord
from pgassay.study.levels import Arm
from pgassay.study.model import Study
from pgassay.study.responses import Status


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
