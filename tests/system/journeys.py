"""Whole journeys through the command line, as a user makes them: in processes of their own, on a real PostgreSQL.

Each journey has a short place of its own outside pytest's closed directories, for servers run under another account
when we are root. What must be gone afterwards is looked for by what it is, and only below that place.
"""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pgassay.design.schedule import ATTEMPTS_MAX
from pgassay.drive import sessions
from pgassay.record.journal import Decision, decisions_in
from pgassay.record.reading import Run
from pgassay.study.responses import Status

PROGRAM = (sys.executable, "-c", "from pgassay.cli import console; console()")
TINY = (
    "--quick", "--levels", "table.fillfactor=100,75", "--set", "load.scale=1", "--set", "load.duration=1s",
    "--set", "load.warmup=0s", "--blocks", "5..5", "--seed", "3", "--pairing", "sequential",
)  # fmt: skip
"""With one server after the other: how servers take turns is another journey."""
ANYWHERE = ("--allow-busy", "--allow-volatile")
PATIENCE_S = 800.0
LONG_S = 1500.0
"""For the journeys of tests marked slow, on a machine that has other work."""
GONE_S = 120.0
"""For servers whose lab was killed: they end by themselves, on a busy machine a while later."""
_POLL_S = 0.02


class Place:
    """Where a journey's clusters, records and sockets live."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.here = path
        """Where pgassay is started."""
        self.data = path / "data"
        self.runs = path / "runs"
        self.temporary = path / "tmp"
        for folder in (self.runs, self.temporary):
            folder.mkdir()
        self.temporary.chmod(0o1777)
        self._started: list[subprocess.Popen[str]] = []

    def start(self, *words: str) -> "subprocess.Popen[str]":
        """Start pgassay; it knows no other temporary directory than ours."""
        environment = {**os.environ, "TMPDIR": str(self.temporary), "PGASSAY_DATA_DIR": str(self.data)}
        process = subprocess.Popen(
            [*PROGRAM, *words],
            cwd=self.here,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._started.append(process)
        return process

    def end(self) -> None:
        """End whatever still runs, as after a test that failed half-way; returns when it is gone."""
        for process in self._started:
            if process.poll() is None:
                process.terminate()
                finished(process)

    def pgassay(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run pgassay to its end."""
        process = self.start(*words)
        return finished(process)

    def run(self, name: str, *more: str) -> "subprocess.Popen[str]":
        """Start the tiny study into `runs/NAME`."""
        return self.start("run", "fillfactor", *TINY, *ANYWHERE, "--out", str(self.runs / name), "--json", *more)

    def resume(self, name: str) -> "subprocess.Popen[str]":
        """Go on with it."""
        return self.start("resume", str(self.runs / name), *ANYWHERE, "--json")

    def record(self, name: str) -> Run:
        """The record as it stands."""
        return Run.open(self.runs / name)

    def servers(self) -> list[int]:
        """PostgreSQL's processes that work below our place."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                here = entry.name.isdecimal() and (entry / "cwd").readlink().is_relative_to(self.path)
                if here and (entry / "comm").read_text().startswith(("postgres", "callgrind")):
                    found.append(int(entry.name))
            except OSError:
                continue  # it ended while we looked
        return found

    def kill_servers(self, data_directory: str = "") -> None:
        """kill -9 of all of them, or of those of one cluster: some end by themselves once their postmaster is dead."""
        for pid in self.servers():
            with suppress(OSError):
                if not data_directory or str((Path("/proc") / str(pid) / "cwd").readlink()) == data_directory:
                    os.kill(pid, signal.SIGKILL)

    def left_behind(self) -> list[str]:
        """Servers, socket directories, clones and half-made things; a kept snapshot is none of them."""
        sessions = self.data / "pgassay" / "sessions"
        clones = [path for path in sessions.iterdir() if path.is_dir()] if sessions.is_dir() else []
        taking = list((self.data / "pgassay").glob("snapshots/.taking-*"))
        sockets = list(self.temporary.iterdir())
        made = [path for path in self.runs.iterdir() if path.name.startswith(".")]
        return [*(f"server {pid}" for pid in self.servers()), *map(str, (*clones, *taking, *sockets, *made))]


def finished(process: "subprocess.Popen[str]", patience_s: float = PATIENCE_S) -> "subprocess.CompletedProcess[str]":
    """Wait for the end; one that does not come is killed and is an error."""
    try:
        stdout, stderr = process.communicate(timeout=patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


def wait_until(holds: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    """Wait for something to happen while the process runs; fails when it ends before."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert process.poll() is None, finished(process).stderr
        assert time.monotonic() < deadline
        time.sleep(_POLL_S)


def entries(path: Path) -> list[dict[str, Any]]:
    """The journal's lines, even while one is being written."""
    try:
        lines = (path / "journal.jsonl").read_text().splitlines()
    except FileNotFoundError:
        return []
    found = []
    for line in lines:
        try:
            found.append(json.loads(line))
        except ValueError:
            break
    return found


def committed(path: Path) -> int:
    """How many trials are committed."""
    return sum(entry["kind"] == "trial_committed" for entry in entries(path))


def load_runs(path: Path) -> bool:
    """Is a trial under way whose measured load has begun, and has not told its result?"""
    found = []
    for each in (path / "trials").glob(".staging-*/pgbench.out"):
        with suppress(FileNotFoundError):  # its trial was committed meanwhile
            found.append(each.read_text())
    return any("tps = " not in text for text in found)


def out_of_space(path: Path) -> bool:
    """Has the load of the trial under way met a full disk?"""
    for each in (path / "trials").glob(".staging-*/pgbench.err"):
        with suppress(FileNotFoundError):  # its trial was committed meanwhile
            return "No space left" in each.read_text()
    return False


def resumed(path: Path) -> int:
    """How often it was gone on with."""
    return sum(entry["kind"] == "resumed" for entry in entries(path))


def lost(run: Run) -> set[tuple[int, str]]:
    """Blocks and arms whose trial was discarded as often as it may run again: the machine was too busy."""
    tried = Counter((trial.block, trial.arm) for trial in run.trials if trial.status is Status.INVALID)
    return {each for each, times in tried.items() if times == ATTEMPTS_MAX}


@contextmanager
def stopped(process: "subprocess.Popen[str]") -> Iterator[None]:
    """The lab stands still meanwhile, unless it has ended."""
    process.send_signal(signal.SIGSTOP)
    if process.returncode is None:
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)  # once every thread of it stands
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


@contextmanager
def standing_still(holds: Callable[[], bool], process: "subprocess.Popen[str]") -> Iterator[None]:
    """Wait for something, and stop the lab while it is so, which changes nothing meanwhile; it goes on afterwards."""
    while True:
        wait_until(holds, process)
        with stopped(process):
            if holds():
                yield
                return


def kill(process: "subprocess.Popen[str]") -> None:
    """kill -9 of the lab itself, not of what it started; that must end by itself."""
    process.send_signal(signal.SIGKILL)
    process.wait()
    for stream in (process.stdout, process.stderr):
        assert stream is not None
        stream.close()


def hashes(path: Path) -> dict[str, str]:
    """Every file of every committed trial, with its SHA-256."""
    trials = [trial for trial in (path / "trials").glob("[0-9]*") if trial.is_dir()]
    files = [file for trial in trials for file in sorted(trial.rglob("*")) if file.is_file()]
    return {str(file.relative_to(path)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def schedule(run: Run) -> list[tuple[str, str, int, int, int]]:
    """What was decided, without what differs between two runs of the clock."""
    decisions: tuple[Decision, ...] = decisions_in(run.journal)
    return [(each.step.value, each.arm, each.block, each.attempt, each.trial) for each in decisions]


@contextmanager
def place() -> Iterator[Place]:
    """A journey's place, removed afterwards; fails if a server still runs there."""
    path = Path(tempfile.mkdtemp(prefix="journey-"))
    path.chmod(0o755)
    found = Place(path)
    try:
        yield found
    finally:
        found.end()
        deadline = time.monotonic() + GONE_S
        while (servers := found.servers()) and time.monotonic() < deadline:
            time.sleep(_POLL_S)
        found.kill_servers()
        deadline += GONE_S
        for session in (found.data / "pgassay" / "sessions").glob("*"):
            sessions.undo_block_drives(session)  # of a lab that was killed because it took too long
        while path.exists() and time.monotonic() < deadline:
            with suppress(OSError):  # A keeper may be removing the same files, or a server that ends writes its last.
                shutil.rmtree(path)
        if path.exists():
            shutil.rmtree(path)
    assert servers == []
