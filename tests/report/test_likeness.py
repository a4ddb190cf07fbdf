"""A verdict on a load unlike the source's says so on every surface; one on a load like it does not."""

from pathlib import Path

import pytest

from pgassay.analysis.verdicts import Kind, Verdict
from pgassay.record import capsule
from pgassay.record.ask import LIKENESS_FILE, Likeness, Part, StatementPair, encode_likeness
from pgassay.record.reading import Run
from pgassay.report import contents, headline, likeness, text
from pgassay.report.findings import Findings
from pgassay.testing.planted import make_run
from tests.report.blocks import body

PARTS = (Part("calls by statement", None, None, "in common", 0.9), Part("HOT updates", 1.0, 0.25, "share", 0.25))
SCAN = StatementPair("SELECT *\n  FROM orders", 0.5, 0.5, 0.2, 0.6, 1.0, 12.5)
SAME = StatementPair("SELECT 1", 0.5, 0.5, 0.8, 0.8, 1.0, None)
FAR = Likeness(PARTS, (SCAN, SAME))
NEAR = Likeness(PARTS[:1], (SAME,))


def findings(path: Path, found: Likeness | None) -> Findings:
    run = make_run(path)
    if found is not None:
        (run.path / LIKENESS_FILE).write_bytes(encode_likeness(found))
    return Findings(run)


def surfaces(found: Findings) -> dict[str, str]:
    """Headline and verdicts as page, terminal and JSON show them."""
    document = contents.document(found)
    verdicts = document["verdicts"]
    assert isinstance(verdicts, list)
    return {
        "page": body(found),
        "terminal": text.render(found),
        "json": "\n".join(each["text"] for each in verdicts),
        "headline": "\n".join(found.once(headline.headline_of).sentences),
    }


def test_each_verdict_and_the_headline_end_or_begin_with_it_on_every_surface(tmp_path: Path) -> None:
    found = findings(tmp_path / "run", FAR)
    said = surfaces(found)
    assert {name for name, shown in said.items() if likeness.UNLIKE in shown} == set(said)
    assert said["headline"].startswith(f"{likeness.UNLIKE}: ")
    assert said["headline"].count(likeness.UNLIKE) == 1
    settled = [each.verdict.text for each in found.verdicts if each.verdict.settled]
    assert settled
    assert all(each.endswith(f" ({likeness.UNLIKE})") for each in settled)
    for shown in (said["page"], said["terminal"]):
        assert settled[0] in shown


def test_verdicts_from_the_record_of_a_capsule_say_it_too(tmp_path: Path) -> None:
    found = findings(tmp_path / "run", FAR)
    capsule.write(capsule.contents_of(found.run, tmp_path / "none", ()), tmp_path / "capsule")
    there = Findings(Run.open(capsule.unpack(tmp_path / "capsule", tmp_path / "out").run))
    assert surfaces(there) == surfaces(found)


@pytest.mark.parametrize("found", [None, NEAR, Likeness((Part("wait events", None, None, "", None),))])
def test_a_load_that_is_like_it_or_not_compared_is_not_called_unlike(tmp_path: Path, found: Likeness | None) -> None:
    assert not any(likeness.UNLIKE in shown for shown in surfaces(findings(tmp_path / "run", found)).values())


@pytest.mark.parametrize("kind", [Kind.UNRESOLVED, Kind.FAILED, Kind.NOT_COMPARED])
def test_what_decides_nothing_says_nothing_of_the_load(tmp_path: Path, kind: Kind) -> None:
    verdict = Verdict(kind, "not yet")
    assert likeness.labelled(findings(tmp_path / "run", FAR), verdict) == verdict


def test_the_figures_of_both_loads_stand_in_a_section_of_their_own(tmp_path: Path) -> None:
    found = findings(tmp_path / "run", FAR)
    page, said = body(found), text.render(found)
    assert "57 % like the source&#39;s load" in page or "57 % like the source's load" in page
    assert "HOT updates" in said
    assert "20.0% → 60.0%" in said
    assert "1.00 ms → 12.5 ms" in said
    assert "SELECT * FROM orders" in said
    assert "Statements that differ most, of 2" in said
    part = contents.document(found)["likeness"]
    assert isinstance(part, dict)
    assert (part["score"], part["unlike"], part["enough"]) == (pytest.approx(0.575), True, 0.8)
    assert "likeness" not in contents.document(findings(tmp_path / "other", None))


def test_nothing_that_could_be_compared_is_told(tmp_path: Path) -> None:
    found = findings(tmp_path / "run", Likeness((Part("wait events", None, None, "", None),)))
    assert "nothing of it could be compared" in body(found)
