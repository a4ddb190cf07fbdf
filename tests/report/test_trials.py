"""Valid trials by their place, and medians of what is known."""

from pathlib import Path

from pgassay.report.findings import Findings
from pgassay.report.trials import load_level, middle, valid_by_place
from pgassay.study.responses import Status
from pgassay.testing.planted import BLOCKS, TPS, make_run


def test_only_valid_trials_have_a_place(tmp_path: Path) -> None:
    trials = Findings(make_run(tmp_path / "run")).trials
    assert any(trial.status is not Status.VALID for trial in trials)
    ((place, mine),) = valid_by_place(trials).items()
    assert place == ("", "")
    assert len(mine) == BLOCKS * len(TPS)
    assert load_level(mine[0], "cache", "cold") == "prewarmed"
    assert load_level(mine[0], "driver", "pgbench") == "pgbench"


def test_the_middle_is_of_what_is_known() -> None:
    assert middle([None, 3.0, 1.0, None, 2.0]) == 2.0
    assert middle([4.0, 1.0]) == 2.5
    assert middle([None]) is None
    assert middle([]) is None
