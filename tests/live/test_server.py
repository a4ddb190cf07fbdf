"""`pgassay serve` as it is called: what it prints, whom it answers, what it refuses, and how it ends."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

import httpx2
import pytest

from pgassay.cli import main, serve
from pgassay.live.server import _runs, listening
from pgassay.plugins import install_command

PATIENCE_S = 300.0


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_the_printed_address_works_until_it_is_interrupted(runs: Path) -> None:
    command = [sys.executable, "-m", "pgassay", "serve", str(runs / "one"), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as served:
        assert served.stdout is not None
        text = ""
        while not text.endswith("}\n"):
            text += served.stdout.readline()
        address = json.loads(text)["url"]
        with httpx2.Client(follow_redirects=True, trust_env=False, timeout=PATIENCE_S) as browser:
            assert "Answer so far" in browser.get(address).text
            assert "token" not in str(browser.get(address).url)
        served.send_signal(signal.SIGINT)
        _, errors = served.communicate(timeout=PATIENCE_S)
    assert (served.returncode, errors) == (0, "")


@contextmanager
def served(runs: Path) -> Iterator[tuple[str, int]]:
    """`pgassay serve` as a process of its own: its address with the token, and its port."""
    command = [sys.executable, "-m", "pgassay", "serve", str(runs / "one"), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        text = ""
        while not text.endswith("}\n"):
            text += process.stdout.readline()
        address = json.loads(text)["url"]
        try:
            yield address, int(address.partition("/live?")[0].rpartition(":")[2])
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0


def test_connections_that_ask_for_nothing_or_byte_by_byte_keep_nobody_out_and_are_closed(runs: Path) -> None:
    with served(runs) as (address, port), ExitStack() as held:
        idle = [held.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE_S)) for _ in range(300)]
        for each in idle[::2]:
            with suppress(OSError):  # the oldest of more than the server holds are closed
                each.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
        with httpx2.Client(follow_redirects=True, trust_env=False, timeout=PATIENCE_S) as browser:
            for _ in range(3):
                assert "Answer so far" in browser.get(address).text
        assert closed_byte_by_byte(port)
        for each in idle:
            with suppress(ConnectionResetError):
                assert each.recv(1) == b"", "closed without an answer"


def closed_byte_by_byte(port: int) -> bool:
    """Is a request closed whose headers come one by one and have no end?"""
    with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as line:
        line.sendall(b"GET / HTTP/1.1\r\n")
        line.settimeout(0.5)  # so few bytes are below the limit of a header's length for as long as we wait
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            try:
                line.sendall(b"X: y\r\n")
                if line.recv(1) == b"":
                    return True
            except TimeoutError:
                continue
            except OSError:
                return True
    return False


def test_a_process_that_ended_and_is_not_waited_for_runs_no_more() -> None:
    if not Path("/proc/self/stat").exists():
        pytest.skip("no /proc here")
    with subprocess.Popen([sys.executable, "-c", "pass"]) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)  # a zombie from here on
        assert Path(f"/proc/{ended.pid}").exists()
        assert not _runs(ended.pid)
    assert not _runs(ended.pid)
    assert _runs(os.getpid())


def test_it_listens_to_this_machine_alone() -> None:
    with listening(0) as bound:
        assert bound.getsockname()[0] == "127.0.0.1"


def test_a_port_in_use_is_an_error_with_a_hint(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", str(runs / "one"), "--port", str(port)]) == 2
    told = capsys.readouterr().err
    assert f"port {port} of 127.0.0.1 is in use" in told
    assert "--port" in told.partition("hint:")[2]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["serve", "not/there"], "is not a run directory: it does not exist"),
        (["serve", "runs"], "is not a run directory: it has no run.json"),
        (["serve", "runs", "--port", "x"], "wants a whole number"),
        (["serve", "one", "--port", "70000"], "wants a whole number from 0 to 65535"),
    ],
)
def test_bad_usage_is_told(words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                           capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "run.json").touch()
    assert main(words) == 2
    assert said in capsys.readouterr().err


def test_without_the_extra_it_says_how_to_get_it(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(serve, "find_spec", lambda name: None if name == "uvicorn" else find_spec(name))
    assert main(["serve", str(runs / "one")]) == 2
    told = capsys.readouterr().err
    assert "need uvicorn, which is not installed" in told
    assert install_command("live") in told
