"""A real study watched in a real browser while it runs, stopped there by the keyboard alone, or killed from outside.

Screenshots of its start, middle and end are left in pytest's folder of the test.
"""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import httpx2
import pytest

from pgassay.live.progress import KILLED
from pgassay.record import directory, live_sample
from tests.live.browser import opened
from tests.report.browser import chromium
from tests.system.journeys import ANYWHERE, LONG_S, Place, finished, kill

pytestmark = [pytest.mark.slow, pytest.mark.timeout(LONG_S)]
SHORT = (
    "--quick", "--levels", "table.fillfactor=100,75", "--set", "load.scale=1", "--set", "load.duration=4s",
    "--set", "load.warmup=0s", "--blocks", "7..30", "--seed", "3",
)  # fmt: skip
BLOCK_MS = 900_000


def address_of(process: "subprocess.Popen[str]") -> str:
    """What the run prints of its page."""
    assert process.stderr is not None
    for line in process.stderr:
        found = re.fullmatch(r"pgassay: live: (http://127\.0\.0\.1:\d+/live\?token=[\w-]+)\n", line)
        if found:
            return found[1]
    raise AssertionError("no address")


def test_a_run_is_watched_and_stopped_in_a_browser(journey: Place, tmp_path: Path) -> None:
    chromium()
    run = journey.runs / "live"
    process = journey.start("run", "fillfactor", *SHORT, *ANYWHERE, "--out", str(run), "--quiet", "--live")
    with opened(address_of(process)) as (page, faults):
        page.wait_for_function(
            "() => document.getElementById('note').textContent.includes('no verdict before block 5')"
        )
        page.screenshot(path=tmp_path / "start.png", full_page=True)
        page.wait_for_selector("#seconds svg", timeout=BLOCK_MS)
        page.wait_for_selector("#places tr:nth-child(4)", timeout=BLOCK_MS)
        assert page.locator("#nothing").is_hidden()
        page.wait_for_selector(
            "#seconds .mark-symbol path", state="attached"
        )  # the last turns stay until there are new
        page.screenshot(path=tmp_path / "middle.png", full_page=True)
        assert page.locator("#stopping").is_visible()
        page.wait_for_selector("#effects svg", timeout=BLOCK_MS)
        assert page.locator("#note").inner_text() == ""
        page.screenshot(path=tmp_path / "end.png", full_page=True)
        page.locator("#stop").focus()
        page.keyboard.press("Enter")
        page.wait_for_function("() => !!document.getElementById('asked')?.textContent")
        done = finished(process)
        assert [each for each in faults if "ERR_" not in each] == []  # its server ends with the run
    assert done.returncode == 130, done.stderr
    assert "continue with:\npgassay resume" in done.stderr
    journal = [json.loads(line) for line in (run / "journal.jsonl").read_text().splitlines()]
    assert (journal[-1]["kind"], journal[-1]["data"]["reason"]) == ("interrupted", directory.STOPPED)
    blocks = [each["data"]["block"] for each in journal if each["kind"] == "trial_started"]
    assert len(blocks) == 2 * max(blocks), "the last block is whole"
    assert not (run / directory.STOP_FILE).exists()
    assert list(run.rglob(live_sample.FILE)) == []
    assert journey.left_behind() == []


def test_without_a_browser_the_page_answers_and_aborts_the_run(
    journey: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run opens none, also where there is one; whoever can ask by HTTP sees it and stops it at once."""
    asked = tmp_path / "asked"
    opener = tmp_path / "browser"
    opener.write_text(f"#!/bin/sh\ntouch {asked}\n")
    opener.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(opener))
    run = journey.runs / "aborted"
    process = journey.start("run", "fillfactor", *SHORT, *ANYWHERE, "--out", str(run), "--quiet", "--live")
    address = address_of(process)
    place = address.partition("/live?")[0]
    with httpx2.Client(follow_redirects=True, trust_env=False, timeout=300) as person:
        assert person.get(address).status_code == 200
        wait_for_event(run, "trial_started")
        found = re.search(r'name="writing" value="([\w-]+)"', person.get(f"{place}/live").text)
        assert found is not None
        refused = person.post(f"{place}/abort", data={"writing": "wrong"}, headers={"origin": place})
        assert refused.status_code == 403
        assert process.poll() is None
        person.post(f"{place}/abort", data={"writing": found[1]}, headers={"origin": place})
        done = finished(process)
    assert done.returncode in (130, 143), done.stderr
    assert "continue with:\npgassay resume" in done.stderr
    assert not asked.exists(), "a browser was opened"
    assert events_of(run)[-1] == "interrupted"
    assert journey.left_behind() == []


def test_when_the_run_is_killed_its_page_stays_and_says_what_became_of_it(journey: Place) -> None:
    chromium()
    run = journey.runs / "killed"
    process = journey.start("run", "fillfactor", *SHORT, *ANYWHERE, "--out", str(run), "--quiet", "--live")
    address = address_of(process)
    try:
        with opened(address) as (page, faults):
            page.wait_for_selector("#seconds svg", timeout=BLOCK_MS)
            kill(process)
            page.wait_for_function(f"() => document.getElementById('state').textContent === '{KILLED}'")
            assert page.locator("#stopping").is_hidden()
            assert "given up" in page.locator("#places").inner_text()
            page.reload()
            page.wait_for_function(f"() => document.getElementById('state').textContent === '{KILLED}'")
            assert faults == []
        assert serving(run), "it stays for who comes back"
    finally:
        for pid in serving(run):
            os.kill(pid, signal.SIGTERM)


def serving(run: Path) -> list[int]:
    """The processes that serve the page of this run."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue  # it ended while we looked
        if b"serve" in words and str(run).encode() in words:
            found.append(int(entry.name))
    return found


def events_of(run: Path) -> list[str]:
    """The kinds of what the journal has, in its order."""
    path = run / "journal.jsonl"
    return [json.loads(line)["kind"] for line in path.read_text().splitlines()] if path.exists() else []


def wait_for_event(run: Path, kind: str) -> None:
    """Until the journal has one of this kind."""
    end_s = time.monotonic() + LONG_S / 2
    while kind not in events_of(run):
        assert time.monotonic() < end_s, f"no {kind}"
        time.sleep(0.1)
