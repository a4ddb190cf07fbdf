"""The real `interfaces.running.Clock` and `Runner`: programs without a shell, in sessions of their own, seldom as root.

Every program dies with us, even when we are killed by SIGKILL (see `_launch` and `keeper`), and inherits no variable of
ours: tokens of the user's shell are not a program's business, and libpq's would lead it to another server.

The record and a user's files are ours and may be closed to the account of a program. So it works in a folder (`Stage`)
of which one part, with copies that it may read, is ours, and the other is its own. What is in the latter was made by
who knows whom: only regular files of that account with one name are taken, and no link is followed.
"""

import contextlib
import math
import os
import re
import select
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, BinaryIO

from pgassay import children, scratch
from pgassay.files import Directory, UntrustedError
from pgassay.host import _launch
from pgassay.host.accounts import barrier, groups_of, may_read
from pgassay.host.keeper import VARIABLE, descendants, end_all, mark, processes, still_there
from pgassay.interfaces.errors import BenchError
from pgassay.interfaces.hosting import ANYWHERE, Placement
from pgassay.interfaces.places import Account
from pgassay.interfaces.proc import Process
from pgassay.interfaces.running import PRINTED_BYTES_MAX, Completed

PLACE = Path("/tmp")
"""Not $TMPDIR: that may be closed to the account (pam_tmpdir)."""
_IN, _OUT = "in", "out"
_DESCRIPTION = "description.json"
"""Ends the name of what our player reads, which names other files."""


def _with_paths(text: str, paths: Mapping[str, str]) -> str:
    """`text` with each value in the place of its key, a whole path or the beginning of one; the longest keys first."""
    if not paths:
        return text
    keys = "|".join(re.escape(each) for each in sorted(paths, key=len, reverse=True))
    return re.sub(rf"(?<![\w.-])({keys})(?![\w.-])", lambda found: paths[found[1]], text)


class Stage:
    """Made for one program; `close` it when that has ended. `output` is where what it writes belongs."""

    def __init__(self, account: Account, files: Iterable[Path], output: Path | None = None) -> None:
        self._account, self._output = account, output
        self._given_back = ExitStack()
        self.paths: dict[str, str] = {}
        """Where each path of ours is for the program."""
        with ExitStack() as stack:
            folder = stack.enter_context(scratch.folder("load", PLACE))
            self._folder = folder
            with Directory.open(folder) as made:
                made.give_self(*account.passable)
                owner, mode = account.passable
                made.mkdir(_IN, mode, owner)
                made.mkdir(_OUT, 0o700, account.owner)
            # What names other files goes in last.
            for file in sorted(dict.fromkeys(files), key=lambda each: each.name.endswith(_DESCRIPTION)):
                if not may_read(file, account) or (output is not None and file.is_relative_to(output)):
                    self._hand_in(file)
            if output is not None:
                self.paths[str(output)] = str(folder / _OUT)
            self._given_back = stack.pop_all()

    def command(self, words: Sequence[str]) -> list[str]:
        return [*words[:1], *(_with_paths(word, self.paths) for word in words[1:])]

    def environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        return {name: _with_paths(value, self.paths) for name, value in variables.items()}

    def in_our_paths(self, text: str) -> str:
        """What the program printed, with our paths in the place of its own."""
        return _with_paths(text, {theirs: ours for ours, theirs in self.paths.items()})

    def rewrite(self, path: Path) -> None:
        """The same in a file of ours that the program printed to, unless it is one without end."""
        if path.stat().st_size > PRINTED_BYTES_MAX:
            return
        before = path.read_text(encoding="utf-8", errors="surrogateescape")
        after = self.in_our_paths(before)
        if after != before:
            with path.open("w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(after)

    def close(self) -> None:
        """Take what the program wrote, and remove the folder; calling it twice is harmless."""
        with self._given_back:
            if self._output is None:
                return
            output, self._output = self._output, None
            with Directory.open(self._folder / _OUT) as written:
                for name in written.names():
                    facts = written.status(name)
                    if facts is None or not stat.S_ISREG(facts.st_mode):
                        continue
                    if not name.isascii() or not name.isprintable():  # checksums of a record are lines
                        continue
                    with suppress(UntrustedError), written.reading(name) as source:
                        self._take(source, output / name)

    def _hand_in(self, file: Path) -> None:
        """A copy, at the same path below a directory of ours: files may name each other, and words their directories.

        Whatever a word names below a closed directory is there, or could not be reached anyway.
        """
        copy = self._folder / _IN / str(file.absolute()).lstrip("/")
        for parent in reversed(file.absolute().parents[:-1]):
            folder = self._folder / _IN / str(parent).lstrip("/")
            if not folder.exists():
                owner, mode = self._account.passable
                with Directory.open(folder.parent) as above:
                    above.mkdir(folder.name, mode, owner)
            if barrier(parent, self._account) is not None:
                self.paths[str(parent)] = str(folder)
        if not file.exists():
            return  # the program says so itself
        with file.open("rb") as source, Directory.open(copy.parent) as above:
            with os.fdopen(above.create(copy.name), "wb") as target:
                if file.name.endswith(_DESCRIPTION):
                    target.write(_with_paths(source.read().decode(), self.paths).encode())
                else:
                    shutil.copyfileobj(source, target, 1 << 20)
            above.give(copy.name, self._account.owner, 0o400)
        self.paths[str(file)] = str(copy)

    def _take(self, source: BinaryIO, target: Path) -> None:
        """One file, unless it is another account's, has a second name or holes; what has its name already stays.

        A file of holes costs its program nothing and could fill the disk of the record. One that grows meanwhile is
        taken as long as it was: its program may have left another behind that writes on.
        """
        status = os.fstat(source.fileno())
        whole = not status.st_size or os.lseek(source.fileno(), 0, os.SEEK_HOLE) == status.st_size
        source.seek(0)
        if whole and status.st_uid == self._account.uid and status.st_nlink == 1 and not os.path.lexists(target):
            with target.open("xb") as copy:
                left = status.st_size
                while piece := source.read(min(left, 1 << 20)):
                    left -= copy.write(piece)


GRACE_S = 10.0
"""How long a program may take to end after SIGTERM."""
_LOOK_S = 0.25
"""How often it is looked how much a program has printed."""


class LocalRunning:
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
        return self._process.pid

    def wait(self, timeout_s: float | None = None) -> Completed:
        """Wait for the end; raises `TimeoutError` when it does not come."""
        if timeout_s:
            _await_end(self._process, timeout_s)
        try:
            status = self._process.wait(None if timeout_s is None else 0.0)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"{self._command[0]} still runs after {timeout_s} s") from None
        self._come_home()
        return Completed(self._command, status, _text(self._stdout), _text(self._stderr))

    def place(self, path: Path) -> Path:
        """Where something is while the program runs, that it makes as `path` in its output."""
        return path if self._stage is None else Path(_with_paths(str(path), self._stage.paths))

    def send(self, number: int) -> None:
        """Send the program itself a signal; harmless when it has ended."""
        self._process.send_signal(number)

    def terminate(self) -> None:
        """SIGTERM, after a while SIGKILL, to the whole family; returns when nothing of it remains."""
        family = descendants(self.pid, processes())
        if self._process.poll() is None:
            _signal_group(self._process, signal.SIGTERM)
        _await_or_kill(self._process, GRACE_S)
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
        input_file: Path | None = None,
        stdout: Path | None = None,
        files: Sequence[Path] = (),
    ) -> Completed:
        with contextlib.ExitStack() as stack:
            given: int | IO[bytes] = subprocess.DEVNULL
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
            for file in (said, complaint):
                file.seek(0)
            printed, complained = (file.read(PRINTED_BYTES_MAX).decode(errors="replace") for file in (said, complaint))
        if stage is not None:
            printed, complained = stage.in_our_paths(printed), stage.in_our_paths(complained)
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
        rights = "kept" if privileged else "-"
        how = [str(os.getpid()), str(int(death_signal)), ids, cpus, groups, rights]
        return [*launcher, *how, *placement.under, str(Path(program or command[0]).absolute()), *command[1:]]

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
    if process.poll() is not None:
        return
    if not hasattr(os, "pidfd_open"):
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout_s)
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
            raise BenchError(f'program "{name}" printed more than {PRINTED_BYTES_MAX >> 20} MB, and was terminated')
        if ended:
            return
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise TimeoutError(f"{name} did not end within {timeout_s} s")
        _await_end(process, min(left_s, _LOOK_S))


def _unnamed() -> IO[bytes]:
    """A file without a name, in memory where the system has such files: a full drive keeps no program from printing."""
    return os.fdopen(os.memfd_create("text"), "w+b") if hasattr(os, "memfd_create") else TemporaryFile()


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
        known: set[tuple[int, int]] = set()
        while fresh := [
            each for each in descendants(process.pid, processes()) if (each.pid, each.started_ticks) not in known
        ]:
            for each in fresh:
                _signal(each, signal.SIGSTOP)
            family += fresh
            known |= {(each.pid, each.started_ticks) for each in fresh}
        if process.poll() is None:
            _signal_group(process, signal.SIGTERM)
    finally:
        _signal_group(process, signal.SIGCONT)
        for each in family:
            _signal(each, signal.SIGCONT)
    _await_or_kill(process, 1.0)
    end_all(family, 1.0)


class SystemClock:
    def monotonic_ns(self) -> int:
        return time.monotonic_ns()

    def wall_ns(self) -> int:
        return time.time_ns()

    def sleep(self, seconds: float) -> None:
        time.sleep(max(0.0, seconds))
