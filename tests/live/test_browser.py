"""The pages in a real Chromium: they draw, obey their own policy, fit a phone, and shut nobody out."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pgassay.record import live_sample
from pgassay.record.directory import RunDirectory
from pgassay.record.live_sample import LiveSample
from pgassay.testing.planted import make_run
from tests.live.browser import OVER_THE_EDGE, PHONE, WIDE, opened, serving, violations
from tests.live.served import HOSTILE_NAME
from tests.report.browser import axe

pytestmark = [pytest.mark.slow]


@pytest.fixture(scope="module")
def served(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(runs / "one") as found:
        yield found


@pytest.fixture(scope="module")
def axe_script(tmp_path_factory: pytest.TempPathFactory) -> str:
    return axe(tmp_path_factory.mktemp("axe"))


def test_the_report_draws_under_its_policy(served: str) -> None:
    with opened(served) as (page, faults):
        page.goto(served.partition("/live?")[0] + "/")
        page.wait_for_selector("figure svg")
        page.get_by_role("button", name="Open all").click()
        page.wait_for_function(
            "() => [...document.querySelectorAll('.chart')].every((each) => each.querySelector('svg'))"
        )
    assert faults == []


@pytest.mark.parametrize("path", ["/", "/live"], ids=["report", "live"])
def test_a_name_that_is_a_script_runs_nowhere(runs: Path, path: str) -> None:
    with serving(runs / HOSTILE_NAME) as served, opened(served) as (page, faults):
        page.on("dialog", lambda dialog: faults.append(dialog.message))
        page.goto(served.partition("/live?")[0] + path)
        page.wait_for_load_state("networkidle")  # what a page runs, it has run by then
        assert "<script>alert(1)</script>" in page.locator("main").inner_text()
    assert faults == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_axe_finds_no_violation_and_nothing_runs_over_the_edge(
    runs: Path, axe_script: str, width: int, dark: bool
) -> None:
    with serving(runs / "broken") as served, opened(served, width=width, dark=dark) as (page, _):
        page.goto(served.partition("/live?")[0] + "/")
        page.wait_for_load_state("networkidle")
        assert violations(page, axe_script) == []
        assert page.evaluate(OVER_THE_EDGE) == 0


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_the_live_page_shuts_nobody_out(runs: Path, axe_script: str, tmp_path: Path, width: int, dark: bool) -> None:
    with serving(runs / "one") as served, opened(served, width=width, dark=dark) as (page, faults):
        page.goto(served.partition("/live?")[0] + "/live")
        page.wait_for_selector("#effects svg")
        page.screenshot(path=tmp_path / "page.png", full_page=True)
        assert violations(page, axe_script) == []
        assert page.evaluate(OVER_THE_EDGE) == 0
        assert faults == []


def test_when_a_finished_runs_server_ends_its_page_says_so_and_asks_no_more(runs: Path) -> None:
    with ExitStack() as server:
        served = server.enter_context(serving(runs / "one"))
        with opened(served) as (page, _):
            page.goto(served.partition("/live?")[0] + "/live")
            page.wait_for_selector("#effects svg")
            assert page.locator("#connection").inner_text() == ""
            server.close()
            page.wait_for_function("() => document.getElementById('connection').textContent !== ''")
            assert "The run has ended, and its server with it" in page.locator("#connection").inner_text()


UNSEEN = """window.unseen = false; window.told = 0;
Object.defineProperty(document, "hidden", { get: () => window.unseen });
const parse = JSON.parse;
JSON.parse = (text) => { const found = parse(text); window.told += found?.rows?.length ?? 0; return found; };"""
POINTS = "document.querySelectorAll('#seconds .mark-symbol.role-mark path').length"


def test_a_tab_that_nobody_sees_draws_nothing_until_it_is_seen(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    run = make_run(tmp_path / "runs" / "one", finished=False).path
    began_ns = time.monotonic_ns()
    with RunDirectory.open(run) as directory, ExitStack() as stack:
        directory.resumed()
        directory.begin_trial(directory.next_number, {"block": 9, "attempt": 1, "arm": "table.fillfactor=75"})
        (staging,) = (run / "trials").glob(".staging-*")

        def tell(second: int) -> None:
            values = {"wal_bytes": second * 1e6}
            live_sample.append(staging, LiveSample(began_ns + second * 10**9, time.time_ns(), "wal", values))

        for second in range(3):
            tell(second)
        served = stack.enter_context(serving(run))
        page, faults = stack.enter_context(opened(served))
        page.add_init_script(UNSEEN)
        page.goto(served.partition("/live?")[0] + "/live")
        page.wait_for_function(f"() => {POINTS} === 2 && window.told === 2")
        page.evaluate("window.unseen = true")
        for second in range(3, 6):
            tell(second)
        page.wait_for_function("() => window.told === 5")
        page.wait_for_timeout(500)
        assert page.evaluate(POINTS) == 2
        page.evaluate("window.unseen = false; document.dispatchEvent(new Event('visibilitychange')); undefined")
        page.wait_for_function(f"() => {POINTS} === 5")
        assert faults == []
