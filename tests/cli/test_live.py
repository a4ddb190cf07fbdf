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

from pgassay.cli import messages, serve
from pgassay.cli._live import address, live_pages, require_live
from pgassay.errors import PgassayError
from pgassay.testing.planted import make_run

ASKED, NOT_ASKED = argparse.Namespace(live=True), argparse.Namespace(live=False)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return make_run(tmp_path / "run", finished=False).path


def read(address: str) -> str:
    """As a browser reads it, with cookies."""
    browser = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(CookieJar())
    )
    with browser.open(address, timeout=30) as answer:
        found: str = answer.read().decode()
    return found


def test_the_pages_are_there_as_long_as_the_run(run: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with live_pages(run, ASKED):
        told = re.fullmatch(
            r"pgassay: live: (http://127\.0\.0\.1:\d+/run/\w+/live\?token=\S+)\n", capfd.readouterr().err
        )
        assert told is not None
        assert "Answer so far" in read(told[1])
    with pytest.raises(OSError, match="refused"):
        read(told[1])


def test_they_end_with_a_run_that_fails(run: Path, capfd: pytest.CaptureFixture[str]) -> None:
    address = ""

    def fail() -> None:
        nonlocal address
        with live_pages(run, ASKED):
            address = capfd.readouterr().err.rpartition(" ")[2].strip()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    with pytest.raises(OSError, match="refused"):
        read(address)


def test_a_server_that_does_not_start_stops_no_run(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    went_on = False
    with live_pages(run, ASKED):
        went_on = True
    assert went_on
    assert messages.LIVE_FAILED in capsys.readouterr().err


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
    assert refused.value.hint == 'pip install "pgassay[live]"'


@pytest.mark.parametrize("told", ["", "{\n  "])
def test_a_server_that_never_tells_its_address_is_not_waited_for(told: str) -> None:
    program = f"import sys, time; sys.stdout.write({told!r}); sys.stdout.flush(); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as hanging:
        assert hanging.stdout is not None
        try:
            assert address(hanging.stdout, patience_s=0.5) == ""
        finally:
            hanging.kill()
