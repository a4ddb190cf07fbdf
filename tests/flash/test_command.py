"""`pgassay drive simulate`: descriptions from files and options, a table, JSON, and errors with a hint."""

import json
from pathlib import Path
from typing import Any

import pytest

from pgassay.cli import main

QUICK = ["--capacity", "64MB", "--set", "drive.pages_per_block=32", "--drive-writes", "1"]


def simulated(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    """The simulations that `--json` prints."""
    assert main(["drive", "simulate", *QUICK, "--json", *words]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["format"] == 1
    simulations: list[dict[str, Any]] = printed["simulations"]
    return simulations


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The error of a command line that is refused."""
    assert main(["drive", "simulate", *QUICK, *words]) == 2
    return capsys.readouterr().err


def test_a_drive_settles_near_its_formula(capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = simulated(capsys, "--over-provisioning", "28%", "--policy", "fifo")
    assert found["settled"] is True
    assert found["write_amplification"] == pytest.approx(found["theory"], rel=0.03)
    phases = [window["phase"] for window in found["windows"]]
    assert phases[0] == "fill"
    assert phases[-1] == "measured"
    windows = phases.count("ageing") + phases.count("measured")
    assert found["windows"][-1]["drive_writes"] == pytest.approx(1 + windows * 0.1, abs=0.01)
    low, high = found["write_amplification_interval"]
    assert low <= found["write_amplification"] <= high
    assert (found["accuracy_reached"], found["run"]["accuracy"]) == (True, 0.005)
    measured = found["measured"]
    assert measured["nand_bytes_written"] == sum(
        measured[f"{part}_bytes_written"] for part in ("compressed", "gc", "wear_levelling", "padding")
    )


def test_the_interval_stands_beside_every_write_amplification(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["drive", "simulate", *QUICK, "--over-provisioning", "28%", "--policy", "fifo", "--accuracy", "1%"]
    (found,) = simulated(capsys, *words[len(QUICK) + 2 :])
    low, high = found["write_amplification_interval"]
    assert 0 < (high - low) / 2 <= 0.01 * found["write_amplification"]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "\naged until write amplification settled: " in printed
    assert f"write amplification   {found['write_amplification']:.2f}, 95 % [{low:.2f}, {high:.2f}]\n" in printed
    assert main([*words, "--sweep", "drive.policy=fifo,greedy"]) == 0
    assert f"  [{low:.2f}, {high:.2f}]  " in capsys.readouterr().out


def test_a_limit_that_was_reached_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["drive", "simulate", *QUICK, "--pattern", "hot-cold", "--policy", "fifo", "--set", "run.limit=4"]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "NOT settled after 3.1 drive writes of ageing" in printed
    assert "--set run.limit=8" in printed
    assert "write amplification is NOT known to ± 0.5 % after 4 drive writes of measuring" in printed
    assert main([*words, "--sweep", "drive.policy=fifo,greedy"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in lines[1:3]] == ["no", "no"]
    assert lines[3].startswith("an interval is wider than the accuracy")


def test_a_drive_that_compresses_nothing_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["drive", "simulate", *QUICK, "--kind", "compressing"]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "nothing is compressed: each block of this input keeps its 4096 bytes\nhint: " in printed
    assert main([*words, "--compressed-to", "40%"]) == 0
    assert "nothing is compressed" not in capsys.readouterr().out


def test_counters_have_the_names_of_nvme_cli_and_life_is_reckoned(capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = simulated(capsys, "--set", "life.rated_cycles=100", "--set", "life.years=3")
    health = found["health"]
    names = {"host_bytes_written", "nand_bytes_written", "physical_media_units_written", "compression_ratio"}
    assert names | {"physical_usage_ratio", "wear_leveling", "percentage_used"} <= set(health)
    assert health["physical_media_units_written"] == {"hi": 0, "lo": health["nand_bytes_written"]}
    assert health["percentage_used"] == int(health["wear_leveling"]["avg"])
    assert all(window["free_blocks"] >= 2 for window in found["windows"])
    written = found["write_amplification"] * found["logical_bytes"] * 365 * 3
    assert found["life"]["drive_writes_per_day"] == pytest.approx(100 * found["physical_bytes"] / written)


def test_a_sweep_is_a_cross_product(capsys: pytest.CaptureFixture[str]) -> None:
    sweeps = ["--sweep", "drive.over_provisioning=10%,28%", "--sweep", "drive.policy=greedy,fifo"]
    found = simulated(capsys, *sweeps, "--jobs", "2")
    levels = [tuple(one["levels"].values()) for one in found]
    assert levels == [("10%", "greedy"), ("10%", "fifo"), ("28%", "greedy"), ("28%", "fifo")]
    values = [one["write_amplification"] for one in found]
    assert values[0] < values[1]
    assert values[0] > values[2]
    assert main(["drive", "simulate", *QUICK, *sweeps]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["over_provisioning", "policy", "WA"]
    assert len(lines) == 6
    assert lines[-1].startswith("simulated")


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
    manual = (Path(__file__).parents[2] / "docs" / "drives.md").read_text(encoding="utf-8")
    path = tmp_path / "manual.toml"
    path.write_text(manual.partition("```toml\n")[2].partition("```")[0])
    (found,) = simulated(capsys, str(path))
    assert found["settled"] is True
    assert len(found["input"]) == 1
    assert 0.3 < found["write_amplification"] < 1


def test_a_drive_that_is_half_used_stays_so(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--over-provisioning", "10%", "--policy", "fifo", "--used-share", "60%"]
    (found,) = simulated(capsys, *words)
    assert found["health"]["physical_usage_ratio"] == round(100 * 0.6 / 1.1)
    assert found["theory"] == pytest.approx(1.343, abs=5e-3), "FIFO at 1.1 / 0.6"
    assert found["write_amplification"] == pytest.approx(found["theory"], rel=0.03)
    (aged,) = simulated(capsys, *words, "--set", "run.ageing=theory")
    assert aged["write_amplification"] == pytest.approx(found["theory"], rel=0.03)
    assert main(["drive", "simulate", *QUICK, *words]) == 0
    assert capsys.readouterr().out.startswith("simulated page-mapped drive of 64MB, fifo, 32 pages a block\n")


def test_a_drive_shown_larger_than_it_is_has_a_formula(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--kind", "compressing", "--policy", "fifo", "--set", "drive.logical_bytes=256MB"]
    (found,) = simulated(capsys, *words, "--compressed-to", "20%")
    assert found["logical_bytes"] == 256 << 20
    # 20 % are 819 bytes, stored in 13 granules of 64.
    assert found["theory"] == pytest.approx(832 / 4096 * 2.28, rel=0.02)
    assert found["write_amplification"] == pytest.approx(found["theory"], rel=0.03)


def test_pools_are_held_to_their_formula(capsys: pytest.CaptureFixture[str]) -> None:
    pools = 'drive.pools=[["20%", "69%"], ["80%", "18%"]]'
    words = ["--set", pools, "--pattern", "hot-cold", "--policy", "fifo", "--set", "drive.gc_stream=with-host"]
    (found,) = simulated(capsys, *words)
    assert found["theory"] == pytest.approx(1.8655, rel=0.01), "the best pools of a drive with 28 %"
    assert found["write_amplification"] == pytest.approx(found["theory"], rel=0.05)
    (other,) = simulated(capsys, *words, "--set", "input.hot_blocks=0.3")
    assert other["theory"] is None, "the pools are not the classes"


def test_requests_of_a_sweep_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--timing", "--set", "timing.requests=2000", "--sweep", "drive.policy=greedy,fifo"]
    found = simulated(capsys, *words, "--set", "drive.pages_per_block=32", "--set", "timing.pages_per_program=1")
    assert all(one["timing"]["reads"]["count"] + one["timing"]["writes"]["count"] == 2000 for one in found)


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
        (["--set", "drive.user_bytes=8KB"], "invalid drive user_bytes 8KB: must be an amount such as 16GB"),
        (["--set", "run.ageing=quick"], "must be overwrite, theory or none"),
        (["--seed", "1.5"], "must be a whole number"),
        (["--seed", "inf"], "must be finite"),
        (["--drive-writes", "inf"], 'invalid value "inf" for run.drive_writes: must be finite'),
        (["--used-share", "0"], 'invalid value "0.0" for run.used_share: must be greater than 0'),
        (["--used-share", "120%"], "for run.used_share: must be at most 1"),
        (["--accuracy", "0"], "for run.accuracy: must be greater than 0"),
        (["--set", "run.tolerance=0"], "for run.tolerance: must be greater than 0"),
        (["--set", "life.years=0"], "for life.years: must be greater than 0"),
        (["--over-provisioning=-7%"], "invalid over-provisioning -0.07"),
        (["--over-provisioning", "0.05%"], "leave less than one block of 32 pages spare"),
        (["--set", "drive.reserve_blocks=0"], "invalid reserve blocks 0: must be at least 1"),
        (["--set", "drive.pages_per_block=1"], "invalid superblock bytes 4096"),
        (["--set", "drive.channels=3"], "contradicts the shape of the chips"),
        (["--set", "drive.pools=[[1, 0.1]]", "--timing"], "pools have no timing"),
        (["--set", "drive.pools=[[1, 0.1]]", "--over-provisioning", "7%"], "each pool has its own over-provisioning"),
        (["--kind", "compressing", "--compressed-to", "40"], "must be a share from 0 to 1, such as 40%"),
        (["--timing", "--set", "timing.requests=0"], "for timing.requests: must be greater than 0"),
        (["--timing", "--set", "timing.queue_depth=0"], "invalid queue depth 0"),
        (["--timing", "--set", "timing.read_share=2"], "invalid read share 2"),
        (["--jobs", "0"], "--jobs wants a whole number from 1 on"),
        (["none.toml"], 'file "none.toml" does not exist'),
    ],
)
def test_bad_words_are_refused(capsys: pytest.CaptureFixture[str], words: list[str], message: str) -> None:
    assert message in refused(capsys, *words)


def test_all_that_the_model_refuses_comes_with_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--over-provisioning", "0"], ["--set", "drive.pages_per_block=1"], ["--set", "drive.choices=0"]):
        assert "\nhint: " in refused(capsys, *words, "--set", "drive.policy=d-choices")


@pytest.mark.parametrize("text", ["drive = 5\n", "[[drive]]\n", "input = 3\n", "input = [3]\n", "timing = true\n"])
def test_a_value_in_place_of_a_table_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    assert "must be a table\nhint: write [" in refused(capsys, str(path))


def test_a_file_that_is_no_toml_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text("[drive\n")
    assert f'"{path}" is not valid TOML' in refused(capsys, str(path))
    path.write_bytes(b"\xff\xfe[drive]")
    assert f'"{path}" is not valid TOML' in refused(capsys, str(path))
