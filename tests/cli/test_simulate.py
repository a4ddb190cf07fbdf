"""`pgassay simulate`: descriptions from files and options, a table, JSON, figures, and errors with a hint."""

import json
from pathlib import Path
from typing import Any

import pytest

from pgassay.cli import main

QUICK = ["--capacity", "64MB", "--set", "drive.pages_per_block=32", "--drive-writes", "1"]


def simulated(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    """The simulations that `--json` prints."""
    assert main(["simulate", *QUICK, "--json", *words]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["format"] == 1
    simulations: list[dict[str, Any]] = printed["simulations"]
    return simulations


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a command line that cannot be is told."""
    assert main(["simulate", *QUICK, *words]) == 2
    return capsys.readouterr().err


def test_a_drive_settles_near_its_formula(capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = simulated(capsys, "--over-provisioning", "28%", "--policy", "fifo")
    assert found["settled"] is True
    assert found["write_amplification"] == pytest.approx(found["theory"], rel=0.03)
    phases = [window["phase"] for window in found["windows"]]
    assert phases[0] == "fill"
    assert phases[-1] == "measured"
    assert found["windows"][-1]["drive_writes"] == pytest.approx(phases.count("ageing") * 0.1 + 2, abs=0.01)
    measured = found["measured"]
    assert measured["nand_bytes_written"] == sum(
        measured[f"{part}_bytes_written"] for part in ("compressed", "gc", "wear_levelling", "padding")
    )


def test_a_sweep_is_a_cross_product(capsys: pytest.CaptureFixture[str]) -> None:
    sweeps = ["--sweep", "drive.over_provisioning=10%,28%", "--sweep", "drive.policy=greedy,fifo"]
    found = simulated(capsys, *sweeps, "--jobs", "2")
    levels = [tuple(one["levels"].values()) for one in found]
    assert levels == [("10%", "greedy"), ("10%", "fifo"), ("28%", "greedy"), ("28%", "fifo")]
    values = [one["write_amplification"] for one in found]
    assert values[0] < values[1]
    assert values[0] > values[2]
    assert main(["simulate", *QUICK, *sweeps]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["over_provisioning", "policy", "WA"]
    assert len(lines) == 5


def test_a_file_and_options_are_laid_over_each_other(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "drive.toml"
    path.write_text(
        '[drive]\nkind = "compressing"\nuser_bytes = "1TB"\nreserve_blocks = 3\ngranularity_bytes = 1\n'
        '[[input]]\npattern = "zipf"\nscattered = true\ncompressed_to = "25%"\n'
    )
    (found,) = simulated(capsys, str(path), "--policy", "fifo")
    assert found["logical_bytes"] == 64 << 20
    assert found["health"]["compression_ratio"] == 400
    assert 0.25 <= found["write_amplification"] < 0.3
    assert found["theory"] == pytest.approx(found["write_amplification"], rel=0.02)


def test_the_description_in_the_manual_is_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    manual = (Path(__file__).parents[2] / "docs" / "flash-model.md").read_text(encoding="utf-8")
    path = tmp_path / "manual.toml"
    path.write_text(manual.partition("```toml\n")[2].partition("```")[0])
    (found,) = simulated(capsys, str(path))
    assert found["settled"] is True
    assert len(found["input"]) == 2
    assert 0.3 < found["write_amplification"] < 1


def test_everything_is_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ["--timing", "--set", "timing.requests=2000", "--sweep", "drive.policy=greedy,fifo", "--out", str(out)]
    found = simulated(capsys, *words, "--set", "drive.pages_per_block=32", "--set", "timing.pages_per_program=1")
    assert all(one["timing"]["reads"]["count"] + one["timing"]["writes"]["count"] == 2000 for one in found)
    assert json.loads((out / "result.json").read_text())["simulations"] == found
    names = {path.name for path in out.iterdir()}
    for figure in ("write-amplification", "programmed", "wear", "latency", "sweep"):
        assert {f"{figure}.html", f"{figure}.svg", f"{figure}.png"} <= names
    assert 'src="http' not in (out / "wear.html").read_text(), "figures work offline"


def test_a_drive_out_of_space_is_a_result(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--kind", "compressing", "--set", "drive.logical_bytes=256MB", "--set", "drive.reserve_blocks=3"]
    (found,) = simulated(capsys, *words)
    assert "rejected" in found["stopped"]
    assert found["write_amplification"] is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--over-provisioning", "0"], "error: invalid over-provisioning 0: must be greater than 0"),
        (["--set", "drive.chanels=3"], "drive has no key chanels"),
        (["--set", "timing.speed=3"], "timing has no key speed"),
        (["--set", "run.windw=3"], 'unknown key "run.windw"'),
        (["--set", "flash.x=1"], 'unknown table "flash"'),
        (["--set", "drive.policy"], '"drive.policy" is not of the form KEY=VALUE'),
        (["--sweep", "drive.policy="], "not of the form KEY=A,B"),
        (["--compressed-to", "40%"], "no effect on a page-mapped drive"),
        (["--set", "drive.user_bytes=8KB"], 'invalid unit "KB"'),
        (["--set", "run.ageing=quick"], "must be overwrite, theory or none"),
        (["--seed", "1.5"], "must be a whole number"),
        (["--jobs", "0"], "--jobs wants a whole number from 1 on"),
        (["--trace", "none.trace"], 'file "none.trace" does not exist'),
        (["none.toml"], 'file "none.toml" does not exist'),
    ],
)
def test_bad_words_are_refused(capsys: pytest.CaptureFixture[str], words: list[str], message: str) -> None:
    assert message in refused(capsys, *words)


def test_a_file_that_is_no_toml_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text("[drive\n")
    assert f'"{path}" is not valid TOML' in refused(capsys, str(path))
    path.write_bytes(b"PGATRACE" + bytes(60))
    assert "damaged header at byte 0" in refused(capsys, "--trace", str(path))
