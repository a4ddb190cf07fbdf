"""What others published: claims with their marks, contradictions with reasons."""

from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.analysis.claims import ClaimJudgement, Mark, beyond
from pgassay.errors import UsageError
from pgassay.report import text
from pgassay.report.findings import Findings
from pgassay.report.published import SECTION
from pgassay.report.published import judged as judge
from pgassay.report.section import Sentences
from pgassay.study.model import Claim, Study
from pgassay.study.parsing import parse_recorded
from pgassay.testing.planted import make_run
from tests.report.driven import make_driven


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return Findings(make_run(tmp_path_factory.mktemp("made") / "run"))


def test_what_the_authors_do_not_give_is_said_to_be_ours(findings: Findings) -> None:
    study = findings.study
    assert "chosen by pgassay" not in text.render(findings)
    said = Findings(findings.run)
    said.study = replace(study, ours=("load.duration", "table.fillfactor"))
    (sentences, *_) = SECTION.blocks(said)
    assert isinstance(sentences, Sentences)
    assert sentences.texts[0].startswith("chosen by pgassay, since the authors do not give it: load.duration=")
    assert sentences.texts[0].endswith(", table.fillfactor (100, 75, 50)")


def test_what_is_not_done_as_the_authors_did_it_is_said(findings: Findings) -> None:
    assert "not as published" not in text.render(findings)
    said = Findings(findings.run)
    said.study = replace(findings.study, differs=("PostgreSQL 9.4: not served", "another program"))
    assert "not as published: PostgreSQL 9.4: not served; another program" in text.render(said)


def test_a_claim_is_judged_by_the_interval_of_the_verdict(findings: Findings) -> None:
    """One comparison has one interval, which holds for all of the study's comparisons at once."""
    (claim,) = (each.claim for each in findings.claims if each.claim.text.startswith("FILLFACTOR 75 commits"))
    judged = judge(findings, replace(claim, data_of_memory=None, window_s=None))
    (verdict,) = (each for each in findings.verdicts if each.effect.treatment == "table.fillfactor=75")
    shown = f"[{verdict.effect.low:.3f}, {verdict.effect.high:.3f}]"
    assert shown in judged.text


FLASH = {"100": 26e6, "75": 27e6, "50": 28e6}
FILLED = {"100": 26e6, "75": 32e6, "50": 40e6}


def on_a_compressing_drive(path: Path, *fixed: str, flash: dict[str, float] = FLASH) -> ClaimJudgement:
    """The built-in study's claim about compressing drives, at any size, by a run of it with these levels held."""
    findings = Findings(make_run(path, fixed=fixed, more={"physical_bytes": flash}))
    (claim,) = (each.claim for each in findings.claims if each.claim.text.startswith("on a compressing drive"))
    return judge(findings, replace(claim, data_of_memory=None))


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


def test_a_claim_about_large_data_is_not_judged_by_small_ones(findings: Findings) -> None:
    """740 GB of TPC-C were contradicted by 8 s of pgbench at scale 20."""
    change = {"treatment": {"table.fillfactor": "75"}, "against": {"table.fillfactor": "100"}, "response": "tps"}
    assert claimed(findings, **change, low=1.5).mark is Mark.CONTRADICTED
    short = claimed(findings, **change, low=1.5, window_s=60.0)
    assert short.mark is Mark.NOT_COMPARABLE
    assert short.text == ("not comparable here: it is about windows of at least 60 s, and here they lasted 8 s")
    assert claimed(findings, **change, low=1.5, window_s=5.0).mark is Mark.CONTRADICTED
    small = claimed(findings, **change, low=1.1, data_of_memory=1.0)
    assert small.mark is Mark.NOT_COMPARABLE, "what would be reproduced is not comparable either"
    assert "data of at least 1 times the memory" in small.text


def test_the_conditions_of_a_claim_are_read_and_judged() -> None:
    asked = {"text": "a", "source": "b", "response": "tps", "low": 1.0, "data_of_memory": 2, "window": "1min"}
    (claim,) = parse_recorded("paper", {"factors": {"a": [1, 2]}, "claims": [asked]}).claims
    assert (claim.data_of_memory, claim.window_s) == (2.0, 60.0)
    assert beyond(claim, data_bytes=2e9, memory_bytes=1e9, window_s=60.0) == ""
    assert beyond(claim, data_bytes=1e9, memory_bytes=1e9, window_s=60.0).endswith("and here they were 1 times it")
    assert beyond(claim, data_bytes=None, memory_bytes=1e9, window_s=None).count("does not know") == 2
    for wrong in ({"data_of_memory": 0}, {"data_of_memory": "2"}, {"window": "soon"}):
        with pytest.raises(UsageError):
            parse_recorded("paper", {"factors": {"a": [1, 2]}, "claims": [{"text": "a", "source": "b", **wrong}]})


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


def about_space(driven: Findings, **bounds: float) -> ClaimJudgement:
    """FILLFACTOR on the compressing drive by FILLFACTOR on the normal one: planted 235 / 230 by 600 / 500, 0.851."""
    levels = {"drive.data": "csd", "table.fillfactor": "75"}
    than = ({"drive.data": "ssd"},)
    return claimed(
        driven, response="physical_bytes", treatment=levels, against={"table.fillfactor": "100"}, than=than, **bounds
    )


def test_a_claim_on_two_changes_is_judged_by_one_interval_from_the_same_blocks(driven: Findings) -> None:
    held = about_space(driven, high=1.0)
    assert held.mark is Mark.REPRODUCED
    assert held.text.startswith("reproduced: here 0.85")
    assert about_space(driven, low=1.0).mark is Mark.CONTRADICTED


def test_a_gain_in_one_scenario_is_held_against_that_in_another(driven: Findings) -> None:
    asked = {
        "response": "qps",
        "treatment": {"drive.data": "csd", "table.fillfactor": "75", "load.scenario": "oltp_update_non_index"},
        "against": {"table.fillfactor": "100"},
        "low": 1.0,
    }
    found = claimed(driven, **asked, than=({"load.scenario": "oltp_delete"},))
    assert found.mark is Mark.REPRODUCED, "planted: 1.2 by 1"
    missing = claimed(driven, **asked, than=({"load.scenario": "oltp_delete"}, {"load.scenario": "oltp_insert"}))
    assert missing.mark is Mark.NOT_TESTABLE
    assert "it is about load.scenario=oltp_insert, which this run did not have" in missing.text


def test_gains_in_speed_on_two_emulated_drives_are_not_held_against_each_other(driven: Findings) -> None:
    found = claimed(
        driven,
        response="qps",
        treatment={"drive.data": "csd", "table.fillfactor": "75"},
        against={"table.fillfactor": "100"},
        than=({"drive.data": "ssd"},),
        low=1.0,
    )
    assert found.mark is Mark.NOT_TESTABLE
    assert "timing is off" in found.text


def test_the_built_in_claim_on_both_drives_space_is_judged(driven: Findings) -> None:
    (judged,) = (each for each in driven.claims if "one ratio by the other" in each.claim.text)
    assert judged.mark is Mark.REPRODUCED
    most = [each for each in driven.claims if "than every scenario but" in each.claim.text]
    assert len(most) == 4
    assert {each.mark for each in most} == {Mark.NOT_TESTABLE}, "the quick size has two scenarios"
