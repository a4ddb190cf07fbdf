"""The sample package of examples/ is installed, keeps the contracts, and studies with what it adds run.

It goes into a folder of its own (`uv pip install --target`, from the tree, without a network), so that nothing of this
environment changes.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import polars
import pytest

from pgassay.study.responses import Status
from tests.drive.block import real
from tests.system.journeys import ANYWHERE, LONG_S, Place, finished, lost

pytestmark = [pytest.mark.system, pytest.mark.timeout(700)]
"""Longer than for other tests, since each does what takes half a minute on a quiet machine."""

SAMPLE = Path(__file__).parents[2] / "examples" / "pgassay-sample"
SWAPPINESS = Path("/proc/sys/vm/swappiness")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sample package, as pip would have put it into site-packages."""
    uv = Path(sys.executable).with_name("uv")
    program = str(uv) if uv.is_file() else shutil.which("uv")
    if program is None:
        pytest.skip("uv is not installed")
    folder = tmp_path_factory.mktemp("sample")
    source = shutil.copytree(SAMPLE, folder / "source")
    target = folder / "packages"
    words = [program, "pip", "install", "--quiet", "--offline", "--no-deps", "--python", sys.executable]
    subprocess.run([*words, "--target", str(target), str(source)], check=True)
    return target


@pytest.fixture
def with_sample(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that are started find the package."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(installed), *filter(None, [os.environ.get("PYTHONPATH")])]))


@pytest.mark.usefixtures("with_sample")
def test_it_keeps_the_contracts() -> None:
    words = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "tests"]
    done = subprocess.run(words, cwd=SAMPLE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout


@pytest.mark.usefixtures("with_sample")
@pytest.mark.slow
@pytest.mark.alone  # it sets vm.swappiness of the machine
def test_a_study_runs_with_its_load_factor_and_probe(journey: Place) -> None:
    told = json.loads(journey.pgassay("doctor", "--json").stdout)
    assert [each["text"] for each in told if each["check"] == "plugins"] == [
        'factor "host.swappiness" of package pgassay-sample 0.1.0',
        'load "batches" of package pgassay-sample 0.1.0',
        'probe "interrupts" of package pgassay-sample 0.1.0',
        'drive "thick" of package pgassay-sample 0.1.0',
    ]
    assert "host.swappiness" in journey.pgassay("studies", "--factors").stdout
    if not os.access(SWAPPINESS, os.W_OK):
        pytest.skip("vm.swappiness cannot be changed here")
    before = SWAPPINESS.read_text()
    study, out = str(SAMPLE / "swappiness.toml"), str(journey.runs / "sample")
    words = ("run", study, "--set", "load.duration=1s", "--seed", "3", *ANYWHERE, "--out", out, "--json")
    done = finished(journey.start(*words), LONG_S)
    assert done.returncode == 0, done.stderr
    assert SWAPPINESS.read_text() == before, "given back"
    assert journey.left_behind() == []
    require_record(journey)
    result = json.loads(done.stdout)
    assert {each["response"] for each in result["verdicts"]} == {"tps"}
    assert "interrupts_per_transaction" in {each["response"] for each in result["costs"]}
    assert "interrupts, per transaction" in Path(result["report"]).read_text(encoding="utf-8")
    check = journey.pgassay("check", out)
    assert (check.returncode, check.stdout) == (0, "the record is whole and consistent\n")


@pytest.mark.usefixtures("with_sample")
@pytest.mark.slow
def test_a_study_runs_on_its_drive(journey: Place) -> None:
    real.require("image")
    study, out = str(SAMPLE / "thick.toml"), str(journey.runs / "thick")
    words = ("run", study, "--set", "load.duration=1s", "--seed", "3", *ANYWHERE, "--out", out, "--json")
    done = finished(journey.start(*words), LONG_S)
    assert done.returncode == 0, done.stderr
    assert journey.left_behind() == []
    run = journey.record("thick")
    disks = {trial.levels["drive.data"].read_back for trial in run.trials if trial.status is not Status.INVALID}
    assert disks == {"image", "plugin:thick"}, "as the kernel names the file below the loop device"
    check = journey.pgassay("check", out)
    assert (check.returncode, check.stdout) == (0, "the record is whole and consistent\n")


def require_record(journey: Place) -> None:
    """Every trial was made by the sample's load, at the sample's levels, and has what its probe read."""
    run = journey.record("sample")
    assert len([trial for trial in run.trials if trial.status is not Status.INVALID]) == 10 - len(lost(run))
    for trial in run.trials:
        swappiness = trial.levels["host.swappiness"]
        assert swappiness.read_back == swappiness.canonical
        assert trial.treatment == f"host.swappiness={swappiness.typed}"
        interrupts = trial.responses["interrupts_per_transaction"]
        assert interrupts is not None
        assert interrupts > 0
        folder = run.path / "trials" / f"{trial.number:06d}"
        assert (folder / "batches.out").is_file(), "the load's raw output"
        series = polars.read_parquet(folder / "series.parquet")
        assert series.filter(polars.col("source") == "interrupts").height > 1
        assert series.filter(polars.col("source") == "batches").height > 0
    assert {trial.levels["host.swappiness"].canonical for trial in run.trials} == {"60", "10"}
