"""The page in a browser: nobody is shut out, nothing runs over its edge, and the answer is on the first screens."""

from pathlib import Path
from typing import Any

import pytest

from pgassay.report import page
from pgassay.report.findings import Findings
from pgassay.testing.planted import make_run
from tests.report.browser import OPEN_ALL, RUN_AXE, WIDE, ask, chromium, console, printed_pages
from tests.report.crossed import make_crossed
from tests.report.cut_runs import make_cuts
from tests.report.scaled import make_scaled
from tests.report.turned import make_turned

pytestmark = [pytest.mark.slow]
SCREENS, SCREEN = 4, 900
OPENED = 12
"""Screens of the page with everything unfolded, of a study like the demo's: servers in turns, every section there."""
PAGES = 5
SORTED = """
const table = document.querySelector("#measurements table.sorts");
const head = table.querySelectorAll("th")[2];
const cells = () => [...table.tBodies[0].rows].map((row) => row.cells[2].textContent);
head.querySelector("button").focus();
document.activeElement.click();
const up = [cells(), head.getAttribute("aria-sort")];
document.activeElement.click();
return [up, [cells(), head.getAttribute("aria-sort")]];
"""


MADE: Any = {
    "planted": make_run,
    "crossed": make_crossed,
    "scaled": make_scaled,
    "turned": make_turned,
    "cut": make_cuts,
}


@pytest.fixture(scope="module", params=list(MADE))
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a run with verdicts, one with conditions and covariates, a curve, servers in turns, and power cuts."""
    chromium()
    folder = tmp_path_factory.mktemp(request.param)
    return page.write(Findings(MADE[request.param](folder / "run")), folder / "report")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1400, 380])
def test_axe_finds_no_violation(written: Path, axe_script: str, tmp_path: Path, width: int, dark: bool) -> None:
    assert ask(written, tmp_path, RUN_AXE, first=OPEN_ALL, script=axe_script, width=width, dark=dark) == []


def test_axe_would_find_one(written: Path, axe_script: str, tmp_path: Path) -> None:
    faulty = """document.querySelector("main").insertAdjacentHTML("beforeend", '<img src="x.png"><a href="#"></a>');"""
    found = ask(written, tmp_path, RUN_AXE, first=faulty, script=axe_script, width=1400, dark=False)
    assert {each.partition(":")[0] for each in found} >= {"image-alt", "link-name"}


@pytest.mark.parametrize("first", ["", OPEN_ALL], ids=["folded", "open"])
@pytest.mark.parametrize("width", [1400, 380])
def test_nothing_runs_over_the_edge(written: Path, tmp_path: Path, width: int, first: str) -> None:
    assert ask(written, tmp_path, WIDE, first=first, width=width, dark=False) == {"scroll": 0, "over": []}


def test_the_console_is_empty(written: Path, tmp_path: Path) -> None:
    assert console(written, tmp_path) == []


def test_the_answer_takes_four_screens_at_most(written: Path, tmp_path: Path) -> None:
    height = ask(written, tmp_path, "return document.documentElement.scrollHeight;", width=1400, dark=False)
    assert SCREEN < height <= SCREENS * SCREEN


def test_unfolded_it_takes_twelve_screens_at_most(written: Path, tmp_path: Path) -> None:
    """It took 27: forests and strips of dots said again what tables say."""
    height = "return document.documentElement.scrollHeight;"
    folded = ask(written, tmp_path, height, width=1400, dark=False)
    opened = ask(written, tmp_path, height, first=OPEN_ALL, width=1400, dark=False)
    assert folded < opened <= (OPENED if written.parent.parent.name.startswith("turned") else 2 * OPENED) * SCREEN


def test_it_prints_on_five_pages_at_most(written: Path, tmp_path: Path) -> None:
    assert 1 <= printed_pages(written, tmp_path) <= PAGES


def test_a_link_unfolds_its_section_and_all_open_and_close(written: Path, tmp_path: Path) -> None:
    shown = "return [...document.querySelectorAll('details.chapter[open]')].map((each) => each.id);"
    assert ask(written, tmp_path, shown, width=1400, dark=False) == []
    linked = ask(written, tmp_path, shown, first='location.hash = "measurements";', width=1400, dark=False)
    assert linked == ["measurements"]
    both = "const [open, close] = document.querySelectorAll('#folds button'); open.click();"
    count = "const all = document.querySelectorAll('details').length;"
    opened = "const opened = document.querySelectorAll('details[open]').length; close.click();"
    after = f"{count}{both}{opened} return [all, opened, document.querySelectorAll('details[open]').length];"
    all_, opened_, closed = ask(written, tmp_path, after, width=1400, dark=False)
    assert (opened_, closed) == (all_, 0)


def test_a_table_sorts_by_its_numbers_and_says_so(written: Path, tmp_path: Path) -> None:
    (up, ascending), (down, descending) = ask(written, tmp_path, SORTED, first=OPEN_ALL, width=1400, dark=False)
    numbers = [float(each.replace(",", "")) for each in up]
    assert numbers == sorted(numbers)
    assert [float(each.replace(",", "")) for each in down] == sorted(numbers, reverse=True)
    assert (ascending, descending) == ("ascending", "descending")
