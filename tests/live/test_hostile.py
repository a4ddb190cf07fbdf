"""Texts of a study that somebody wrote to run in our page: its title, its statements, its plans, its treatments.

Shown as text in the page of the run and in its report, in a real Chromium; nothing of them runs and nothing is loaded.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pgassay.record.ask import STATEMENTS_FILE as TRIED
from pgassay.record.ask import StatementRecord, encode_statements
from pgassay.testing.planted import make_run
from tests.live.browser import opened, serving
from tests.live.going import Going, going
from tests.report.test_statements import BASELINE, WIDE, planted

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
TITLE = "<script>alert(1)</script></title></script><img src=x onerror=alert(2)>javascript:alert(3)"
STATEMENT = "SELECT '</script><script>alert(4)</script><img src=x onerror=alert(5)>' /* javascript:alert(6) */"
PLAN = 'Seq Scan on "</pre><svg onload=alert(7)>"  (cost=1) --> <!-- ]]>'
ARM = "table.fillfactor=</td><script>alert(8)</script>"
# An element of theirs would have one of these; ours have none.
MADE = """() => [...document.querySelectorAll("*")].filter((each) =>
  each.getAttribute("onerror") || each.getAttribute("onload") || /^ *javascript:/i.test(each.getAttribute("href") ?? "")
  || each.getAttribute("src") === "x").map((each) => each.outerHTML)"""


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Going]:
    """Its process writes; two scripts have been compared, with statements as `pgassay ask` tries them."""
    (tmp_path / "runs").mkdir()
    path = planted(tmp_path / "runs" / "one", ("writes", "joins")).run.path
    study = path / "study.toml"
    kept = study.read_text(encoding="utf-8")
    study.write_text(re.sub(r"^title = .*$", lambda _: f"title = '''{TITLE}'''", kept, flags=re.MULTILINE), "utf-8")
    plans = {BASELINE: PLAN, WIDE: f"{PLAN} x"}
    rows = {BASELINE: 50, WIDE: 40}
    (path / TRIED).write_bytes(encode_statements([StatementRecord("writes", STATEMENT, 50, plans, rows)]))
    with going(path, ARM) as found:
        found.tell(0, 1, 2)
        yield found


@pytest.mark.parametrize("page_of", ["live", ""], ids=["live", "report"])
def test_texts_that_are_scripts_are_shown_and_run_nowhere(run: Going, page_of: str) -> None:
    with serving(run.path) as served, opened(served) as (page, faults):
        page.on("dialog", lambda dialog: faults.append(dialog.message))
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(served.partition("/live?")[0] + "/" + page_of)
        page.wait_for_selector("#effects svg" if page_of else "figure svg")
        if not page_of:
            page.get_by_role("button", name="Open all").click()
        text = page.locator("main").inner_text()
        assert TITLE in page.locator("h1").inner_text()
        assert TITLE in page.title()
        assert all(each in text for each in ((ARM,) if page_of else (STATEMENT, PLAN)))
        assert page.evaluate(MADE) == []
        assert [url for url in asked if url.endswith("/x")] == []
    assert faults == []


def test_the_report_of_a_link_is_no_link(tmp_path: Path) -> None:
    """A title that is an address is text: the page has no link that a text of the study made."""
    (tmp_path / "runs").mkdir()
    study = make_run(tmp_path / "runs" / "one").path / "study.toml"
    kept = study.read_text(encoding="utf-8")
    study.write_text(re.sub(r"^title = .*$", "title = 'javascript:alert(1)'", kept, flags=re.MULTILINE), "utf-8")
    with serving(tmp_path / "runs" / "one") as served, opened(served) as (page, faults):
        for path in ("/", "/live"):
            page.goto(served.partition("/live?")[0] + path)
            page.get_by_text("javascript:alert(1)").first.wait_for()
            assert page.evaluate(MADE) == []
    assert faults == []
