"""The page of a run that goes on, in a real Chromium, when something is cut: the run, its server, or the way there.

And who cannot use a mouse, or looks at it on a phone or in the dark, has all of it.
"""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page

from pgassay.live.progress import KILLED
from pgassay.live.server import FOREIGN_ORIGIN
from pgassay.record import directory
from pgassay.testing.planted import make_run
from tests.live.browser import OVER_THE_EDGE, PATIENCE_MS, PHONE, WIDE, opened, serving, violations
from tests.live.forwarding import forwarded
from tests.live.going import ARM, BLOCK, Going, going
from tests.report.browser import axe

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
RUNNING = "document.getElementById('state')?.textContent === 'running'"
CONNECTION = "document.getElementById('connection')?.textContent"
POINTS = "document.querySelectorAll('#seconds .mark-symbol.role-mark path').length"
FOCUSED = """() => {
  const here = document.activeElement, seen = getComputedStyle(here);
  const shown = here.checkVisibility() && seen.outlineStyle !== "none" && parseFloat(seen.outlineWidth) >= 1;
  return [here === document.body ? "" : here.id || here.getAttribute("aria-label") || here.textContent.trim(), shown];
}"""


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Going]:
    """One of three seconds so far."""
    (tmp_path / "runs").mkdir()
    with going(make_run(tmp_path / "runs" / "one", finished=False).path) as found:
        found.tell(0, 1, 2)
        yield found


@pytest.fixture(scope="module")
def axe_script(tmp_path_factory: pytest.TempPathFactory) -> str:
    return axe(tmp_path_factory.mktemp("axe"))


@contextmanager
def watched(served: str, *, width: int = WIDE, dark: bool = False) -> Iterator[tuple[Page, list[str]]]:
    """Its page, once it has drawn the first seconds."""
    with opened(served, width=width, dark=dark) as (page, faults):
        page.wait_for_function(f"() => {RUNNING} && {POINTS} === 2")
        yield page, faults


def our_own(faults: list[str]) -> list[str]:
    """Without what the browser itself says of a connection that is gone."""
    return [each for each in faults if "ERR_" not in each]


def test_when_the_runs_process_is_killed_the_page_stays_and_says_so(run: Going) -> None:
    with serving(run.path) as served, watched(served) as (page, faults):
        assert re.fullmatch(f"block {BLOCK}: {ARM}; at most .* left", page.locator("#doing").inner_text())
        assert page.locator("#stopping").is_visible()
        run.kill()
        page.wait_for_function(f"() => document.getElementById('state').textContent === '{KILLED}'")
        assert page.locator("#doing").inner_text() == ""
        assert page.locator("#stopping").is_hidden()
        assert page.locator("#places tr").first.inner_text().split("\t")[-1] == "given up"
        assert page.locator("#effects svg").count() == 1, "what was known stays"
        assert page.evaluate(POINTS) == 2
        assert faults == []


def test_after_its_server_began_again_the_page_comes_back_and_goes_on(run: Going) -> None:
    with ExitStack() as server:
        served = server.enter_context(serving(run.path))
        with watched(served) as (page, faults):
            server.close()
            page.wait_for_function(f"() => {CONNECTION} === 'The connection is lost; trying again.'")
            run.tell(3, 4)
            with serving(run.path, urlsplit(served).port or 0):
                page.wait_for_function(f"() => {CONNECTION} === '' && {POINTS} === 4")
                run.tell(5)
                page.wait_for_function(f"() => {POINTS} === 5")
            assert our_own(faults) == []


def test_a_server_with_another_token_is_one_to_be_opened_by_its_own_address(run: Going) -> None:
    with ExitStack() as server:
        served = server.enter_context(serving(run.path))
        with watched(served) as (page, _):
            server.close()
            with serving(run.path, urlsplit(served).port or 0, "another"):
                page.wait_for_function(f"() => {CONNECTION}?.startsWith('The server has ended: open the address')")
                assert page.evaluate(POINTS) == 2, "what was shown stays"


def test_a_forwarded_port_that_was_cut_comes_back_and_stops_the_run(run: Going) -> None:
    """As `ssh -L` does it: the browser names another port than the server's, in Host and in Origin."""
    with ExitStack() as way, serving(run.path) as served:
        server = urlsplit(served)
        port = way.enter_context(forwarded(server.port or 0))
        assert port != server.port
        with watched(f"http://localhost:{port}/live?{server.query}") as (page, faults):
            way.close()
            page.wait_for_function(f"() => {CONNECTION} === 'The connection is lost; trying again.'")
            run.tell(3)
            with forwarded(server.port or 0, port):
                page.wait_for_function(f"() => {CONNECTION} === '' && {POINTS} === 3")
                page.get_by_role("button", name="Stop after this block").click()
                page.wait_for_function("() => document.getElementById('asked')?.textContent.startsWith('asked')")
            assert (run.path / directory.STOP_FILE).exists()
            assert our_own(faults) == []


def test_a_page_of_another_origin_cannot_stop_it_through_a_forwarded_port(run: Going) -> None:
    """Its form has even the right word: a browser says whose it is."""
    with serving(run.path) as served, forwarded(urlsplit(served).port or 0) as port:
        with watched(f"http://localhost:{port}/live?token=token") as (page, _):
            form = page.content()
            word = re.search(r'name="writing" value="([\w-]+)"', form)
            assert word is not None
            foreign = (
                f'<form action="http://localhost:{port}/stop" method="post">'
                f'<input name="writing" value="{word[1]}"><button>Win</button></form>'
            )
            page.route(
                "http://elsewhere.localhost/", lambda route: route.fulfill(body=foreign, content_type="text/html")
            )
            page.goto("http://elsewhere.localhost/")
            page.get_by_role("button", name="Win").click()
            page.wait_for_url(f"http://localhost:{port}/**")
            assert page.locator("body").inner_text().strip() == FOREIGN_ORIGIN
        assert not (run.path / directory.STOP_FILE).exists()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_the_page_of_a_run_that_goes_on_shuts_nobody_out(
    run: Going, axe_script: str, tmp_path: Path, width: int, dark: bool
) -> None:
    with (
        serving(run.path) as served,
        watched(served, width=width, dark=dark) as (page, faults),
    ):
        page.locator("summary").click()
        assert page.get_by_role("button", name="Abort now").is_visible()
        assert violations(page, axe_script) == []
        assert page.evaluate(OVER_THE_EDGE) == 0
        page.get_by_role("button", name="Stop after this block").click()
        page.wait_for_function("() => document.getElementById('asked')?.textContent.startsWith('asked')")
        page.wait_for_function(f"() => {POINTS} === 2")
        assert violations(page, axe_script) == [], "when it was asked to stop"
        assert page.evaluate(OVER_THE_EDGE) == 0
        page.screenshot(path=tmp_path / "page.png", full_page=True)
        assert faults == []


def tabs(page: Page, until: str = "", key: str = "Tab") -> list[str]:
    """What Tab reaches from where the focus is, up to `until` or the page's end; each shows that it has the focus."""
    reached: list[str] = []
    while len(reached) < 100:
        page.keyboard.press(key)
        name, shown = page.evaluate(FOCUSED)
        if not name:
            return reached
        assert shown, f"{name} does not show that it has the focus"
        reached.append(name)
        if name == until:
            return reached
    raise AssertionError(f"Tab goes round: {reached}")


def test_tab_reaches_everything_in_its_order_and_enter_works(run: Going) -> None:
    with serving(run.path) as served, watched(served) as (page, faults):
        page.wait_for_selector("#effects svg")
        links = ["Report"]
        lower = ["seconds", "Table: schedule", "Table: decisions"]
        assert tabs(page) == [*links, "effects", "stop", "Abort", *lower]
        page.reload()
        page.wait_for_function(f"() => {RUNNING} && {POINTS} === 2")
        page.wait_for_selector("#effects svg")
        assert tabs(page, "Abort") == [*links, "effects", "stop", "Abort"]
        page.keyboard.press("Enter")
        assert tabs(page, "abort") == ["abort"]
        assert tabs(page) == lower
        assert tabs(page, "stop", key="Shift+Tab")[-2:] == ["Abort", "stop"]
        page.keyboard.press("Enter")
        page.wait_for_function("() => document.getElementById('asked')?.textContent.startsWith('asked')")
        assert (run.path / directory.STOP_FILE).exists()
        assert tabs(page, "Abort")[-1] == "Abort", "a stop that was asked for is no longer on the way"
        page.keyboard.press("Enter")
        assert tabs(page, "abort") == ["abort"]
        page.keyboard.press("Enter")
        run.process.wait(PATIENCE_MS / 1000)
        page.wait_for_function(f"() => document.getElementById('state')?.textContent === '{KILLED}'")
        assert tabs(page, "Report") == links
        page.keyboard.press("Enter")
        page.wait_for_url("http://127.0.0.1:*/")
        assert faults == []
