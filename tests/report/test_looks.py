"""What a careful reader would fault on a page: labels on lines, numbers cut by a line end, folds that say nothing."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from pgassay.report import cache, contents
from pgassay.report.answer import Headline
from pgassay.report.cache import BOX_FROM
from pgassay.report.charts import LINE
from pgassay.report.findings import Findings
from pgassay.report.page import chapters, html
from pgassay.report.section import Figure, Surface, Table
from pgassay.report.verdict import response_blocks as blocks
from pgassay.testing.planted import make_run
from tests.report import cacherun
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


def test_label_bar_and_number_are_on_one_height_and_nothing_goes_through_a_text(findings: Findings) -> None:
    """A bar was below its label, and the line of no difference went through the numbers of rows on one side of it."""
    (figure,) = [block for block in blocks(findings) if isinstance(block, Figure)]
    drawn = figure.draw()
    assert drawn is not None
    assert not isinstance(drawn, str)
    chart = drawn.chart.to_dict()
    rows = chart["data"]["values"]
    for row in rows:
        lines = row["_label"].count("\n") + 1
        assert row["_y"] == row["_label_y"] + lines * LINE / 2 == (row["_top"] + row["_bottom"]) / 2
        assert row["same_low"] < 0 < row["same_high"]
        assert row["side"] in row["_label"]
    assert {row["label"]: row["side"] for row in rows}.items() >= {"Throughput": "better →", "WAL": "← better"}.items()
    # Bars lie between the longest name and the longest number.
    (place,) = {str(layer["encoding"]["x"]["scale"]["range"]) for layer in chart["spec"]["layer"]
                if "scale" in layer["encoding"].get("x", {})}  # fmt: skip
    first, last = float(place[1 : place.index(",")]), float(place.split(" - ")[1].split("'")[0])
    assert first > LETTER_PX / 2 * max(len(line) for row in rows for line in row["_label"].split("\n"))
    assert last > LETTER_PX / 2 * max(len(row["text"]) for row in rows)


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
