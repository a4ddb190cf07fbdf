"""The regime is said once, and windows that saw mostly the burst after a checkpoint are counted."""

from dataclasses import replace
from pathlib import Path

from pgassay.report.findings import Findings
from pgassay.report.regimes import regimes_of
from pgassay.study.responses import Status
from pgassay.testing.planted import BLOCKS, make_run


def test_cycles_are_summed_up_and_short_windows_counted(tmp_path: Path) -> None:
    (regime,) = Findings(make_run(tmp_path / "run")).regimes
    assert regime.startswith("1 to 3 whole checkpoint cycles, short ones driven by WAL; ")
    assert f"{2 * BLOCKS} of {3 * BLOCKS} windows covered less than two" in regime


def test_huge_pages_that_others_took_are_told(tmp_path: Path) -> None:
    trials = [each for each in Findings(make_run(tmp_path / "run")).trials if each.status is Status.VALID]
    trials[:2] = [replace(each, regime={**each.regime, "huge_pages": "other programs took 75"}) for each in trials[:2]]
    assert regimes_of(trials)[-1] == "in 2 of the valid trials other programs took 75 (in the first of them)"


def test_pairs_of_clients_and_backends_are_told(tmp_path: Path) -> None:
    trials = make_run(tmp_path / "run").trials
    assert not any("placement" in text for text in regimes_of(trials))
    paired = [replace(trial, regime={**trial.regime, "placement": "paired"}) for trial in trials]
    (told,) = (text for text in regimes_of(paired) if "placement" in text)
    assert told.startswith("clients on the same CPU as their backends")
    free = [replace(trial, regime={**trial.regime, "placement": "free"}) for trial in trials]
    assert regimes_of(free) == regimes_of(trials)
