"""Sections that are kept beside a run: its page is the same however often it is made again."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.record.errors import DamagedError
from pgassay.record.reading import Run
from pgassay.report import charts, contents, page, verdict
from pgassay.report.findings import Findings
from pgassay.report.section import (
    Block,
    Cell,
    Code,
    Drawing,
    Figure,
    Folded,
    Listing,
    Section,
    Sentences,
    Table,
    VerdictRow,
    Verdicts,
)
from pgassay.testing.planted import make_run


def drawn() -> Drawing:
    chart = charts.chart_of([{"x": 1.0, "y": 2.0}]).mark_point().encode(x="x:Q", y="y:Q")
    return Drawing("A dot", "Where it is.", chart.properties(height=80))


def every(findings: Findings) -> Iterator[Block]:
    """A block of every kind, with all that it may have."""
    yield Sentences(("one", "two"), small=True)
    yield Table(["a", "b"], [[Cell("x", small="y", unit="ms", code=True), "1"], ["z", "2"]], "Title", ("a note",), (1,))
    yield Figure("own-dot", drawn, key=1)
    yield Figure("own-nothing", lambda: None)
    yield Verdicts([VerdictRow("here", "+1 %", "better", "it is", "8")])
    yield Listing("of one", ["this", "that"], "about it")
    yield Folded("more", (Code("a = 1", "a file"), Folded("deeper", (Table(["c"], [["3"]], texts=True),))))


def sections() -> tuple[Section, ...]:
    front = replace(verdict.SECTION, title="Mine", describe=every, link="Mine", open=True)
    return contents.headline_instead(("it is so",)), front, Section("folded", "Folded", every_but_figures)


def every_but_figures(findings: Findings) -> Iterator[Block]:
    yield from (each for each in every(findings) if not isinstance(each, Figure))


def html(run: Path) -> str:
    findings = Findings(Run.open(run))
    return page.html(findings, page.chapters(findings))


def test_the_page_made_again_is_the_one_of_the_sections(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    findings = Findings(run)
    alone = html(run.path)
    own = page.html(findings, page.chapters(findings, own=sections()))
    kept = contents.keep_sections(findings, sections())
    assert page.html(findings, page.chapters(findings, own=kept)) == own
    assert html(run.path) == own
    assert own != alone
    assert "it is so" in own
    (run.path / contents.KEPT_FILE).unlink()
    assert html(run.path) == alone


def test_with_other_trials_the_run_speaks_for_itself(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    contents.keep_sections(Findings(run), sections())
    file = run.path / contents.KEPT_FILE
    told = json.loads(file.read_text())
    for changed in ({"trials": told["trials"] - 1}, {"format": 99}):
        file.write_text(json.dumps({**told, **changed}))
        assert contents.kept_sections(Findings(run)) == ()


@pytest.mark.parametrize("broken", ["{", "{}", '{"format": 1, "trials": TRIALS, "sections": [{"name": "x"}]}'])
def test_a_broken_file_is_named(tmp_path: Path, broken: str) -> None:
    findings = Findings(make_run(tmp_path / "run"))
    text = broken.replace("TRIALS", str(len(findings.trials)))
    (findings.run.path / contents.KEPT_FILE).write_text(text)
    with pytest.raises(DamagedError, match=contents.KEPT_FILE):
        contents.kept_sections(findings)
