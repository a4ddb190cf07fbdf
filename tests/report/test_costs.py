"""The table of costs: each row comes from one estimate, so that a reader can follow its arithmetic."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.record.values import TrialRecord
from pgassay.report import verdict
from pgassay.report.findings import Findings
from pgassay.study.responses import Status
from pgassay.testing.planted import BLOCKS, FACTOR, make_run
from tests.report.blocks import tables

WAL = "wal_bytes_per_transaction"
HOT = "hot_share"
SKEWED = {
    "100": (240.0, 241.0, 241.5, 242.0, 300.0, 310.0, 305.0, 241.9),
    "75": (245.0, 246.0, 245.3, 244.0, 246.0, 245.5, 245.1, 245.4),
    "50": (480.0, 482.0, 483.0, 484.0, 600.0, 620.0, 610.0, 484.0),
}
"""Of 100 and 75 the medians go up and the means go down."""


def with_values(path: Path, response: str, values: dict[str, tuple[float, ...]]) -> Findings:
    findings = Findings(make_run(path))

    def changed(trial: TrialRecord) -> TrialRecord:
        if trial.status is not Status.VALID:
            return trial
        level = trial.treatment.removeprefix(f"{FACTOR}=")
        return replace(trial, responses={**trial.responses, response: values[level][trial.block - 1]})

    findings.__dict__["trials"] = tuple(map(changed, findings.trials))
    return findings


def row_of(findings: Findings, title: str) -> list[str]:
    (table,) = tables(verdict.WHY, findings)
    return [str(cell) for cell in next(row for row in table.rows if str(row[0]).startswith(title))]


@pytest.mark.parametrize(("response", "title", "scale"), [(WAL, "WAL, ", 1.0), (HOT, "share of updates that", 1000.0)])
def test_the_change_in_brackets_is_the_one_between_the_figures(
    tmp_path: Path, response: str, title: str, scale: float
) -> None:
    """As ratio and as difference, with a treatment that left early."""
    values = {level: tuple(each / scale for each in column) for level, column in SKEWED.items()}
    findings = with_values(tmp_path / "run", response, values)
    left = tuple(each for each in findings.trials if not (each.treatment.endswith("=50") and each.block > BLOCKS - 2))
    findings.__dict__["trials"] = left
    _, base, *others = row_of(findings, title)
    whole = float(base.rstrip(" %B"))
    for cell in others:
        found = re.match(r"([0-9.]+)(?: [%B])? \(([+-][0-9.]+) (%|points) ", cell)
        assert found, cell
        value, change = float(found[1]), float(found[2])
        expected = whole * (1 + change / 100) if found[3] == "%" else whole + change
        rounded = 0.5 + 0.5 * expected / whole + 0.0005 * whole if found[3] == "%" else 0.2
        assert value == pytest.approx(expected, abs=rounded)


def test_a_row_with_zeros_says_that_it_has_averages(tmp_path: Path) -> None:
    values: dict[str, tuple[float, ...]] = {
        "100": (1.0,) * 8,
        "75": (0.0, 0.0, 1.0, 2.0, 1.0, 1.0, 2.0, 1.0),
        "50": (3.0,) * 8,
    }
    title, base, low, high = row_of(with_values(tmp_path / "run", WAL, values), "WAL, ")
    assert "averages, since some are 0" in title
    assert (base, low, high) == ("1 B", "1 B", "3 B")
