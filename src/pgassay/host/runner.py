"""The real `bench.running.Runner`: programs without a shell, in sessions of their own, never as root unless they must.

Every program dies with us, even when we are killed by SIGKILL (see `_launch` and `keeper`), and inherits no variable of
ours: tokens of the user's shell are not a program's business, and libpq's would lead it to another server.
"""

import contextlib
import math
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from pgassay import children
from pgassay.bench.errors import BenchError
from pgassay.bench.hosting import ANYWHERE, Placement
from pgassay.bench.places import Account
from pgassay.bench.running import PRINTED_BYTES_MAX, Completed
from pgassay.host import _launch
from pgassay.host.accounts import groups_of, may_read
from pgassay.host.keeper import VARIABLE, mark
from pgassay.host.processes import Process, descendants, end_all, processes, still_there
from pgassay.host.staging import Stage

GRACE_S = 10.0
"""How long a program may take to end after SIGTERM."""
_LOOK_S = 0.25
"""How often it is looked how much a program has printed."""


class LocalRunning:
    """A program of ours under way; see `bench.running.Running`."""

    def __init__(
        self,
        command: Sequence[str],
        process: "subprocess.Popen[bytes]",
        stdout: Path,
        stderr: Path,
        stage: Stage | None = None,
    ) -> None:
        self._command = tuple(command)
        self._process = process
        self._stdout = stdout
        self._stderr = stderr
        self._stage = stage

    @property
    def pid(self) -> int:
        """The process id; also that of its session and process group."""
        return self._process.pid

    def wait(self, timeout_s: float | None = None) -> Completed:
        """Wait for the end; raises `TimeoutError` when it does not come."""
        if timeout_s:
            _await_end(self._process, timeout_s)
        left_s = 0.0 if timeout_s and hasattr(os, "pidfd_open") else timeout_s
        try:
            status = self._process.wait(left_s)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"{self._command[0]} still runs after {timeout_s} s") from None
        self._come_home()
        return Completed(self._command, status, _text(self._stdout), _text(self._stderr))

    def place(self, path: Path) -> Path:
        """Where something is while the program runs, that it makes as `path` in its output."""
        return path if self._stage is None else self._stage.place(path)

    def send(self, number: int) -> None:
        """Send the program itself a signal; harmless when it has ended."""
        self._process.send_signal(number)

    def terminate(self) -> None:
        """SIGTERM, after a while SIGKILL, to the whole family; returns when nothing of it remains."""
        family = descendants(self.pid, processes())
        _end(self._process, GRACE_S)
        end_all(family)
        self._come_home()

    def _come_home(self) -> None:
        if self._stage is not None:
            stage, self._stage = self._stage, None
            stage.close()
            for path in {self._stdout, self._stderr}:
                stage.rewrite(path)


class LocalRunner:
    """Runs programs on this machine: under `account`, but for the `privileged`."""

    def __init__(self, account: Account) -> None:
        self._account = account

    def run(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        directory: Path | None = None,
        privileged: str = "",
        timeout_s: float | None = None,
        input_text: str | None = None,
        input_file: Path | None = None,
        stdout: Path | None = None,
        files: Sequence[Path] = (),
    ) -> Completed:
        """Run to the end; see `bench.running.Runner.run`."""
        with contextlib.ExitStack() as stack:
            given: int | IO[bytes] = subprocess.DEVNULL
            if input_text is not None:
                given = stack.enter_context(_unnamed(input_text.encode()))
            if input_file is not None:
                given = stack.enter_context(input_file.open("rb"))
            # No pipes: a process that the program leaves behind holds them open, and what they bring has no end.
            complaint, said = (stack.enter_context(_unnamed()) for _ in range(2))
            taken = said if stdout is None else stack.enter_context(stdout.open("wb"))
            words, variables, stage = self._staged(command, environment, files, None, privileged)
            if stage is not None:
                stack.callback(stage.close)
            process = subprocess.Popen(
                self._launched(words, privileged, signal.SIGTERM),
                stdin=given,
                stdout=taken,
                stderr=complaint,
                env=variables,
                cwd=self._directory(directory, privileged),
                start_new_session=True,
            )
            try:
                _await_bounded(process, command[0], (said, complaint), timeout_s)
            except BaseException:
                _abandon(process)
                raise
            printed, complained = map(_printed, (said, complaint))
        if stage is not None:
            printed, complained = stage.told(printed), stage.told(complained)
        return Completed(tuple(command), process.returncode, printed, complained)

    def start(
        self,
        command: Sequence[str],
        *,
        stdout: Path,
        stderr: Path,
        environment: Mapping[str, str] | None = None,
        directory: Path | None = None,
        privileged: str = "",
        death_signal: int = signal.SIGTERM,
        placement: Placement = ANYWHERE,
        files: Sequence[Path] = (),
        output: Path | None = None,
    ) -> LocalRunning:
        """Start in a session of its own; see `bench.running.Runner.start`."""
        words, variables, stage = self._staged(command, environment, files, output, privileged)
        try:
            with stdout.open("ab") as out, stderr.open("ab") as err, _interrupt_held_back():
                process = subprocess.Popen(
                    self._launched(words, privileged, death_signal, placement),
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    env=variables,
                    cwd=self._directory(directory, privileged),
                    start_new_session=True,
                )
        except BaseException:
            if stage is not None:
                stage.close()
            raise
        return LocalRunning(command, process, stdout, stderr, stage)

    def _another(self, privileged: str) -> bool:
        """Does the program run under another account than ours?"""
        return not privileged and self._account.name is not None

    def _staged(
        self,
        command: Sequence[str],
        environment: Mapping[str, str] | None,
        files: Sequence[Path],
        output: Path | None,
        privileged: str,
    ) -> tuple[list[str], dict[str, str], Stage | None]:
        """The words and variables of a program, by the paths at which it finds what it reads."""
        another = self._another(privileged)
        own = children.environment_of(self._account.uid if another else None)
        variables = {**own, VARIABLE: mark(), **(environment or {})}
        if not another or (output is None and all(may_read(file, self._account) for file in files)):
            return list(command), variables, None
        stage = Stage(self._account, files, output)
        return stage.command(command), stage.environment(variables), stage

    def _launched(
        self, command: Sequence[str], privileged: str, death_signal: int, placement: Placement = ANYWHERE
    ) -> list[str]:
        program = children.which(command[0])
        if program is None and not Path(command[0]).exists():
            raise BenchError(f'program "{command[0]}" was not found', "install it, or add its directory to PATH")
        ids = "-"
        if self._another(privileged):
            groups = ",".join(str(group) for group in groups_of(self._account))
            ids = f"{self._account.uid}:{self._account.gid}:{groups}"
        launcher = [sys.executable, "-I", "-S", str(Path(_launch.__file__).resolve())]
        cpus = ",".join(map(str, placement.cpus)) or "-"
        groups = ":".join(map(str, placement.groups)) or "-"
        nodes = ",".join(map(str, placement.nodes)) or "-"
        policy = "rr" if placement.realtime else "-"
        rights = "kept" if privileged else "-"
        how = [str(os.getpid()), str(int(death_signal)), ids, cpus, groups, policy, nodes, rights]
        return [*launcher, *how, str(Path(program or command[0]).absolute()), *command[1:]]

    def _directory(self, directory: Path | None, privileged: str) -> Path | None:
        """PostgreSQL's programs fail in a working directory that their account cannot enter."""
        return Path("/") if directory is None and self._another(privileged) else directory


@contextlib.contextmanager
def _interrupt_held_back() -> Iterator[None]:
    """A SIGINT to a program that is just being started waits until its launcher can die of it (see `_launch`)."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _await_end(process: "subprocess.Popen[bytes]", timeout_s: float) -> None:
    """Until it has ended, or so long: the kernel tells (pidfd_open(2)), where `Popen.wait` would look now and then."""
    if process.poll() is not None or not hasattr(os, "pidfd_open"):
        return
    descriptor = os.pidfd_open(process.pid)
    try:
        ended = select.poll()
        ended.register(descriptor, select.POLLIN)
        ended.poll(timeout_s * 1e3)
    finally:
        os.close(descriptor)


def _await_bounded(
    process: "subprocess.Popen[bytes]", name: str, printed: Sequence[IO[bytes]], timeout_s: float | None
) -> None:
    """Until it has ended; raises `TimeoutError`, and `BenchError` for one that prints without end."""
    deadline = math.inf if timeout_s is None else time.monotonic() + timeout_s
    while True:
        ended = process.poll() is not None
        if any(os.fstat(each.fileno()).st_size > PRINTED_BYTES_MAX for each in printed):
            raise BenchError(f'program "{name}" printed more than {PRINTED_BYTES_MAX >> 20} MB, and was ended')
        if ended:
            return
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise TimeoutError(f"{name} did not end within {timeout_s} s")
        _await_end(process, min(left_s, _LOOK_S))
        if not hasattr(os, "pidfd_open"):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(min(left_s, _LOOK_S))


def _unnamed(contents: bytes = b"") -> IO[bytes]:
    """A file without a name, in memory where the system has such files: a full drive keeps no program from printing."""
    if hasattr(os, "memfd_create"):
        file: IO[bytes] = os.fdopen(os.memfd_create("text"), "w+b")
    else:
        file = TemporaryFile()  # noqa: SIM115 (the caller closes it)
    file.write(contents)
    file.seek(0)
    return file


def _printed(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(PRINTED_BYTES_MAX).decode(errors="replace")


def _text(path: Path) -> str:
    if not path.exists():
        return ""
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.read(PRINTED_BYTES_MAX)


def _signal_group(process: "subprocess.Popen[bytes]", number: int) -> None:
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return


def _signal(process: Process, number: int) -> None:
    if still_there(process):
        with contextlib.suppress(OSError):  # it ended meanwhile, or became another account's
            os.kill(process.pid, number)


def _end(process: "subprocess.Popen[bytes]", grace_s: float) -> None:
    """End the process group: SIGTERM if the leader still runs, SIGKILL for what remains."""
    if process.poll() is None:
        _signal_group(process, signal.SIGTERM)
    _await_or_kill(process, grace_s)


def _await_or_kill(process: "subprocess.Popen[bytes]", grace_s: float) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(grace_s)
    _signal_group(process, signal.SIGKILL)
    process.wait()


def _abandon(process: "subprocess.Popen[bytes]") -> None:
    """End a program whose outcome is not needed any more, with all of its descendants.

    They stand still while they are listed. One that ran on could start another after the look at it, in a session of
    its own, and when its parent has ended nothing shows whose it was.
    """
    family: list[Process] = []
    try:
        _signal_group(process, signal.SIGSTOP)
        while fresh := [each for each in descendants(process.pid, processes()) if not _among(each, family)]:
            for each in fresh:
                _signal(each, signal.SIGSTOP)
            family += fresh
        if process.poll() is None:
            _signal_group(process, signal.SIGTERM)
    finally:
        _signal_group(process, signal.SIGCONT)
        for each in family:
            _signal(each, signal.SIGCONT)
    _await_or_kill(process, 1.0)
    end_all(family, 1.0)


def _among(process: Process, family: Sequence[Process]) -> bool:
    """Is this very process listed, whatever it has done since?"""
    return (process.pid, process.started_ticks) in {(each.pid, each.started_ticks) for each in family}
