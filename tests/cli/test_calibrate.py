"""`pgassay calibrate` on a real server with tiny settings, and the plan of a study that follows it."""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.cli import calibrate, main
from pgassay.errors import UsageError
from pgassay.lab.workbench import BenchOptions
from pgassay.record.calibrations import STUDY, TURNS, Calibration, Setting, read_from_run, write_to_run
from pgassay.record.directory import RunDirectory
from pgassay.record.disk import RealDisk
from pgassay.record.formats import RunHeader
from pgassay.record.reading import Run
from pgassay.report.calibration import CalibrationFindings, in_turns
from pgassay.testing import real
from pgassay.testing.planted import make_run
from tests import machine

TINY = ["-s", "1", "-c", "1", "-j", "1", "-T", "1", "--warmup", "0s"]
SHORT = ["--clusters", "2", "--blocks", "2", "--budget", "8s"]
"""Two blocks one after the other, and one in turns: what the budget never leaves out."""
BUSY = ["--allow-busy", "--allow-volatile"]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--clusters", "1"], "--clusters must be at least 2"),
        (["--runs", "1"], "--runs must be at least 2"),
        (["--blocks", "1"], "--blocks must be at least 2"),
        (["--show", "/nowhere"], "is not a run directory"),
    ],
)
def test_what_could_tell_nothing_is_refused(words: list[str], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", *words]) == 2
    assert error in capsys.readouterr().err


def test_a_place_that_is_taken_is_refused_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["calibrate", "--out", str(tmp_path)]) != 0
    assert str(tmp_path) in capsys.readouterr().err


SETTING = Setting("host", "ext4", "/dev/a", "15", {"driver": "pgbench"})
OPTIONS = BenchOptions()


def begun(path: Path) -> Path:
    """A calibration whose servers ran one after the other, and have not taken turns yet."""
    with RunDirectory.create(path, RunHeader(STUDY, "2026-01-02T03:04:05Z", 1, (), (), "0.1.0"), "", {}) as run:
        run.finish("done")
    write_to_run(RealDisk(), path, Calibration("2026-01-02", SETTING, 2, 2, 2, 9.0, 8.0, {}, pending=(TURNS,)))
    return path


def kept(path: Path) -> Calibration:
    found = read_from_run(RealDisk(), path)
    assert found is not None
    return found


def test_a_load_that_cannot_take_turns_leaves_the_rest_of_a_calibration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def play_turns(run: Run, options: BenchOptions, watch: object) -> None:
        raise UsageError("no turns")

    monkeypatch.setattr("pgassay.lab.calibration.play_turns", play_turns)
    path = begun(tmp_path / "run")
    calibrate.take_turns(path, OPTIONS, quiet=True)
    assert kept(path).refused == {TURNS: "no turns"}
    assert (kept(path).pending, dict(kept(path).turns)) == ((), {})
    assert "Two equal servers in turns: not known, no turns" in list(in_turns(None, kept(path).refused[TURNS]))


def test_turns_that_cannot_be_read_are_named_and_the_rest_is_shown(tmp_path: Path) -> None:
    path = begun(tmp_path / "run")
    (path / "turns").mkdir()
    found = CalibrationFindings(Run.open(path))
    assert found.turns is None
    assert "is not a run directory" in found.turns_missing
    assert any("Two equal servers in turns: not known" in line for line in in_turns(found.turns, found.turns_missing))
    (path / "calibration.json").write_text("{torn")
    assert CalibrationFindings(Run.open(path)).kept is None
    calibrate.take_turns(path, OPTIONS, quiet=True)  # nothing is known to be pending
    assert not (path / "turns" / "run.json").exists()


def test_turns_whose_study_is_damaged_are_named(tmp_path: Path) -> None:
    path = begun(tmp_path / "run")
    (make_run(path / "turns").path / "study.toml").write_text("rubbish =")
    assert "study.toml" in CalibrationFindings(Run.open(path)).turns_missing


def test_turns_that_an_interruption_left_stay_pending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played = []

    def play_turns(run: Run, options: BenchOptions, watch: object) -> None:
        played.append(run.path)
        if len(played) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr("pgassay.lab.calibration.play_turns", play_turns)
    path = begun(tmp_path / "run")
    with pytest.raises(KeyboardInterrupt):
        calibrate.take_turns(path, OPTIONS, quiet=True)
    assert kept(path).pending == (TURNS,)
    calibrate.take_turns(path, OPTIONS, quiet=True)
    assert (len(played), kept(path).pending) == (2, ())
    write_to_run(RealDisk(), path, replace(kept(path), pending=("turns-realtime",)))
    calibrate.take_turns(path, OPTIONS, quiet=True)
    assert len(played) == 2, "an earlier version's second way is not played"


def test_an_interrupted_calibration_names_the_run_that_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def play_turns(run: Run, options: BenchOptions, watch: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pgassay.lab.calibration.play_turns", play_turns)
    path = begun(tmp_path / "run")
    assert calibrate.go_on(argparse.Namespace(run=path, json=True), OPTIONS) == 130
    assert f"pgassay resume {path}" in capsys.readouterr().err


def test_an_interruption_before_there_is_a_run_names_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(options: BenchOptions) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr("pgassay.lab.calibration.CalibrationBench", refused)
    assert main(["calibrate", "--out", str(tmp_path / "run")]) == 130
    assert "resume" not in capsys.readouterr().err


@pytest.mark.system
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_calibration_is_kept_shown_and_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real.installation()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    out = tmp_path / "run"
    with machine.own_folder() as data:
        assert main(["calibrate", *TINY, *SHORT, *BUSY, "--data-dir", str(data), "--out", str(out)]) == 0
        shown = capsys.readouterr().out
        assert "2 clusters × 2 restarts × 2 runs" in shown
        assert "The smallest difference between two treatments from one snapshot that a study can show" in shown
        assert not (data / "calibration").exists(), "its clusters are gone"

        beside = json.loads((out / "calibration.json").read_text(encoding="utf-8"))
        known = json.loads((tmp_path / "state/pgassay/calibration.json").read_text(encoding="utf-8"))
        assert known["calibrations"] == [beside]
        assert beside["setting"]["load"]["clients"] == "1"
        assert beside["noise"]["tps"]["noise"] > 0

        assert main(["calibrate", "--show", str(out), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["noise"]["tps"]["noise"] == beside["noise"]["tps"]["noise"]
        assert main(["check", str(out)]) == 0
        assert main(["resume", str(out)]) == 2
        capsys.readouterr()

        assert beside["pending"] == []
        assert beside["refused"] == {}
        assert main(["check", str(out / "turns")]) == 0
        assert "Two equal servers in turns: not known" in shown
        capsys.readouterr()

        compare = ["compare", "server.work_mem=4MB", "server.work_mem=8MB", "-s", "1", "-c", "1", "-j", "1", "-T", "1"]
        alone = [*compare, "--pairing", "sequential"]
        assert main([*alone, "--dry-run", "--json", *BUSY, "--data-dir", str(data)]) == 0
        plan = json.loads(capsys.readouterr().out)
        assert plan["noise"] == beside["noise"]["tps"]["noise"]
        assert "with warmup=0s" in plan["noise_source"]
        methods = {"one-after-the-other", *beside["turns"]}
        assert {each["method"] for each in plan["forecasts"]} == methods
        assert main([*compare, "-S", "--dry-run", *BUSY, "--data-dir", str(data)]) == 0
        assert "noise       not known here" in capsys.readouterr().out
