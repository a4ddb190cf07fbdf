"""docs/emulated-drive.md has one opinion of each aim of speed: where it is measured, explained and summed up."""

import pytest

from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "emulated-drive.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    """What stands under a heading."""
    return PAGE.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


@pytest.mark.parametrize(
    ("row", "opinion"),
    [("queue depth 1, p50", "aim 1.3, not shown to be reached"), ("drive_pgbench", "0.92], aim 0.95, missed")],
)
def test_the_table_says_what_became_of_an_aim(row: str, opinion: str) -> None:
    (line,) = (each for each in section("Measured").splitlines() if each.startswith("|") and row in each)
    assert opinion in line


@pytest.mark.parametrize("title", ["Where the processor's time goes", "Limits"])
def test_explanation_and_limits_have_the_opinion_of_the_table(title: str) -> None:
    first = section(title).strip().removeprefix("* ").split("\n\n")[0]
    assert first.startswith("Two aims of speed are not shown to be reached")
    missed, open_ = first.split("The p50", 1)
    assert "directory" in missed
    assert "missed" in missed
    assert "1.3" in open_
    assert "open" in open_
