"""The description of a drive can be emulated, and the evidence has one opinion of each aim of speed."""

from pathlib import Path

import pytest

from pgassay.drive.block import description
from tests.docs.pages import ROOT, blocks

EVIDENCE = (ROOT / "docs" / "evidence" / "drives.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    """What stands under a heading."""
    return EVIDENCE.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def test_the_drive_that_the_page_describes_can_be_emulated(tmp_path: Path) -> None:
    (shown,) = (each.text for each in blocks("toml") if each.page == "drives.md")
    file = tmp_path / "mine.toml"
    file.write_text(shown, encoding="utf-8")
    drive = description.read(file).core
    assert (drive.kind, drive.codec, drive.capacity_bytes, drive.store_bytes) == (
        "compressing", "deflate-1", 256 << 20, 1 << 30,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("row", "opinion"),
    [("queue depth 1, p50", "aim 1.3, not shown to be reached"), ("drive_pgbench", "0.92], aim 0.95, missed")],
)
def test_the_table_says_what_became_of_an_aim(row: str, opinion: str) -> None:
    (line,) = (each for each in section("The program's speed").splitlines() if each.startswith("|") and row in each)
    assert opinion in line


def test_the_explanation_has_the_opinion_of_the_table() -> None:
    first = section("Where the processor's time goes").strip().split("\n\n")[0]
    assert first.startswith("Two aims of speed are not shown to be reached")
    missed, open_ = first.split("The p50", 1)
    assert "directory" in missed
    assert "missed" in missed
    assert "1.3" in open_
    assert "open" in open_
