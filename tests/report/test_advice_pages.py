"""The pages of an advice and of a front in a browser, each made of a walk on a simulated server.

What stands below the answer is a planted run's: a simulated walk has no run of its own.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.advise import Server, space_with
from benchmarks.advise_front import TwoServer
from pgassay.advise import report
from pgassay.advise.walk import walk
from pgassay.report import page
from pgassay.report.findings import Findings
from pgassay.testing.planted import make_run
from tests.advise import test_front_walk, test_walk
from tests.report.browser import OPEN_ALL, RUN_AXE, WIDE, ask, chromium, console, printed_pages

pytestmark = [pytest.mark.slow]
SCREENS, SCREEN = 6, 900
PAGES = 7
FIRST = """
const part = document.querySelector("main > section, main > details");
const said = part.querySelector("p, li");
return [part.className, said.textContent.trim(), said.getBoundingClientRect().bottom];
"""
DRAWN = """
const own = ["screened-settings", "front-points"].map((name) => document.getElementById(name));
return own.filter((each) => each).map((each) => [each.id, each.querySelector("svg") !== null]);
"""


def advice(findings: Findings, path: Path) -> tuple[Path, str]:
    """The page of one answer, and its headline."""
    server = Server(space_with(10), 0.02, 1)
    task = test_walk.task(server)
    found = walk(task, server)
    return page.write(findings, path, own=report.sections(task, found, ["tps"])), report.headline(found, ["tps"])


def front(findings: Findings, path: Path) -> tuple[Path, str]:
    """The page of points to choose from, and its headline."""
    server = TwoServer(space_with(6), 0.02, 1)
    task, found = test_front_walk.task(server), test_front_walk.walked(server)
    names = tuple(findings.responses)[:2]
    return page.write(findings, path, own=report.sections(task, found, names)), report.headline(found, names)


MADE: dict[str, Callable[[Findings, Path], tuple[Path, str]]] = {"advice": advice, "front": front}


@pytest.fixture(scope="module", params=list(MADE))
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A page and its headline."""
    chromium()
    folder = tmp_path_factory.mktemp(request.param)
    return MADE[request.param](Findings(make_run(folder / "run")), folder / "report")


@pytest.fixture
def written(both: tuple[Path, str]) -> Path:
    """The page."""
    return both[0]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1400, 380])
def test_axe_finds_no_violation(written: Path, axe_script: str, tmp_path: Path, width: int, dark: bool) -> None:
    assert ask(written, tmp_path, RUN_AXE, first=OPEN_ALL, script=axe_script, width=width, dark=dark) == []


@pytest.mark.parametrize("first", ["", OPEN_ALL], ids=["folded", "open"])
@pytest.mark.parametrize("width", [1400, 380])
def test_nothing_runs_over_the_edge(written: Path, tmp_path: Path, width: int, first: str) -> None:
    assert ask(written, tmp_path, WIDE, first=first, width=width, dark=False) == {"scroll": 0, "over": []}


@pytest.mark.parametrize("width", [1400, 380])
def test_the_answer_stands_first_and_on_the_first_screen(both: tuple[Path, str], tmp_path: Path, width: int) -> None:
    path, headline = both
    part, said, bottom = ask(path, tmp_path, FIRST, width=width, dark=False)
    assert part == "part-headline"
    assert said.replace("\xa0", " ").lower() == f"{headline.lower()}.", said
    assert bottom < SCREEN


def test_its_pictures_are_drawn(written: Path, tmp_path: Path) -> None:
    drawn = dict(ask(written, tmp_path, DRAWN, width=1400, dark=True))
    assert set(drawn) in ({"screened-settings"}, {"front-points"})
    assert all(drawn.values())


def test_the_console_is_empty(written: Path, tmp_path: Path) -> None:
    assert console(written, tmp_path) == []


def test_the_console_would_tell_a_fault(written: Path, tmp_path: Path) -> None:
    faulty = tmp_path / "faulty.html"
    text_ = written.read_text(encoding="utf-8")
    faulty.write_text(text_.replace("</body>", "<script>missing();</script></body>"), encoding="utf-8")
    assert any("missing is not defined" in each for each in console(faulty, tmp_path))


def test_it_is_short_and_prints_on_few_pages(written: Path, tmp_path: Path) -> None:
    height = ask(written, tmp_path, "return document.documentElement.scrollHeight;", width=1400, dark=False)
    assert SCREEN < height <= SCREENS * SCREEN
    assert 1 <= printed_pages(written, tmp_path) <= PAGES
