"""The page of an advice: its answer takes the place of the run's own, and what does not matter is drawn in grey."""

from functools import cache
from pathlib import Path

from benchmarks.advise import Server, space_with
from pgassay.advise.report import drawing, headline, rows_of, sections
from pgassay.advise.screening import Standing
from pgassay.advise.task import Task
from pgassay.advise.walk import Advice, walk
from pgassay.report import page
from pgassay.report.charts import specified
from pgassay.report.findings import Findings
from pgassay.report.section import Figure, Folded, Sentences, Table
from pgassay.report.vega import GREY
from pgassay.testing.planted import make_run
from tests.advise.test_walk import task


@cache
def found() -> tuple[Task, Advice]:
    server = Server(space_with(10), 0.02, 1)
    wanted = task(server)
    return wanted, walk(wanted, server)


def test_the_page_has_one_answer_the_advice(tmp_path: Path) -> None:
    wanted, advice = found()
    findings = Findings(make_run(tmp_path / "run"))
    chapters = page.chapters(findings, drawn=False, own=sections(wanted, advice, ["tps"]))
    names = [each.section.name for each in chapters]
    assert names[:2] == ["headline", "advice"]
    assert names.count("headline") == 1, "the run's own is not there along with it"
    answer, facts = chapters[0].blocks
    assert isinstance(answer, Sentences)
    assert answer.texts == (headline(advice, ["tps"]),)
    assert isinstance(facts, Sentences)
    assert facts.small


def test_the_advice_has_its_lines_and_every_setting_that_was_screened(tmp_path: Path) -> None:
    wanted, advice = found()
    _, mine = sections(wanted, advice, ["tps"])
    sentences, lines, conf, sets, figure, screened = mine.blocks(Findings(make_run(tmp_path / "run")))
    assert isinstance(sentences, Sentences)
    assert any(each.startswith("against the default") for each in sentences.texts)
    assert isinstance(lines, Table)
    assert [str(row[0]) for row in lines.rows] == [each.name for each in advice.lines if each.kept]
    assert isinstance(conf, Folded)
    assert isinstance(sets, Folded)
    assert sets.summary == "What each configuration sets"
    assert isinstance(figure, Figure)
    assert figure.name != mine.name, "a page finds each by its name"
    assert isinstance(screened, Folded)
    (table,) = screened.blocks
    assert isinstance(table, Table)
    assert {str(row[0]) for row in table.rows} == {each.name for each in advice.screened}


def test_the_largest_effect_is_drawn_first_and_placebos_in_grey() -> None:
    _, advice = found()
    rows = rows_of(advice.screened)
    sizes = [max(1.0 + each["effect"] / 100.0, 1.0 / (1.0 + each["effect"] / 100.0)) for each in rows]
    assert sizes == sorted(sizes, reverse=True)
    grey = {each["name"] for each in rows if each["shade"] == GREY}
    assert grey == {each.name for each in advice.screened if each.standing is Standing.PLACEBO}
    assert all(each["low"] <= each["effect"] <= each["high"] for each in rows)
    drawn = drawing(advice.screened, "transactions per second", 0.05)
    assert drawn is not None
    assert specified(drawn.chart)["layer"]
    assert drawing((), "transactions per second", 0.05) is None
