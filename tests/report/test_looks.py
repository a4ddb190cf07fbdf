"""What a careful reader would fault on a page: labels on lines, numbers cut by a line end, folds that say nothing."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from pgassay.report import cache, contents, tradeoff
from pgassay.report.cache import BOX_FROM
from pgassay.report.case import Headline
from pgassay.report.findings import Findings
from pgassay.report.page import chapters, html
from pgassay.report.responses import blocks
from pgassay.report.section import Figure, Surface, Table
from pgassay.testing.planted import make_run
from tests.report import cacherun
from tests.report.blocks import drawing
from tests.report.crossed import make_crossed
from tests.report.driven import make_driven
from tests.report.scaled import make_scaled

LETTER_PX = 12


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return Findings(make_run(tmp_path_factory.mktemp("made") / "run"))


@pytest.mark.parametrize("make", [make_run, make_driven, make_crossed, make_scaled, cacherun.make_run])
def test_what_a_fold_holds_is_said_of_the_run_and_not_by_the_heads_of_its_tables(
    make: Callable[[Path], object], tmp_path: Path
) -> None:
    """Folds said `Kind`, `Finding`, `Median · 12 tables`."""
    found = Findings(make(tmp_path / "run"))  # type: ignore[arg-type]
    for section in contents.SECTIONS:
        shown = section.shown(found, Surface.PAGE)
        drawn = [block for block in shown if isinstance(block, Figure) and block.draw() is not None]
        if not section.open and (drawn or any(isinstance(block, Table) for block in shown)):
            assert len(section.brief(found).split()) > 1, section.name


def test_the_line_of_no_difference_goes_through_no_text(findings: Findings) -> None:
    """It went through the effects of rows that all lie on one side of it."""
    (figure,) = [block for block in blocks(findings) if isinstance(block, Figure)]
    drawn = figure.draw()
    assert drawn is not None
    assert not isinstance(drawn, str)
    rows = drawn.chart.to_dict()["data"]["values"]
    for row in rows:
        assert row["_above"] < row["_y"] < row["_below"]
        for other in rows:
            for top in (other["_text_y"], other["_label_y"]):
                assert row["_below"] <= top or top + LETTER_PX <= row["_above"]


def test_a_name_stands_above_its_ellipse(findings: Findings) -> None:
    """Names stood on the outline of their ellipses."""
    rows = drawing(tradeoff.SECTION, findings, "space-against-speed").chart.to_dict()["data"]["values"]
    named = [row for row in rows if row["kind"] == "treatment"]
    assert {row["name"] for row in named} == {"75", "50"}
    assert [row["name"] for row in rows if row["kind"] == "reference"] == ["100"]
    for row in named:
        outline = [
            each["speed"] for each in rows if each["treatment"] == row["treatment"] and each["kind"] == "ellipse"
        ]
        assert outline
        assert row["_align"] != "center" or row["_at"] >= max(outline)


def test_few_trials_of_a_size_are_dots_in_the_colours_of_the_legend(tmp_path: Path) -> None:
    """Boxes of one trial had no colour."""
    whole = cacherun.make_run(tmp_path / "run")
    few = Findings(whole)
    few.trials = tuple(trial for trial in whole.trials if trial.block < BOX_FROM)
    marks = {}
    for name, found in (("few", few), ("whole", Findings(whole))):
        drawn = cache.times(cache.CacheFindings(found), "seq")
        assert drawn is not None
        marks[name] = [layer["mark"]["type"] for layer in drawn.chart.to_dict()["layer"]]
    assert marks["few"] == ["point"]
    assert marks["whole"][:3] == ["rule", "bar", "tick"]


def test_no_line_ends_inside_a_number_an_interval_or_an_option(
    findings: Findings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--budget` was broken behind its hyphens, and `29.7 %` before its unit."""
    made = chapters(findings, drawn=False)
    page = html(findings, made)
    assert "+19.6\u00a0% [+18.7,\u00a0+20.6]" in page
    assert "19.6\u00a0% higher" in page
    early = Findings(findings.run)
    monkeypatch.setattr(
        "pgassay.report.headline.headline_of", lambda _: Headline(["run it with a larger --budget: <5 ms"], ())
    )
    text = html(early, chapters(early, drawn=False))
    assert 'larger <span class="keep">--budget</span>: &lt;5\u00a0ms.' in text


def test_a_page_writes_all_shares_and_changes_alike(findings: Findings) -> None:
    """One page had `3%` beside `2 %`."""
    shown = (
        html(findings, chapters(findings, drawn=False)).partition('<script type="module">')[0].partition("</style>")[2]
    )
    shown = re.sub("<(pre|code)[^>]*>.*?</(pre|code)>", "", shown, flags=re.DOTALL)
    assert not [shown[at - 20 : at + 1] for at in range(1, len(shown)) if shown[at] == "%" and shown[at - 1].isdigit()]
