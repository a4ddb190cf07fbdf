"""The answer as Markdown, read back by a parser: what was said is shown, and no text becomes markup."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pgassay.outgoing import visible
from pgassay.report import decide, headline, warnings
from pgassay.report.findings import Findings
from pgassay.report.headline import reasons
from pgassay.report.text import escaped, markdown
from pgassay.study.thresholds import parse, split
from pgassay.testing.planted import make_run
from tests.report.scaled import make_scaled

READER = MarkdownIt("commonmark").enable("table")
HOSTILE = (
    "<script>alert(1)</script>", "a|b", "*bold* _it_", "[x](http://evil)", "# head", "- item", "1. one", "`code`",
    "@all", "&lt;", "$x$", "~~gone~~", "![i](j)", "a\nb", "\\", "+ plus", "10. ten", "www.evil.example", "===",
    "GET www.a.b",
)  # fmt: skip


def shown(text: str) -> str:
    """What a reader of the rendered text sees, without any element."""
    tokens = READER.parse(text)
    return " ".join("".join(part.content for part in each.children or ()) for each in tokens if each.type == "inline")


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    texts = ("wal_bytes_per_transaction < +5 %", "space < +30 %")
    return Findings(make_run(tmp_path_factory.mktemp("made") / "run"), weigh=[parse(*split(each)) for each in texts])


def test_it_says_what_the_report_says(findings: Findings) -> None:
    page = markdown(findings)
    said = shown(page)
    assert all(text.rstrip(".")[1:] in said for text in headline.headline_of(findings).sentences)
    assert all(judged.verdict.text in said for judged in findings.verdicts)
    assert all(text in said for text in (*reasons(findings), *warnings.reasons(findings)))
    assert len(re.findall("<table>", READER.render(page))) == 2
    rows = [line for line in page.splitlines() if line.startswith("| space")]
    assert len(rows) == sum(each.limit.text == "space < +30 %" for each in findings.once(decide.judgements))


def test_a_study_without_comparisons_has_its_curve_in_words(tmp_path: Path) -> None:
    page = markdown(Findings(make_scaled(tmp_path / "run")))
    assert "| treatment |" not in page
    assert "highest" in page


@pytest.mark.parametrize("text", HOSTILE)
def test_markup_in_a_text_is_shown_letter_by_letter(text: str) -> None:
    line = escaped(text)
    assert shown(line) == " ".join(text.split())
    assert {token.type for token in READER.parse(line)} == {"paragraph_open", "inline", "paragraph_close"}
    cell = f"| a | b |\n|---|---|\n| {line} | x |"
    assert shown(cell) == f"a b {' '.join(text.split())} x"


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), max_size=40))
def test_any_text_keeps_its_letters(text: str) -> None:
    assert shown(escaped(text)) == visible(" ".join(text.split()))
