"""Progress of runs and builds on standard error.

Of a run a bar with the time left and the current estimate on a terminal, and a line a block elsewhere (a pipe, a log);
nothing with `--json` or `--quiet`. Of a build a line now and then.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from math import isfinite
from typing import TYPE_CHECKING, TextIO, cast

from pgassay.analysis.effects import Effect
from pgassay.lab.runner import Watcher
from pgassay.lab.trial_state import Assignment, HostState
from pgassay.outgoing import Output, plain, visible
from pgassay.record.values import TrialRecord
from pgassay.report import formatting
from pgassay.report.trials import Remaining
from pgassay.study.levels import Arm
from pgassay.study.model import Study
from pgassay.study.responses import Better, Response, Scale, Status

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from pgassay.postgres.builds.builder import Progress as BuildProgress


_EVERY_S = 30.0
EFFECTS_SHOWN = 4
"""Of a block's line."""


@contextmanager
def watcher_for(study: Study, stream: TextIO, *, quiet: bool) -> Iterator[Watcher]:
    """A watcher that draws on `stream` if it is a terminal, and else prints a line a block."""
    if quiet:
        yield Watcher()
        return
    left = Remaining(study)
    if not stream.isatty():
        lines = BlockLines(left, stream)
        yield lines
        lines.end()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(file=plain(stream), markup=False, emoji=False)
    doing, remaining = (TextColumn(f"{{task.{name}}}", markup=False) for name in ("description", "fields[left]"))
    with (
        Progress(doing, BarColumn(), remaining, TimeElapsedColumn(), console=console, transient=True) as progress,
        # The bar takes over what others print, and writes to the stream below ours.
        redirect_stdout(cast("TextIO", Output(sys.stdout))),
        redirect_stderr(cast("TextIO", Output(sys.stderr))),
    ):
        yield _Bar(left, study.primary, progress)


class _Bar(Watcher):
    """Draws what happens. The end is not known beforehand: a study stops when it knows enough."""

    def __init__(self, left: Remaining, primary: str, progress: "Progress") -> None:
        self._left = left
        self._primary = primary
        self._progress = progress
        self._task = progress.add_task("starting", total=1.0, left="")
        self._shown: Sequence[Effect] = ()
        self._hosts: dict[str, TaskID] = {}

    def preparing(self, arm: Arm) -> None:
        self._progress.update(self._task, description=visible(f"preparing {arm.name}", keep=""))

    def trial_started(self, assignment: Assignment) -> None:
        text = f"block {assignment.block}, trial {assignment.number}: {assignment.arm.name}"
        self._progress.update(self._task, description=visible(text, keep=""))

    def trial_finished(self, record: TrialRecord) -> None:
        self._left.add(record)
        self._draw()
        value = record.responses.get(self._primary)
        if record.status is not Status.VALID or value is None:
            reasons = "; ".join(f"{reason.code}: {reason.detail}" for reason in record.reasons)
            self._notify(f"trial {record.number} ({record.treatment}) {record.status}: {reasons}")

    def estimated(self, effects: Sequence[Effect], used_s: float) -> None:
        self._left.used_s = used_s
        self._draw()
        if effects == self._shown:
            return  # asked again after a drop: nothing new
        self._shown = effects
        for effect in effects:
            self._notify(f"after {formatting.counted(effect.blocks, 'block')}: {_said(effect)}")

    def ruled(self, study: Study) -> None:
        self._left.design = study.design

    def dropped(self, arm_name: str, reason: str) -> None:
        self._left.drop()
        self._notify(f"{arm_name}: {reason}")

    def hosts(self, states: Sequence[HostState]) -> None:
        lines = {each.host: _doing(each) for each in states}
        for host in (*self._hosts, *lines):
            if host not in self._hosts:
                self._hosts[host] = self._progress.add_task("", total=1, left="")
            description = visible(lines.get(host, f"{host}: gone"), keep="")
            self._progress.update(self._hosts[host], description=description)

    def _draw(self) -> None:
        """As full as the time that is used of all that the run may take: of the budget, where that ends it."""
        left, used_s = self._left, self._left.used_s
        if isfinite(left.left_s):
            self._progress.update(self._task, completed=used_s, total=used_s + left.left_s, left=str(left))

    def _notify(self, text: str) -> None:
        self._progress.console.print(visible(text, keep=""))


class BlockLines(Watcher):
    """Prints one line for each block on a stream that is no terminal: how it went, and the estimates after it."""

    def __init__(self, left: Remaining, stream: TextIO) -> None:
        self._left = left
        self._stream = stream
        self._trials: list[TrialRecord] = []
        self._effects: Sequence[Effect] = ()
        self._dropped: list[str] = []
        self._hosts: frozenset[str] = frozenset()
        self._late: set[tuple[str, int | None]] = set()

    def trial_started(self, assignment: Assignment) -> None:
        if self._trials and assignment.block != self._trials[-1].block:
            self.end()

    def trial_finished(self, record: TrialRecord) -> None:
        self._left.add(record)
        self._trials.append(record)

    def estimated(self, effects: Sequence[Effect], used_s: float) -> None:
        self._left.used_s = used_s
        self._effects = effects

    def ruled(self, study: Study) -> None:
        self._left.design = study.design

    def dropped(self, arm_name: str, reason: str) -> None:
        self._left.drop()
        self._dropped.append(f"{arm_name} left: {reason}")

    def hosts(self, states: Sequence[HostState]) -> None:
        there = frozenset(each.host for each in states)
        for host in sorted(self._hosts - there):
            print(f"{host}: gone", file=self._stream, flush=True)
        for each in states:
            if (each.late or each.failed) and (each.host, each.block) not in self._late:
                self._late.add((each.host, each.block))
                print(_doing(each), file=self._stream, flush=True)
        self._hosts = there

    def end(self) -> None:
        """Print the line of the block in hand, if a trial of it was run."""
        if not self._trials:
            return
        lost = [trial for trial in self._trials if trial.status is not Status.VALID]
        seconds = sum(trial.length_s for trial in self._trials)
        took = f"{formatting.counted(len(self._trials), 'trial')} in {formatting.duration(seconds)}"
        parts = [", ".join(filter(None, (took, str(self._left))))]
        kinds = Counter(f"{each.status}: {', '.join(reason.code for reason in each.reasons)}" for each in lost)
        if len(lost) == 1:
            parts.append(f"{lost[0].arm} {next(iter(kinds))}")
        else:
            parts += [f"{many} {kind}" for kind, many in kinds.items()]
        known = [effect for effect in self._effects if effect.bounded]
        parts += [_said(effect) for effect in known[:EFFECTS_SHOWN]]
        if len(known) > EFFECTS_SHOWN:
            parts.append(f"{len(known) - EFFECTS_SHOWN} more effects")
        block, most = self._trials[-1].block, self._left.design.blocks_max
        line = "; ".join((*parts, *self._dropped))
        print(f"block {block} of at most {most}: {line}", file=self._stream, flush=True)
        self._trials, self._effects, self._dropped = [], (), []


def _doing(state: HostState) -> str:
    """`host-3f2a1b: block 7 for 12 min, late: blocks take 4 min`."""
    if state.failed:
        return f"{state.host}: left out: {state.failed}"
    if state.block is None:
        return f"{state.host}: free"
    late = (
        f", late: blocks take {formatting.duration(state.usual_s)}" if state.late and state.usual_s is not None else ""
    )
    return f"{state.host}: block {state.block} for {formatting.duration(state.seconds)}{late}"


def _said(effect: Effect) -> str:
    """An effect while a run goes on: where, on which response, and how large."""
    response = Response(effect.response, effect.response, "", Better.HIGHER, Scale(effect.scale))
    return f"{effect.place.name}: {effect.response} {formatting.effect(effect, response)}"


def build_line(progress: "BuildProgress") -> str:
    left = progress.left_s
    ending = f", about {left:.0f} s left" if left is not None else ""
    return (
        f"building PostgreSQL {progress.name}: {progress.step}, {progress.objects} of about"
        f" {max(progress.objects, progress.expected)} objects, {progress.seconds:.0f} s{ending}"
    )


class BuildLines:
    def __init__(self) -> None:
        self._name = ""
        self._printed_s = 0.0

    def __call__(self, progress: "BuildProgress") -> None:
        if progress.name != self._name or progress.seconds - self._printed_s >= _EVERY_S:
            self._name, self._printed_s = progress.name, progress.seconds
            print(build_line(progress), file=sys.stderr, flush=True)
