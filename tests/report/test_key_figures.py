"""Key figures stand in the order of their ranks, in the page's text and in its data alike, in every process."""

import pytest

from pgassay.report import contents, page
from pgassay.report.page import Chapter, DrawnFigure
from pgassay.report.section import Figure, Section


def section(name: str) -> Section:
    return Section(name, name, lambda findings: ())


def test_figures_and_their_data_are_in_one_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """A set of names has another order in each process, so the same record made another page."""
    monkeypatch.setattr(page, "KEY_FIGURES", 30)
    names = [f"figure-{number}" for number in range(30)]
    drawn = {name: DrawnFigure(name, name, "", {"height": 1}) for name in names}
    chapter = Chapter(section("all"), [Figure(name, lambda: None, key=1) for name in names], drawn)
    _, key, _ = page._with_key_figures([chapter, Chapter(section(contents.TRUST), [])])
    assert [block.name for block in key.blocks if isinstance(block, Figure)] == names
    assert list(key.figures) == names
