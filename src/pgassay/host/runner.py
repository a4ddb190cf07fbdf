"""The real `bench.running.Runner`: programs without a shell, in sessions of their own, under another account if asked.

Every program dies with us, even when we are killed by SIGKILL (see `_launch` and `keeper`), and never sees libpq's
variables of the user's shell, which would lead it to another server.
"""

import contextlib
import os
import pwd
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pgassay.bench.hosting import ANYWHERE, Placement
from pgassay.bench.places import Account
from pgassay.bench.running import Completed
from pgassay.host import _launch, messages
from pgassay.host.accounts import groups_of
from pgassay.host.keeper import VARIABLE, mark
from pgassay.host.processes import Process, descendants, end_all, processes, still_there

GRACE_S = 10.0
"""How long a program may take to end after SIGTERM."""


class LocalRunning:
    """A program of ours under way; see `bench.running.Running`."""

    def __init__(self, command: Sequence[str], process: "subprocess.Popen[bytes]", stdout: Path, stderr: Path) -> None:
        self._command = tuple(command)
        self._process = process
        self._stdout = stdout
        self._stderr = stderr

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
        return Completed(self._command, status, _text(self._stdout), _text(self._stderr))

    def send(self, number: int) -> None:
        """Send the program itself a signal; harmless when it has ended."""
        self._process.send_signal(number)

    def terminate(self) -> None:
        """SIGTERM, after a while SIGKILL, to the whole family; returns when nothing of it remains."""
        family = descendants(self.pid, processes())
        _end(self._process, GRACE_S)
        end_all(family)


class LocalRunner:
    """Runs programs on this machine; `unprivileged` ones under `account`."""

    def __init__(self, account: Account) -> None:
        self._account = account

    def run(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        directory: Path | None = None,
        unprivileged: bool = False,
        timeout_s: float | None = None,
        input_text: str | None = None,
    ) -> Completed:
        """Run to the end; see `bench.running.Runner.run`."""
        process = subprocess.Popen(
            self._launched(command, unprivileged, signal.SIGTERM),
            stdin=subprocess.DEVNULL if input_text is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self._environment(environment, unprivileged),
            cwd=self._directory(directory, unprivileged),
            start_new_session=True,
        )
        try:
            given = None if input_text is None else input_text.encode()
            stdout, stderr = process.communicate(given, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            _abandon(process)
            raise TimeoutError(f"{command[0]} did not end within {timeout_s} s") from None
        except BaseException:
            _abandon(process)
            raise
        texts = (stdout.decode(errors="replace"), stderr.decode(errors="replace"))
        return Completed(tuple(command), process.returncode, *texts)

    def start(
        self,
        command: Sequence[str],
        *,
        stdout: Path,
        stderr: Path,
        environment: Mapping[str, str] | None = None,
        directory: Path | None = None,
        unprivileged: bool = False,
        death_signal: int = signal.SIGTERM,
        placement: Placement = ANYWHERE,
        files: Sequence[Path] = (),
    ) -> LocalRunning:
        """Start in a session of its own; see `bench.running.Runner.start`."""
        with stdout.open("ab") as out, stderr.open("ab") as err, _interrupt_held_back():
            process = subprocess.Popen(
                self._launched(command, unprivileged, death_signal, placement),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=self._environment(environment, unprivileged),
                cwd=self._directory(directory, unprivileged),
                start_new_session=True,
            )
        return LocalRunning(command, process, stdout, stderr)

    def _launched(
        self, command: Sequence[str], unprivileged: bool, death_signal: int, placement: Placement = ANYWHERE
    ) -> list[str]:
        program = shutil.which(command[0])
        if program is None and not Path(command[0]).exists():
            raise messages.program_missing(command[0])
        ids = "-"
        if unprivileged and self._account.name is not None:
            groups = ",".join(str(group) for group in groups_of(self._account))
            ids = f"{self._account.uid}:{self._account.gid}:{groups}"
        launcher = [sys.executable, "-I", "-S", str(Path(_launch.__file__).resolve())]
        cpus = ",".join(map(str, placement.cpus)) or "-"
        groups = ":".join(map(str, placement.groups)) or "-"
        nodes = ",".join(map(str, placement.nodes)) or "-"
        policy = "rr" if placement.realtime else "-"
        how = [str(os.getpid()), str(int(death_signal)), ids, cpus, groups, policy, nodes]
        return [*launcher, *how, program or command[0], *command[1:]]

    def _environment(self, extra: Mapping[str, str] | None, unprivileged: bool) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        inherited |= {"LC_ALL": "C"}  # What programs say is read by us.
        inherited |= {VARIABLE: mark()}
        if unprivileged and self._account.name is not None:
            home = pwd.getpwuid(self._account.uid).pw_dir
            inherited |= {"HOME": home, "USER": self._account.name, "LOGNAME": self._account.name}
        return inherited | dict(extra or {})

    def _directory(self, directory: Path | None, unprivileged: bool) -> Path | None:
        """PostgreSQL's programs fail in a working directory that their account cannot enter."""
        return Path("/") if directory is None and unprivileged else directory


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


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


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
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _among(process: Process, family: Sequence[Process]) -> bool:
    """Is this very process listed, whatever it has done since?"""
    return (process.pid, process.started_ticks) in {(each.pid, each.started_ticks) for each in family}
