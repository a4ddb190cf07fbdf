"""`--live`: a server of the run's pages lives as long as the run, and a run needs none of it."""

import argparse
import re
import subprocess
import sys
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pgassay.cli import serve
from pgassay.cli.serve import live_pages, require_live
from pgassay.errors import PgassayError
from pgassay.plugins import install_command
from pgassay.testing.planted import make_run

ASKED, NOT_ASKED = argparse.Namespace(live=True), argparse.Namespace(live=False)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(serve, "READY_S", 600.0)  # on a busy machine Python alone may take half a minute to begin
    return make_run(tmp_path / "run", finished=False).path


def read(address: str) -> str:
    """As a browser reads it, with cookies."""
    browser = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(CookieJar())
    )
    with browser.open(address, timeout=300) as answer:
        found: str = answer.read().decode()
    return found


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> "list[subprocess.Popen[bytes]]":
    """Every server that was started."""
    found: list[subprocess.Popen[bytes]] = []
    start = subprocess.Popen

    def started(*given: Any, **named: Any) -> "subprocess.Popen[bytes]":
        found.append(start(*given, **named))
        return found[-1]

    monkeypatch.setattr(subprocess, "Popen", started)
    return found


def ended(served: "list[subprocess.Popen[bytes]]") -> bool:
    """Was one server started, and is it gone? To ask its port would not tell: another's may have it by now."""
    (server,) = served
    return server.returncode is not None


def test_the_pages_are_there_as_long_as_the_run(
    run: Path, capfd: pytest.CaptureFixture[str], served: "list[subprocess.Popen[bytes]]"
) -> None:
    with live_pages(run, ASKED):
        told = re.fullmatch(r"pgassay: live: (http://127\.0\.0\.1:\d+/live\?token=\S+)\n", capfd.readouterr().err)
        assert told is not None
        assert "Answer so far" in read(told[1])
    assert ended(served)


def test_they_end_with_a_run_that_fails(
    run: Path, capfd: pytest.CaptureFixture[str], served: "list[subprocess.Popen[bytes]]"
) -> None:
    def fail() -> None:
        with live_pages(run, ASKED):
            assert "Answer so far" in read(capfd.readouterr().err.rpartition(" ")[2].strip())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert ended(served)


def instead_of_python(folder: Path, monkeypatch: pytest.MonkeyPatch, does: str) -> None:
    path = folder / "server"
    path.write_text(f"#!/bin/sh\n{does}\n")
    path.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(path))


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("exit 1", "could not start\n"),
        ("echo 'pgassay: error: no room' >&2; echo 'hint: make some' >&2; exit 2", "could not start: no room\n"),
        ("echo 'Traceback' >&2; echo 'KeyError: 1' >&2; exit 1", "could not start: KeyError: 1\n"),
        ("echo '}'", "could not start: }\n"),
        ("echo '{}'", "could not start: {}\n"),
    ],
)
def test_a_server_that_does_not_start_stops_no_run(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], does: str, said: str
) -> None:
    instead_of_python(run.parent, monkeypatch, does)
    went_on = False
    with live_pages(run, ASKED):
        went_on = True
    assert went_on
    assert said in capsys.readouterr().err


def test_a_server_that_tells_nothing_is_ended_and_the_run_goes_on(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    served: "list[subprocess.Popen[bytes]]",
) -> None:  # fmt: skip
    instead_of_python(run.parent, monkeypatch, "echo '{'; exec sleep 3600")
    monkeypatch.setattr(serve, "READY_S", 0.5)
    with live_pages(run, ASKED):
        assert ended(served)
    assert "printed no address within 0.5 s" in capsys.readouterr().err


def test_nothing_is_started_unasked(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []
    monkeypatch.setattr(subprocess, "Popen", lambda *given, **named: started.append(given))
    monkeypatch.setattr(serve, "find_spec", lambda name: None)
    require_live(NOT_ASKED)
    with live_pages(run, NOT_ASKED):
        assert started == []


def test_without_its_packages_it_is_refused_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "find_spec", lambda name: None if name == "uvicorn" else SimpleNamespace())
    with pytest.raises(PgassayError, match="uvicorn, which is not installed") as refused:
        require_live(ASKED)
    assert refused.value.hint == install_command("live")
