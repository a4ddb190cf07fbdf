"""What others published: rows beside one's own figures, claims with their marks, contradictions with reasons."""

from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.analysis.claims import ClaimJudgement, Mark
from pgassay.report import text
from pgassay.report.findings import Findings
from pgassay.report.published import SECTION
from pgassay.report.published import judged as judge
from pgassay.report.section import Sentences
from pgassay.report.words import MISSING
from pgassay.study.model import Claim, Published, Study
from pgassay.testing.planted import make_run
from tests.report.blocks import body, tables
from tests.report.driven import make_driven


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return Findings(make_run(tmp_path_factory.mktemp("made") / "run"))


def _with(findings: Findings, *rows: Published) -> Findings:
    findings.study = replace(findings.study, published=rows)
    return findings


def test_ones_own_figures_stand_beside_the_row_of_their_treatment(findings: Findings) -> None:
    dense = Published({"fill": "100", "tps": "890"}, {"table.fillfactor": "100"})
    loose = Published({"fill": "75", "note": "one run"}, {"table.fillfactor": "75"})
    table, *_ = tables(SECTION, _with(findings, dense, loose))
    ours = ("here: avg ± stdev", "here: median", "here: against table.fillfactor=100")
    assert table.head == ("fill", "tps", "note", *ours)
    assert list(table.shaded) == [3, 4, 5]
    first, second = ([str(cell) for cell in row] for row in table.rows)
    assert (first[:3], second[:3]) == (["100", "890", ""], ["75", "", "one run"])
    (summary, *_) = findings.summaries(findings.primary)
    assert first[3].startswith(f"{float(f'{summary.avg:.3g}'):,.0f} ± ")
    assert first[5] == MISSING  # the baseline against itself
    assert second[5].startswith(("+19.", "+20."))  # 20 % are planted
    assert f' ours">{second[5]}' in body(findings)


def test_a_row_without_its_treatment_or_response_here_has_dashes(findings: Findings) -> None:
    here = Published({"fill": "100"}, {"table.fillfactor": "100"})
    others = (
        Published({"fill": "30"}, {"table.fillfactor": "30"}),
        Published({"fill": "75"}, {"table.fillfactor": "75"}, "not_measured_ms"),
        Published({"fill": "drive of theirs"}),
    )
    table, *_ = tables(SECTION, _with(findings, here, *others))
    assert table.rows[0][1] != MISSING
    assert {tuple(row[1:]) for row in table.rows[1:]} == {(MISSING,) * 3}


def test_a_table_that_names_no_treatment_has_no_columns_of_ours(findings: Findings) -> None:
    table, *_ = tables(SECTION, _with(findings, Published({"drive": "SSD"})))
    assert (table.head, table.rows, list(table.shaded)) == (("drive",), [("SSD",)], [])


def test_what_the_authors_do_not_give_is_said_to_be_ours(findings: Findings) -> None:
    study = findings.study
    said = Findings(findings.run)
    assert "chosen by pgassay" not in text.render(said)
    said.study = replace(study, ours=("load.duration", "table.fillfactor"))
    (sentences, *_) = SECTION.blocks(said)
    assert isinstance(sentences, Sentences)
    assert sentences.texts[0].startswith("chosen by pgassay, since the authors do not give it: load.duration=")
    assert sentences.texts[0].endswith(", table.fillfactor (100, 75, 50)")


def test_what_is_not_done_as_the_authors_did_it_is_said(findings: Findings) -> None:
    said = Findings(findings.run)
    assert "not as published" not in text.render(said)
    said.study = replace(findings.study, differs=("PostgreSQL 9.4: not served", "another program"))
    assert "not as published: PostgreSQL 9.4: not served; another program" in text.render(said)


def test_a_claim_is_judged_by_the_interval_of_the_verdict(findings: Findings) -> None:
    """One comparison has one interval, which holds for all of the study's comparisons at once."""
    (judged,) = (each for each in findings.claims if each.claim.text.startswith("FILLFACTOR 75 commits"))
    (verdict,) = (each for each in findings.verdicts if each.effect.treatment == "table.fillfactor=75")
    shown = f"[{verdict.effect.low:.3f}, {verdict.effect.high:.3f}]"
    assert shown in judged.text


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
    assert "; measured with it: " in judged.why


@pytest.mark.parametrize("fixed", [(), ("drive.data=ssd",)])
def test_without_its_levels_a_claim_names_what_is_missing(tmp_path: Path, fixed: tuple[str, ...]) -> None:
    judged = on_a_compressing_drive(tmp_path / "run", *fixed)
    assert judged.mark is Mark.NOT_TESTABLE
    assert judged.text == "not testable here: it is about drive.data=csd, which this run did not have"


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return Findings(make_driven(tmp_path_factory.mktemp("driven") / "run"))


def test_only_contradicted_claims_have_a_reason(driven: Findings) -> None:
    marks = {judged.mark for judged in driven.claims}
    assert {Mark.CONTRADICTED, Mark.REPRODUCED} <= marks
    for judged in driven.claims:
        assert bool(judged.why) == (judged.mark is Mark.CONTRADICTED), judged.claim.text


def test_the_reason_holds_what_was_measured_of_the_claims_treatment(driven: Findings) -> None:
    (judged,) = (each for each in driven.claims if "1/3.91" in each.claim.text)
    assert judged.mark is Mark.CONTRADICTED, "planted: 230 MB of 500"
    assert "here tables shrink 2.20 times" in judged.why
    assert "measured with it: " in judged.why
    assert f"why: {judged.why}" in text.render(driven)


def test_what_was_not_measured_says_so(driven: Findings) -> None:
    (judged,) = (each for each in driven.claims if "1/3.91" in each.claim.text)
    assert "indexes (not measured)" in judged.why


@pytest.mark.slow
def test_claims_of_declared_real_drives_are_judged_as_those_of_emulated_ones(tmp_path: Path, driven: Findings) -> None:
    real = {"ssd": "normal=device:/dev/nvme0n1", "csd": "compressing=directory:/mnt/csd"}
    found = Findings(make_driven(tmp_path / "run", real)).claims
    assert [judged.mark for judged in found] == [judged.mark for judged in driven.claims]
    assert {judged.claim.treatment.get("drive.data") for judged in found if judged.mark is Mark.REPRODUCED} <= {
        *real.values()
    }
    assert sum(judged.mark is not Mark.NOT_TESTABLE for judged in found) >= 6


@pytest.mark.slow
def test_drives_that_nobody_declared_are_asked_for(tmp_path: Path) -> None:
    bare = {"ssd": "device:/dev/nvme0n1", "csd": "device:/dev/nvme1n1"}
    found = Findings(make_driven(tmp_path / "run", bare)).claims
    assert {judged.mark for judged in found} == {Mark.NOT_TESTABLE}
    assert found[0].text.endswith("such a drive? declare it as normal=… or compressing=…")


def claimed(findings: Findings, **claim: object) -> ClaimJudgement:
    """One claim of a planted run, about two responses of each trial."""
    whole = {
        "text": "a finding",
        "source": "a paper",
        "response": "table_bytes",
        "treatment": {},
        "against": {},
        **claim,
    }
    study = replace(findings.study, claims=(Claim(**whole),))  # type: ignore[arg-type]
    return judge(replace_study(findings, study), study.claims[0])


def replace_study(findings: Findings, study: Study) -> Findings:
    other = Findings(findings.run)
    other.study = study
    return other


def test_a_claim_on_two_responses_of_a_trial_is_judged(findings: Findings) -> None:
    """Tables were planted as 1 / 1.2 of the database, at every FILLFACTOR."""
    inside = claimed(findings, per="database_bytes", treatment={"table.fillfactor": "75"}, low=0.8, high=0.9)
    assert inside.mark is Mark.REPRODUCED
    assert inside.text.startswith("reproduced: here 0.83")
    larger = {"treatment": {"table.fillfactor": "75"}, "against": {"table.fillfactor": "100"}}
    assert claimed(findings, per="database_bytes", **larger, low=1.1).mark is Mark.CONTRADICTED


def test_a_claim_on_a_response_that_was_not_measured_says_so(findings: Findings) -> None:
    found = claimed(findings, per="no_such_bytes", treatment={"table.fillfactor": "75"}, low=0.8)
    assert (found.mark, found.text) == (Mark.NOT_TESTABLE, "not testable here: this run did not measure no_such_bytes")
    found = claimed(
        findings, per="database_bytes", treatment={"table.fillfactor": "75"}, against={"load.scale": "7"}, low=1.0
    )
    assert "it is about load.scale=7, which this run did not have" in found.text


def test_latency_between_emulated_drives_without_service_times_is_not_judged(driven: Findings) -> None:
    (found,) = (each for each in driven.claims if each.claim.response == "disk_write_latency_ms")
    assert found.mark is Mark.NOT_TESTABLE
    assert "timing is off" in found.text
