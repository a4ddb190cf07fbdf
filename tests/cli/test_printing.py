"""A command that prints nothing for a while says on a terminal that it is still at work."""

import os
import pty
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import partial

import pytest

from pgassay import cli
from pgassay.cli import printing
from pgassay.cli.printing import Silence, silence_broken
from pgassay.interfaces.proc import Process

PATIENCE_S = 180.0


class Pty:
    """A pseudo terminal that standard output and standard error write to."""

    def __init__(self, reads: int) -> None:
        self._reads = reads
        self.shown = ""

    def wait_for(self, text: str) -> None:
        while text not in self.shown:
            assert select.select([self._reads], [], [], PATIENCE_S)[0], f'"{text}" is not in "{self.shown}"'
            self.shown += os.read(self._reads, 4096).decode()


@contextmanager
def on_terminal() -> Iterator[Pty]:
    """A context, since pytest takes the streams back between a fixture and its test."""
    reads, writes = pty.openpty()
    try:
        with os.fdopen(writes, "w", buffering=1) as stream, redirect_stdout(stream), redirect_stderr(stream):
            yield Pty(reads)
    finally:
        os.close(reads)


def test_every_command_that_is_silent_on_a_terminal_says_that_it_is_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["pgassay", "check", "runs/a"])
    monkeypatch.setattr(cli, "silence_broken", partial(silence_broken, patience_s=0.01))
    with on_terminal() as terminal:

        def slow() -> int:
            terminal.wait_for("pgassay: check is still running, ")
            print("the result")
            return 0

        monkeypatch.setattr(cli, "main", slow)
        with pytest.raises(SystemExit):
            cli.console()
        terminal.wait_for("the result\r\n")


@pytest.mark.parametrize("words", [("check", "--quiet"), ("show", "--json"), ("ask", "-q"), ("serve",)])
def test_what_is_for_scripts_or_serves_others_stays_silent(words: tuple[str, ...]) -> None:
    with on_terminal():
        before = sys.stderr
        with silence_broken(words):
            assert sys.stderr is before
        with silence_broken(["check"]):
            assert sys.stderr is not before, "it would be heard"
        assert sys.stderr is before


def test_a_pipe_gets_no_word() -> None:
    before = sys.stderr
    with silence_broken(["check"]):
        assert sys.stderr is before


def now(silence: Silence, clock: list[float], seconds: float) -> str:
    clock[0] = seconds
    return silence.word()


def test_a_word_comes_after_a_silence_and_then_after_twice_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printing, "processes", dict)
    clock = [0.0]
    silence = Silence("report", 5.0, lambda: clock[0])
    said = {seconds: word for seconds in range(50) if (word := now(silence, clock, seconds))}
    assert list(said) == [5, 10, 20, 40]
    assert said[10] == "pgassay: report is still running, 10 s without output\n"


def test_whatever_is_printed_ends_the_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printing, "processes", dict)
    clock = [4.0]
    silence = Silence("report", 5.0, lambda: clock[0])
    silence.heard("block 1 of at most 12\n")
    assert not now(silence, clock, 8.9)
    assert now(silence, clock, 9.0)


def test_no_word_is_written_into_a_question_or_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printing, "processes", dict)
    clock = [0.0]
    silence = Silence("rerun", 5.0, lambda: clock[0])
    silence.heard("Run it? [y/N] ")
    silence.heard("\x1b[0m")
    assert not now(silence, clock, 60.0)
    silence.heard("\r\x1b[1A\x1b[2K")
    assert now(silence, clock, 66.0), "the bar is gone"


def test_the_newest_program_that_we_run_says_what_is_being_done(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = os.getpid()
    running = [
        Process(10, mine, "python3", "S", 5, 0),
        Process(11, mine, "postgres", "S", 6, 0),
        Process(12, mine, "pg_restore", "S", 7, 0),
        Process(13, 12, "gzip", "R", 8, 0),
    ]
    monkeypatch.setattr(printing, "processes", lambda: {each.pid: each for each in running})
    clock = [0.0]
    silence = Silence("ask", 5.0, lambda: clock[0])
    assert now(silence, clock, 5.0) == "pgassay: ask is still running, 5 s without output: pg_restore is running\n"
