"""The regime is said once, and windows that saw mostly the burst after a checkpoint are counted."""

from dataclasses import replace
from pathlib import Path

from pgassay.record.values import LevelRecord
from pgassay.report.findings import Findings
from pgassay.report.headline import facts
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


def test_standbys_that_commits_wait_for_are_named(tmp_path: Path) -> None:
    trials = make_run(tmp_path / "run").trials
    assert not any("standbys" in text for text in regimes_of(trials))
    waiting = [replace(trial, regime={**trial.regime, "synchronous_standby_names": "ANY 1 (a, b)"}) for trial in trials]
    assert "commits that wait for standbys: synchronous_standby_names = 'ANY 1 (a, b)'" in regimes_of(waiting)
    restarted = [replace(trial, regime={**trial.regime, "restarted_by": "systemctl restart pg"}) for trial in trials]
    assert "your server, restarted before each trial by: systemctl restart pg" in regimes_of(restarted)


def test_pairs_of_clients_and_backends_are_told(tmp_path: Path) -> None:
    trials = make_run(tmp_path / "run").trials
    assert not any("placement" in text for text in regimes_of(trials))
    paired = [replace(trial, regime={**trial.regime, "placement": "paired"}) for trial in trials]
    (told,) = (text for text in regimes_of(paired) if "placement" in text)
    assert told.startswith("clients on the same CPU as their backends")
    free = [replace(trial, regime={**trial.regime, "placement": "free"}) for trial in trials]
    assert regimes_of(free) == regimes_of(trials)


def test_a_load_that_writes_no_wal_has_no_burst(tmp_path: Path) -> None:
    """A read-only load was called mostly the burst of full-page images."""
    trials = [
        replace(trial, responses={**trial.responses, "wal_bytes_per_transaction": 0.3})
        for trial in make_run(tmp_path / "run").trials
    ]
    said = " ".join(regimes_of(trials))
    assert "loads that write next to no WAL" in said
    assert "burst" not in said


def test_a_scale_is_not_the_size_of_ones_own_data(tmp_path: Path) -> None:
    """A run of a `load.init` printed "scale 50", the study's default."""
    run = make_run(tmp_path / "run")
    scale, init = {"load.scale": LevelRecord("50", "50")}, {"load.init": LevelRecord("mine.sql", "mine.sql")}
    plain, own = Findings(run), Findings(run)
    plain.trials = tuple(replace(each, levels={**each.levels, **scale}) for each in run.trials)
    own.trials = tuple(replace(each, levels={**each.levels, **scale, **init}) for each in run.trials)
    assert facts(plain).load["scale"] == "50"
    assert "scale" not in facts(own).load
