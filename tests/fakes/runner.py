"""A runner without processes: programs are functions, `sleep` never ends until it is stopped.

Give it more programs by name; every call is kept in `calls`, and where started ones were to run in `placements`.
Programs that it does not know are missing.
"""

import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pgassay.interfaces.errors import BenchError
from pgassay.interfaces.hosting import ANYWHERE, Placement
from pgassay.interfaces.running import Completed

Program = Callable[[Sequence[str], str], tuple[int, str, str]]
"""From the arguments and the standard input to status, stdout and stderr."""

BUILT_IN: Mapping[str, Program] = {
    "true": lambda arguments, given: (0, "", ""),
    "false": lambda arguments, given: (1, "", ""),
    "echo": lambda arguments, given: (0, " ".join(arguments) + "\n", ""),
    "cat": lambda arguments, given: (0, given, ""),
}
ENDLESS = "sleep"


class FakeRunning:
    """A program under way: it has ended if its function said so, or when a signal has reached it."""

    def __init__(self, pid: int, command: tuple[str, ...], completed: Completed | None) -> None:
        self.pid = pid
        self._command = command
        self._completed = completed

    def wait(self, timeout_s: float | None = None) -> Completed:
        """The outcome, or `TimeoutError` for a program that never ends."""
        if self._completed is None:
            raise TimeoutError(f"{self._command[0]} still runs after {timeout_s} s")
        return self._completed

    def place(self, path: Path) -> Path:
        """Where it would be by itself."""
        return path

    def send(self, number: int) -> None:
        """End a program that still runs, with the negative number as its status."""
        if self._completed is None:
            self._completed = Completed(self._command, -int(number), "", "")

    def terminate(self) -> None:
        """End a program that still runs by SIGTERM."""
        self.send(signal.SIGTERM)


class FakeRunner:
    """Calls a Python function in a program's place; `calls` has every command."""

    def __init__(self, programs: Mapping[str, Program] | None = None) -> None:
        self._programs = {**BUILT_IN, **(programs or {})}
        self.calls: list[tuple[str, ...]] = []
        self.placements: list[Placement] = []

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
        """The outcome of the program's function; raises `TimeoutError` for one that never ends."""
        given = "" if input_file is None else input_file.read_text(encoding="utf-8", errors="replace")
        completed = self._outcome(command, given)
        if completed is None:
            raise TimeoutError(f"{command[0]} did not end within {timeout_s} s")
        if stdout is not None:
            stdout.write_text(completed.stdout, encoding="utf-8")
        return completed

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
    ) -> FakeRunning:
        """Call the program's function and append to the files what it said."""
        completed = self._outcome(command, "")
        self.placements.append(placement)
        for path, text in (
            (stdout, completed.stdout if completed else ""),
            (stderr, completed.stderr if completed else ""),
        ):
            with path.open("a", encoding="utf-8") as file:
                file.write(text)
        if completed is not None:
            said = (stdout.read_text(encoding="utf-8"), stderr.read_text(encoding="utf-8"))
            completed = Completed(completed.command, completed.status, *said)
        return FakeRunning(1000 + len(self.calls), tuple(command), completed)

    def _outcome(self, command: Sequence[str], given: str) -> Completed | None:
        self.calls.append(tuple(command))
        name = Path(command[0]).name
        if name == ENDLESS:
            return None
        if name not in self._programs:
            raise BenchError(f'program "{command[0]}" was not found')
        status, stdout, stderr = self._programs[name](command[1:], given)
        return Completed(tuple(command), status, stdout, stderr)
