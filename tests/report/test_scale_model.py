"""A scale model's page: what is kept and what not, and the label on the answer and on every claim."""

from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.report import headline, published, text
from pgassay.report.findings import Findings
from pgassay.report.likeness import CANNOT, SCALE_MODEL, in_words
from pgassay.study.scale_model import Likeness, Resized, ScaleModel
from pgassay.testing.planted import make_run
from tests.report.blocks import tables

MODEL = ScaleModel(
    250,
    (Resized("load.rows", "1000", "4"), Resized("server.max_wal_size", "1GB", "32MB", "no less than 32MB")),
    (
        Likeness("data ÷ memory", (2.8, 7.2), (2.81, 7.21), True, "of memory"),
        Likeness("superblock ÷ drive", (2.7e-5, 2.7e-5), (5.9e-4, 5.9e-4), False, "within 0.3 %"),
        Likeness("clients ÷ core", None, (2.0, 2.0), None),
    ),
)


@pytest.fixture
def findings(tmp_path: Path) -> Findings:
    found = Findings(make_run(tmp_path / "run"))
    found.study = replace(found.study, model=MODEL)
    return found


def test_what_is_not_kept_stands_first(findings: Findings) -> None:
    numbers, sizes = tables(SCALE_MODEL, findings)
    assert [str(row[0]) for row in numbers.rows] == ["superblock ÷ drive", "clients ÷ core", "data ÷ memory"]
    assert [str(row[-1]) for row in numbers.rows] == ["not kept", "not known", "kept"]
    assert [str(cell) for cell in numbers.rows[2]] == ["data ÷ memory", "2.80 to 7.20", "2.81 to 7.21", "kept"]
    assert sizes.rows[1] == ("server.max_wal_size", "1GB", "32MB", "no less than 32MB")


def test_answer_and_claims_are_labelled(findings: Findings) -> None:
    assert headline.label(findings) == "scale model 1:250"
    whole = text.render(findings)
    assert "judged on a scale model 1:250" in whole
    assert "not kept: superblock ÷ drive" in whole
    assert published.SECTION.brief(findings).endswith("(on a scale model 1:250)")


def test_a_plan_says_what_is_kept_and_what_a_model_cannot_tell() -> None:
    first, *numbers, last = in_words(MODEL)
    assert first == ("scale model 1:250: load.rows 1000 → 4; server.max_wal_size 1GB → 32MB (no less than 32MB)")
    assert numbers[0] == "superblock ÷ drive: 0.000027 in the original, 0.00059 here, not kept (within 0.3 %)"
    assert numbers[2] == "data ÷ memory: 2.80 to 7.20 in the original, 2.81 to 7.21 here, kept", "it needs no note"
    assert last == CANNOT
    assert "absolute speed" in last


def test_a_study_that_is_no_model_has_no_such_section(tmp_path: Path) -> None:
    plain = Findings(make_run(tmp_path / "run"))
    assert (SCALE_MODEL.brief(plain), SCALE_MODEL.plain(plain), tables(SCALE_MODEL, plain)) == ("", {}, [])
    assert "scale model" not in text.render(plain)
