"""Claims about levels that a run holds for all its treatments, as by --set, or does not have at all."""

from pathlib import Path

import pytest

from pgassay.analysis.claims import ClaimJudgement, Mark
from pgassay.report.findings import Findings
from pgassay.testing.planted import make_run

FLASH = {"100": 26e6, "75": 27e6, "50": 28e6}
FILLED = {"100": 26e6, "75": 32e6, "50": 40e6}


def on_a_compressing_drive(path: Path, *fixed: str, flash: dict[str, float] = FLASH) -> ClaimJudgement:
    """The built-in study's claim about compressing drives, by a run of it with these levels held."""
    findings = Findings(make_run(path, fixed=fixed, more={"physical_bytes": flash}))
    (judged,) = (each for each in findings.claims if each.claim.text.startswith("on a compressing drive"))
    return judged


def test_a_level_that_was_set_is_a_level_of_the_claims_treatments(tmp_path: Path) -> None:
    judged = on_a_compressing_drive(tmp_path / "run", "drive.data=csd")
    assert judged.mark is Mark.REPRODUCED
    assert judged.text.startswith("reproduced: here 1.03")
    assert judged.why == ""


def test_a_contradiction_names_its_reason_there_as_well(tmp_path: Path) -> None:
    judged = on_a_compressing_drive(tmp_path / "run", "drive.data=csd", flash=FILLED)
    assert judged.mark is Mark.CONTRADICTED
    assert judged.why.startswith("in a page that was updated the room holds remains of old row versions")
    assert "; measured beside it: " in judged.why


@pytest.mark.parametrize("fixed", [(), ("drive.data=ssd",)])
def test_without_its_levels_a_claim_names_what_is_missing(tmp_path: Path, fixed: tuple[str, ...]) -> None:
    judged = on_a_compressing_drive(tmp_path / "run", *fixed)
    assert judged.mark is Mark.NOT_TESTABLE
    assert judged.text == "not testable here: it is about drive.data=csd, which this run did not have"
