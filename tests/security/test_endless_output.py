"""A text of a stranger's may print without end, or leave a process that holds what it prints to: neither stops us."""

import os
import signal
import time
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from pgassay.host import runner
from pgassay.host.runner import SystemClock
from pgassay.interfaces.errors import BenchError
from pgassay.interfaces.load import Tools
from pgassay.interfaces.server import Server
from pgassay.load import program
from pgassay.load.pgbench.options import PgbenchOptions
from pgassay.testing import real

MOST = 1 << 20
LIMITED = (runner, program)


@pytest.fixture(autouse=True)
def _little(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in LIMITED:
        monkeypatch.setattr(module, "PRINTED_BYTES_MAX", MOST)


@pytest.mark.parametrize("to", ["", ">&2"])
def test_a_program_that_prints_without_end_is_ended(to: str) -> None:
    with pytest.raises(BenchError, match="printed more than 1 MB"):
        real.runner().run(["sh", "-c", f"exec yes {to}"])


def test_what_a_program_leaves_behind_keeps_nobody_waiting() -> None:
    began = time.monotonic()
    done = real.runner().run(["sh", "-c", "sleep 1000 & echo $! >&2; echo said"])
    os.kill(int(done.stderr), signal.SIGKILL)  # it is still there
    assert done.stdout == "said\n"
    assert time.monotonic() - began < 900, "a wait for the process that was left takes longer"


@pytest.mark.parametrize("stream", ["out", "err"])
def test_a_load_that_prints_without_end_is_ended(tmp_path: Path, stream: str) -> None:
    endpoint = SimpleNamespace(network=None, environment=dict)
    server = cast("Server", SimpleNamespace(client_endpoint=endpoint, alive=lambda: True, postmaster_pid=os.getpid()))
    words = ["sh", "-c", "exec yes" if stream == "out" else "exec yes >&2"]
    tools = Tools(tmp_path, real.runner(), SystemClock())
    run = program.run(tools, server, PgbenchOptions(), words, tmp_path, "load", None)
    assert run.problems == {"endless_output": "sh printed more than 1 MB"}
    assert run.done.stdout == run.done.stderr == "", "it would take minutes to look for results in it"
    assert (tmp_path / f"load.{stream}").stat().st_size == MOST
