"""A run can be stopped from its page, by nobody but who has the page, and in no other way than it knows already."""

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from pgassay.live.server import NOT_RUNNING
from pgassay.record import directory
from pgassay.record.directory import RunDirectory
from pgassay.record.disk import RealDisk
from pgassay.testing.planted import make_run
from tests.live.served import PORT, client

ORIGIN = {"origin": f"http://127.0.0.1:{PORT}"}


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[TestClient]:
    (tmp_path / "runs").mkdir()
    make_run(tmp_path / "runs" / "one", finished=False)
    with client(tmp_path / "runs" / "one") as found:
        yield found


@pytest.fixture
def run(browser: TestClient, tmp_path: Path) -> Iterator[Path]:
    """A run that this process writes."""
    if not Path("/proc/locks").exists():
        pytest.skip("no /proc/locks here")
    with RunDirectory.open(tmp_path / "runs" / "one") as found:
        yield found.path


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """What was sent to which process, instead of sending it."""
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.append((pid, number)))
    return sent


def writing(browser: TestClient) -> str:
    """What the page's forms have in them."""
    found = re.search(r'name="writing" value="([\w-]+)"', browser.get("/live").text)
    assert found is not None
    return found[1]


def test_stop_leaves_a_file_that_the_lab_looks_for(browser: TestClient, run: Path) -> None:
    answer = browser.post("/stop", data={"writing": writing(browser)}, headers=ORIGIN)
    assert (answer.status_code, answer.headers["location"]) == (303, "/live")
    assert (run / directory.STOP_FILE).exists()


def test_a_directory_of_that_name_asks_nothing_and_stays(run: Path) -> None:
    (run / directory.STOP_FILE).mkdir()
    assert not directory.stop_is_asked(RealDisk(), run)
    directory.forget_stop(RealDisk(), run)
    assert (run / directory.STOP_FILE).is_dir()


def test_abort_is_a_signal_to_who_holds_the_lock(browser: TestClient, run: Path, killed: list[tuple[int, int]]) -> None:
    answer = browser.post("/abort", data={"writing": writing(browser)}, headers=ORIGIN)
    assert answer.status_code == 303
    assert killed == [(os.getpid(), signal.SIGTERM)]
    assert not (run / directory.STOP_FILE).exists()


@pytest.mark.parametrize("what", ["stop", "abort"])
@pytest.mark.parametrize(
    ("headers", "form"),
    [
        (ORIGIN, {}),
        (ORIGIN, {"writing": "wrong"}),
        (ORIGIN, {"writing": "\u00e9"}),
        ({}, {"writing": "right"}),
        ({"origin": "http://elsewhere.example"}, {"writing": "right"}),
    ],
)
def test_without_the_pages_own_word_nothing_is_done(
    browser: TestClient, run: Path, killed: list[tuple[int, int]], what: str, headers: dict[str, str],
    form: dict[str, str],
) -> None:  # fmt: skip
    if form.get("writing") == "right":
        form = {"writing": writing(browser)}
    answer = browser.post(f"/{what}", data=form, headers=headers)
    assert answer.status_code == 403
    assert killed == []
    assert not (run / directory.STOP_FILE).exists()


def test_a_form_that_is_too_long_is_called_so(browser: TestClient, run: Path, killed: list[tuple[int, int]]) -> None:
    answer = browser.post("/stop", data={"writing": "x" * 10_000}, headers=ORIGIN)
    assert answer.status_code == 413
    assert "A form has 4096 bytes at most" in answer.text
    assert killed == []
    assert not (run / directory.STOP_FILE).exists()


@pytest.mark.parametrize("what", ["stop", "abort"])
def test_a_run_that_does_not_run_is_not_stopped(
    browser: TestClient, tmp_path: Path, killed: list[tuple[int, int]], what: str
) -> None:
    answer = browser.post(f"/{what}", data={"writing": writing(browser)}, headers=ORIGIN)
    assert answer.status_code == 409
    assert NOT_RUNNING[1:] in answer.text
    assert killed == []
    assert not (tmp_path / "runs" / "one" / directory.STOP_FILE).exists()


def test_a_signal_that_is_refused_is_told(browser: TestClient, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(pid: int, number: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "kill", refuse)
    answer = browser.post("/abort", data={"writing": writing(browser)}, headers=ORIGIN)
    assert answer.status_code == 500
    assert "could not be stopped: operation not permitted" in answer.text


def test_looking_never_stops(browser: TestClient, run: Path, killed: list[tuple[int, int]]) -> None:
    for what in ("stop", "abort"):
        assert browser.get(f"/{what}").status_code == 405
    assert killed == []
    assert not (run / directory.STOP_FILE).exists()
