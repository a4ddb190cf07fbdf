"""`pgassay calibrate` on a real server with tiny settings, and the plan of a study that follows it."""

import json
from pathlib import Path

import pytest

from pgassay.cli import main
from pgassay.testing import real

TINY = ["-s", "1", "-c", "1", "-j", "1", "-T", "1", "--warmup", "0s", "--clusters", "2", "--blocks", "2"]
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


@pytest.mark.system
@pytest.mark.slow
def test_a_calibration_is_kept_shown_and_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real.installation()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    out = tmp_path / "run"
    with real.private_folder() as data:
        assert main(["calibrate", *TINY, *BUSY, "--data-dir", str(data), "--out", str(out)]) == 0
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

        compare = ["compare", "server.work_mem=4MB", "server.work_mem=8MB", "-s", "1", "-c", "1", "-j", "1", "-T", "1"]
        assert main([*compare, "--dry-run", "--json", *BUSY, "--data-dir", str(data)]) == 0
        plan = json.loads(capsys.readouterr().out)
        assert plan["noise"] == beside["noise"]["tps"]["noise"]
        assert "with warmup=0s" in plan["noise_source"]
        assert main([*compare, "-S", "--dry-run", *BUSY, "--data-dir", str(data)]) == 0
        assert "noise       not known here" in capsys.readouterr().out
