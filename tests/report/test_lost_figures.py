"""A figure that fails costs itself alone, whatever is raised, and is named where it would stand."""

from pathlib import Path
from typing import Any

import pytest
import vl_convert

from pgassay.record.reading import Run
from pgassay.report import contents, page
from pgassay.report.findings import Findings
from pgassay.report.section import Block, Figure, Section
from pgassay.report.vega import drawable
from pgassay.testing.planted import make_run

LOST = "over-blocks"


class Panic(BaseException):
    """As pyo3 makes of Rust's: no Exception."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("made") / "run")


def test_a_picture_that_cannot_be_made_is_named_in_its_place(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    findings = Findings(run)
    made = {each.name: each for each in page.figures(page.chapters(findings))}

    def png(specification: Any, **options: Any) -> bytes:
        if specification["description"] == made[LOST].title:
            raise Panic("the renderer\nfell over")
        return b"png"

    monkeypatch.setattr(vl_convert, "vegalite_to_png", png)
    monkeypatch.setattr(vl_convert, "vegalite_to_svg", lambda specification: "<svg/>")
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / f"{LOST}.svg").write_text("an earlier report's")
    text = page.write(findings, tmp_path).read_text(encoding="utf-8")
    assert text.count("There is no picture of this figure: Panic: the renderer.") == 1
    there = {path.name for path in (tmp_path / "figures").iterdir()}
    assert there == {f"{name}.{kind}" for name in made if name != LOST for kind in ("png", "svg")}
    assert f'href="figures/{LOST}.svg"' not in text
    assert len(there) > 2


def test_a_figure_that_cannot_be_drawn_is_a_sentence(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing() -> Any:
        raise ZeroDivisionError("by what a record has")

    def shown(findings: Findings) -> list[Block]:
        return [Figure("mine", failing)]

    section = Section("own", "Own", shown)
    others = contents.sections()
    monkeypatch.setattr(contents, "sections", lambda: (*others, section))
    findings = Findings(run)
    text = page.html(findings, page.chapters(findings))
    assert "igure &#34;mine&#34; could not be drawn: ZeroDivisionError: by what a record has" in text
    assert 'id="fig-' in text, "the others are there"


@pytest.mark.parametrize("text", ["\x1b[2J", "\ud800", "a\nb", r"\u001b", "\\", '"+x+"', "\uffff", "\x00", "'\\'"])
def test_any_text_can_be_drawn(text: str) -> None:
    title = {"field": "a", "type": "nominal", "title": text}
    bars: dict[str, Any] = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "title": text, "data": {"values": [{"a": text, "b": 1}]}, "mark": {"type": "bar", "tooltip": True},
        "encoding": {"x": {**title, "sort": [text]}, "y": {"field": "b", "type": "quantitative", "title": text},
                     "tooltip": [title]},
    }  # fmt: skip
    assert vl_convert.vegalite_to_png(drawable(bars)).startswith(b"\x89PNG")
    assert "aria-label" in vl_convert.vegalite_to_svg(drawable(bars))
