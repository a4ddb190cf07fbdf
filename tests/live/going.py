"""A planted run that a process of its own writes, as pgassay does: it holds the run's lock, and can be killed.

`python -m tests.live.going RUN ARM` begins a trial of ARM in RUN and then does nothing until it is ended. What the
trial tells second by second is written from outside: that is only a file.
"""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pgassay.record import live_sample
from pgassay.record.directory import RunDirectory
from pgassay.record.live_sample import LiveSample
from tests.live.browser import PATIENCE_MS

ARM = "table.fillfactor=75"
BLOCK = 9
_READY = "ready\n"


class Going:
    """The run at `path` while `process` writes it."""

    def __init__(self, path: Path, process: "subprocess.Popen[str]") -> None:
        self.path = path
        self.process = process
        (self._staging,) = (path / "trials").glob(".staging-*")
        self._began_ns = time.monotonic_ns()

    def tell(self, *seconds: int) -> None:
        """What the trial's WAL was in these seconds."""
        for second in seconds:
            at_ns = self._began_ns + second * 10**9
            live_sample.append(self._staging, LiveSample(at_ns, time.time_ns(), "wal", {"wal_bytes": second * 1e6}))

    def kill(self) -> None:
        """As `kill -9` does; returns when it is gone."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@contextmanager
def going(path: Path, arm: str = ARM) -> Iterator[Going]:
    """A process writes the run at `path`; ended afterwards."""
    if not Path("/proc/locks").exists():
        pytest.skip("no /proc/locks here")
    command = [sys.executable, "-m", "tests.live.going", str(path), arm]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == _READY
            yield Going(path, process)
        finally:
            process.kill()
            process.wait(PATIENCE_MS / 1000)


def _hold(path: Path, arm: str) -> None:
    """Begin a trial, and write nothing more until our standard input ends."""
    with RunDirectory.open(path) as run:
        run.resumed()
        run.begin_trial(run.next_number, {"block": BLOCK, "attempt": 1, "arm": arm})
        sys.stdout.write(_READY)
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    _hold(Path(sys.argv[1]), sys.argv[2])
