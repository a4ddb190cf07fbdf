"""`pgassay run fillfactor --quick` from the command to the report, and what it leaves: the record, and nothing else."""

import json
from pathlib import Path

import pytest

from tests.system.conftest import Command
from tests.system.journeys import ANYWHERE, TINY, Place, finished, lost

pytestmark = pytest.mark.system


def test_a_whole_study(journey: Place, command: Command) -> None:
    done = finished(journey.run("whole"))
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["finished"]
    assert result["ended"] in ("all 5 blocks are done", "every verdict is settled"), "five blocks may already tell"
    trials, gone = result["trials"], lost(journey.record("whole"))
    assert trials["all"] - trials["invalid"] == 10 - len(gone), "a busy machine discards some, which run again"
    (verdict,) = [each for each in result["verdicts"] if each["response"] == "tps"]
    assert verdict["treatment"] == "table.fillfactor=75"
    assert verdict["verdict"] in ("better", "worse", "equivalent", "unresolved")
    assert verdict["blocks"] == 5 - len({block for block, _ in gone})
    if not gone:
        assert 0 < verdict["low"] < verdict["estimate"] < verdict["high"]
    require_trials(journey)
    page = Path(result["report"])
    assert page.is_relative_to(journey.runs / "whole")
    assert "table.fillfactor=75" in page.read_text()
    assert journey.left_behind() == []
    check = command("check", str(journey.runs / "whole"))
    assert (check.returncode, check.stdout) == (0, "the record is whole and consistent\n")
    rows = command("export", str(journey.runs / "whole"), "--csv").stdout.splitlines()
    assert len(rows) == 1 + trials["all"]
    again = command("resume", str(journey.runs / "whole"), *ANYWHERE)
    assert again.returncode == 2
    assert "is finished" in again.stderr


def require_trials(journey: Place) -> None:
    """Each trial has read its levels back, explains itself and kept the raw output of every tool."""
    run = journey.record("whole")
    for trial in run.trials:
        fillfactor = trial.levels["table.fillfactor"]
        assert fillfactor.read_back == fillfactor.canonical
        assert trial.responses["wal_bytes_per_transaction"] is not None
        hot_share = trial.responses["hot_share"]
        assert hot_share is not None
        assert 0 <= hot_share <= 1
        names = {path.name for path in (run.path / "trials" / f"{trial.number:06d}").iterdir()}
        assert {"trial.json", "series.parquet", "SHA256SUMS", "server.log", "pgbench.out"} <= names
        assert list(trial.timings_s) == ["clone", "start", "settle", "measure", "stop", "give_back"]
    hot = {trial.treatment: trial.responses["hot_share"] or 0.0 for trial in run.trials}
    assert hot["table.fillfactor=75"] > hot["table.fillfactor=100"], "room in the pages makes updates HOT"


def test_a_dry_run_starts_nothing_and_writes_no_record(journey: Place) -> None:
    done = journey.pgassay("run", "fillfactor", *TINY, *ANYWHERE, "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    assert plan["arms"] == ["table.fillfactor=100", "table.fillfactor=75"]
    assert plan["seed"] == 3
    assert list(journey.runs.iterdir()) == []
    assert journey.left_behind() == []
    assert not journey.data.exists(), "where clusters would live may be mistyped"
