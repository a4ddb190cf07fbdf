"""The figure of the seconds: lines of trials that do not count are told from those that do."""

from pathlib import Path

from pgassay.report import seconds
from pgassay.report.findings import Findings
from pgassay.study.responses import Status
from pgassay.testing.planted import make_run


def test_trials_that_do_not_count_are_marked(tmp_path: Path) -> None:
    findings = Findings(make_run(tmp_path / "run"))
    names = tuple(arm.name for arm in findings.study.arms)
    rows = seconds.rows_of(findings.trials, findings.seconds, names)
    phases = {row["trial"]: row["phase"] for row in rows}
    marks = {Status.VALID: "measured", Status.INVALID: "discarded trial", Status.OUTCOME: "failed trial"}
    assert phases == {trial.number: marks[trial.status] for trial in findings.trials}
    found = seconds.drawing(findings)
    assert found is not None
    assert "1 discarded trial and 1 failed trial" in found.caption
    domain = found.chart.to_dict()["spec"]["encoding"]["color"]["scale"]["domain"]
    assert {"measured", "discarded trial", "failed trial"} <= set(domain)


def test_a_run_without_such_trials_has_no_mark_for_them(tmp_path: Path) -> None:
    found = seconds.drawing(Findings(make_run(tmp_path / "run", discarded=False)))
    assert found is not None
    assert "discarded" not in found.caption
    assert found.chart.to_dict()["spec"]["encoding"]["color"]["scale"]["domain"] == ["measured"]
