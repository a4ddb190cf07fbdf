"""What builds and runs tell: a build's bar on one line of a terminal, and a line a block of a run elsewhere."""

import io
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import rich.progress

from pgassay.cli.printing import warn
from pgassay.cli.progress import _Bar, build_line, watcher_for
from pgassay.lab.trial_state import Assignment, HostState
from pgassay.outgoing import visible
from pgassay.postgres.builds.builder import Progress
from pgassay.record.values import Reason
from pgassay.report import formatting
from pgassay.report.findings import Findings
from pgassay.report.trials import Remaining
from pgassay.study.responses import Status
from pgassay.testing.planted import make_run
from tests.test_outgoing import obeyed


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


NAME = "15.18, 2kB pages, 8kB WAL blocks"


def test_a_line_tells_how_far_a_build_is_and_what_is_left() -> None:
    progress = Progress(NAME, "make", 250, 1000, 30.0)
    assert build_line(progress).endswith("make, 250 of about 1000 objects, 30 s, about 90 s left")
    assert build_line(Progress(NAME, "configure", 0, 1000, 3.0)).endswith("0 of about 1000 objects, 3 s")


def test_without_a_terminal_a_run_prints_a_line_a_block(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    findings = Findings(run)
    stream = io.StringIO()
    with watcher_for(findings.study, stream, quiet=False) as watcher:
        for trial in run.trials:
            arm = next(arm for arm in findings.study.arms if arm.name == trial.arm)
            watcher.trial_started(Assignment(trial.number, trial.block, trial.attempt, arm, 1, tmp_path))
            watcher.trial_finished(trial)
        watcher.estimated([each.effect for each in findings.verdicts], 60.0)
    lines = stream.getvalue().splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        f"block {block} of at most {findings.study.design.blocks_max}" for block in range(1, findings.blocks + 1)
    ]
    (discarded,) = [line for line in lines if "invalid: steal" in line]
    assert f"block {findings.discarded[0].block} of" in discarded
    assert all(each.effect.place.name in lines[-1] for each in findings.verdicts)


def test_a_line_says_how_long_the_rest_takes_at_the_pace_of_the_trials_so_far(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    study = Findings(run).study
    arms = len(study.arms)

    def told(budget_s: float | None, *, drop: bool = False) -> list[str]:
        stream = io.StringIO()
        wanted = replace(study, design=replace(study.design, blocks_max=4, budget_s=budget_s))
        with watcher_for(wanted, stream, quiet=False) as watcher:
            for block in (1, 2):
                for arm in study.arms:
                    watcher.trial_started(Assignment(1, block, 1, arm, 1, tmp_path))
                    length = {"measure": 10.0 * block}
                    watcher.trial_finished(replace(run.trials[0], block=block, timings_s=length, status=Status.VALID))
                if drop and block == 1:
                    watcher.dropped(study.arms[-1].name, "settled")
                watcher.estimated([], 40.0)
        return [
            line.partition(" left")[0].partition("at most ")[2].partition("at most ")[2]
            for line in stream.getvalue().splitlines()
        ]

    assert told(None) == [formatting.duration(3 * arms * 10.0), formatting.duration(2 * arms * 15.0)]
    assert told(None, drop=True)[1] == formatting.duration(2 * (arms - 1) * 15.0)
    assert told(45.0) == [formatting.duration(5.0)] * 2, "no longer than the budget"


def test_a_line_counts_up_to_the_block_that_ends_the_run(tmp_path: Path) -> None:
    """The study's own largest number stood there when its budget had long left time for fewer."""
    run = make_run(tmp_path / "run")
    study = Findings(run).study
    stream = io.StringIO()
    with watcher_for(replace(study, design=replace(study.design, blocks_max=20)), stream, quiet=False) as watcher:
        watcher.trial_finished(replace(run.trials[0], block=3))
        watcher.ruled(replace(study, design=replace(study.design, blocks_max=8)))
    assert stream.getvalue().startswith("block 3 of at most 8: ")


def test_a_bar_is_as_full_as_the_time_that_is_used_of_the_budget_that_ends_the_run(tmp_path: Path) -> None:
    """A bar of all blocks that a study may have was a third full when the budget had ended the run."""
    run = make_run(tmp_path / "run")
    study = Findings(run).study
    drawn = rich.progress.Progress(disable=True)
    asked = replace(study, design=replace(study.design, blocks_max=100, budget_s=60.0))
    bar = _Bar(Remaining(asked), study.primary, drawn)
    bar.estimated([], 30.0)  # of a run that goes on: before a trial of this session has ended
    (task,) = drawn.tasks
    assert (task.percentage, task.fields["left"]) == (50.0, "at most 30 s left")
    bar.trial_finished(replace(run.trials[0], timings_s={"measure": 15.0}, status=Status.VALID))
    assert (task.percentage, task.fields["left"]) == (75.0, "at most 15 s left")


def test_of_many_trials_without_a_result_only_their_number_is_told(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    [lost, *_] = Findings(run).discarded
    arm = Findings(run).study.arms[0]
    stream = io.StringIO()
    with watcher_for(Findings(run).study, stream, quiet=False) as watcher:
        for _ in range(3):
            watcher.trial_started(Assignment(lost.number, lost.block, lost.attempt, arm, 1, tmp_path))
            watcher.trial_finished(lost)
    [line] = stream.getvalue().splitlines()
    assert "3 invalid: steal" in line
    assert lost.arm not in line


def test_what_hosts_do_is_told_when_it_is_not_as_usual(tmp_path: Path) -> None:
    stream = io.StringIO()
    slow = HostState("h2", 3, 720.0, usual_s=240.0, late=True)
    with watcher_for(Findings(make_run(tmp_path / "run")).study, stream, quiet=False) as watcher:
        watcher.hosts([HostState("h1", 2, 60.0, usual_s=240.0), slow, HostState("h3")])
        watcher.hosts([slow, HostState("h3", 3, 2.0)])
    assert stream.getvalue().splitlines() == ["h2: block 3 for 12 min, late: blocks take 4 min", "h1: gone"]


def test_on_a_terminal_each_host_has_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    stream = Terminal()
    with watcher_for(Findings(make_run(tmp_path / "run")).study, stream, quiet=False) as watcher:
        watcher.hosts([HostState("h1", 2, 60.0), HostState("h2")])
        watcher.hosts([HostState("h1", 2, 62.0)])  # at its end the bar is drawn once more
    assert "h1: block 2 for" in stream.getvalue()
    assert "h2: gone" in stream.getvalue()


def test_a_quiet_run_prints_nothing(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    stream = io.StringIO()
    with watcher_for(Findings(run).study, stream, quiet=True) as watcher:
        watcher.trial_finished(run.trials[0])
    assert stream.getvalue() == ""


def test_texts_beside_a_bar_are_shown_and_not_obeyed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    run = make_run(tmp_path / "run")
    study = Findings(run).study
    attack = "\x1b]0;owned\x07\x1b[2J\r\u202e\x9b1m[red]x[/red] :bomb: [link=http://evil.example]"
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    with watcher_for(study, stream, quiet=False) as watcher:
        lost = next(trial for trial in run.trials if trial.status is not Status.VALID)
        watcher.trial_finished(replace(lost, reasons=(Reason("aborted", attack),)))
        watcher.dropped(attack, attack)
        watcher.hosts([HostState(attack, 1, 10.0, 5.0, late=False)])
        warn(attack, attack)
    assert sys.stderr is stream
    drawn = re.sub(r"\x1b\[\??[\d;]*[A-Za-z]|\r", "", stream.getvalue())  # rich's own, and what it writes over
    assert "2J" not in "".join(re.findall(r"\x1b\[[^m]*?[A-Za-z]", stream.getvalue()))
    assert obeyed(drawn) == []
    shown = "".join(drawn.split())
    assert shown.count(visible(attack, keep="").replace(" ", "")) >= 5
