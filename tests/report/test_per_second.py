"""The figure of the seconds: lines of trials that do not count are told from those that do."""

from pathlib import Path
from typing import Any

from pgassay.report import seconds
from pgassay.report.findings import Findings
from pgassay.study.responses import Status
from pgassay.testing.planted import make_run


def phases_of(made: dict[str, Any]) -> list[str]:
    """Which phases of trials a figure tells apart."""
    (domain,) = (
        layer["encoding"]["color"]["scale"]["domain"]
        for layer in made["spec"]["layer"]
        if layer["mark"]["type"] == "line"
    )
    return list(domain)


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
    made = found.chart.to_dict()
    assert {"measured", "discarded trial", "failed trial"} <= set(phases_of(made))
    left_out = {row["trial"]: row["phase"] for row in rows if row["phase"] != "measured"}
    notes = {row["name"] for row in made["data"]["values"] if row["kind"] == "note"}
    assert notes == {f"trial {number}: {phase.removesuffix(' trial')}" for number, phase in left_out.items()}


def test_a_run_without_such_trials_has_no_mark_for_them(tmp_path: Path) -> None:
    found = seconds.drawing(Findings(make_run(tmp_path / "run", discarded=False)))
    assert found is not None
    assert "discarded" not in found.caption
    made = found.chart.to_dict()
    assert phases_of(made) == ["measured"]
    assert not [row for row in made["data"]["values"] if row["kind"] == "note"]


def test_panels_are_noted_in_their_order_whatever_hashes_are() -> None:
    """A set of names has another order in each process, so the same record made another page."""
    names = [f"arm {number}" for number in range(30)]
    rows = [{"panel": name, "phase": seconds.WARMING_UP, "trial": 1, "second": 0.0, "value": 1.0} for name in names]
    assert [each["panel"] for each in seconds._notes(rows)] == names
