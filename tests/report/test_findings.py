"""What was planted is found, what cannot be told is not told."""

from pathlib import Path

import pytest

from pgassay.record.directory import RunDirectory
from pgassay.record.reading import Run
from pgassay.report import text
from pgassay.report.findings import Findings
from pgassay.testing.planted import BLOCKS, make_run


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return Findings(make_run(tmp_path_factory.mktemp("made") / "run"))


def _verdict(findings: Findings, treatment: str) -> str:
    return next(each.verdict.kind for each in findings.verdicts if each.effect.treatment == treatment)


def test_the_planted_effect_is_found_and_the_missing_one_is_not(findings: Findings) -> None:
    assert _verdict(findings, "table.fillfactor=75") == "better"
    assert _verdict(findings, "table.fillfactor=50") == "equivalent"
    better = findings.verdicts[0].effect
    assert better.low < 1.2 < better.high
    assert better.blocks == BLOCKS


def test_the_sentence_names_the_costs_that_moved(findings: Findings) -> None:
    text = next(each.text for each in findings.explanations if "fillfactor=75" in each.text)
    assert "HOT" in text
    assert "WAL" in text
    other = next(each.text for each in findings.explanations if "fillfactor=50" in each.text)
    assert "neither can any cost" in other


def test_claims_are_marked(findings: Findings) -> None:
    marks = [str(judged.mark) for judged in findings.claims]
    small = "not comparable here"  # those on 740 GB, by windows of 8 s
    assert marks == [small, "reproduced", small, "not testable here", "not testable here"]


def test_discarded_trials_and_outcomes_are_told_apart_and_left_out(findings: Findings) -> None:
    assert [trial.status for trial in findings.discarded] == ["invalid"]
    assert [trial.status for trial in findings.outcomes] == ["outcome"]
    assert all(row.n == BLOCKS for row in findings.summaries(findings.primary))


def test_tables_follow_the_study_not_chance(findings: Findings) -> None:
    rows = [row.treatment for row in findings.summaries(findings.primary)]
    assert rows == ["table.fillfactor=100", "table.fillfactor=75", "table.fillfactor=50"]


def test_what_was_allowed_at_the_start_and_at_a_resume_is_remarked(tmp_path: Path) -> None:
    path = tmp_path / "run"
    make_run(path, finished=False)
    with RunDirectory.open(path) as run:
        run.resumed({"remarks": {"busy_neighbour": "another PostgreSQL is at work"}})
        run.resumed({"remarks": {"busy_neighbour": "another PostgreSQL is at work"}})
        run.resumed()
    findings = Findings(Run.open(path))
    assert findings.remarks == ["another PostgreSQL is at work"]
    assert "another PostgreSQL is at work" in text.render(findings)


def test_a_run_that_goes_on_says_so(tmp_path: Path) -> None:
    findings = Findings(make_run(tmp_path / "run", finished=False))
    assert not findings.finished
    assert findings.end == "not finished"


def test_imported_runs_were_looked_at_once(tmp_path: Path) -> None:
    """They were complete before anyone looked: no error is spent on looks that nobody took."""
    path = make_run(tmp_path / "run")
    ours = Findings(path)
    assert ours.looks == "every block"
    assert "alpha spending over looks at 5 to 12 blocks" in ours.verdicts[0].effect.method
    imported = Findings(path)
    imported.imported = "imported, not measured by pgassay"
    assert imported.looks == "once"
    (theirs, mine) = (imported.verdicts[0].effect, ours.verdicts[0].effect)
    assert theirs.method.startswith("Student's t on block-wise contrasts, one look")
    assert theirs.high - theirs.low <= mine.high - mine.low


def test_many_discarded_trials_are_a_reason_for_doubt_and_few_are_not(findings: Findings) -> None:
    assert "were discarded" not in text.render(findings)  # 1 of 26
    few = Findings(findings.run)
    few.__dict__["trials"] = findings.trials[:5]
    assert "1 of 5 trials were discarded because other programs disturbed them (steal in 1)" in text.render(few)
