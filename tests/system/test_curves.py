"""The studies of curves from the command to the verdict: `cores` with its claims, and `disk` where fio is installed."""

import json
import shutil

import pytest

from pgassay.record.values import TrialRecord
from pgassay.study.responses import Status
from tests.system.journeys import ANYWHERE, Place
from tests.system.test_quick_studies import device_of_its_own

pytestmark = pytest.mark.system


def last_valid(journey: Place) -> TrialRecord:
    """The one trial of a disk study; what is discarded on a busy machine runs again."""
    *discarded, trial = journey.record("disk").trials
    assert {each.status for each in discarded} <= {Status.INVALID}
    assert trial.status is Status.VALID, trial.reasons
    return trial


@pytest.mark.slow
def test_cores_gives_fits_waits_and_what_stops_it(journey: Place) -> None:
    done = journey.pgassay(
        "run", "cores", "--quick", "--levels", "load.clients=1,2,3,4,5", "--levels", "load.script=select-only",
        "--set", "load.scale=1", "--set", "load.duration=1s", "--set", "load.warmup=0s", "--set", "load.yardstick=none",
        "--blocks", "1", "--seed", "3", "--json", "--out", str(journey.runs / "cores"), *ANYWHERE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (curve,) = json.loads(done.stdout)["beside"]["scalings"]
    assert curve["condition"] == "load.script=select-only"
    law, kink = curve["universal_scalability_law"], curve["kink"]
    assert 0 < law["rate"]["low"] < law["rate"]["value"] < law["rate"]["high"]
    assert law["measured_clients"] == 5
    assert kink["gain"]["low"] <= kink["gain"]["value"] <= kink["gain"]["high"]
    arms = json.loads(done.stdout)["beside"]["stops"]
    assert len(arms) == 5
    assert all(arm["diagnosis"]["candidates"] for arm in arms)
    assert not any("waits" in missing for arm in arms for missing in arm["diagnosis"]["missing"])
    run = journey.record("cores")
    assert all(trial.levels["load.jobs"].read_back == "clients" for trial in run.trials)
    assert all(trial.counters["waits.all"] for trial in run.trials if trial.covariate == "load.clients=5")
    assert journey.left_behind() == []


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_disk_measures_and_leaves_no_file(journey: Place) -> None:
    small = ("--set", "load.file_size=16MB", "--set", "load.duration=1s", "--set", "load.direct=off", "--blocks", "1")
    done = journey.pgassay(
        "run", "disk", "--quick", "--levels", "load.pattern=wal", "--levels", "load.threads=1", *small, "--seed", "3",
        "--json", "--out", str(journey.runs / "disk"), *ANYWHERE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    trial = last_valid(journey)
    assert (trial.responses["flushes_per_s"] or 0.0) > 0.0
    assert journey.left_behind() == []
    assert list(journey.data.rglob("pgassay_fio*")) == []


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
@pytest.mark.parametrize("depth", ["1", pytest.param("8", marks=pytest.mark.slow)])
def test_what_fio_writes_is_not_taken_for_another_program_s(journey: Place, depth: str) -> None:
    """At depth 1 by system calls that the kernel counts, deeper by io_uring, which it does not."""
    quick = (
        "--set",
        "load.file_size=64MB",
        "--set",
        "load.duration=2s",
        "--set",
        f"load.depth={depth}",
        "--blocks",
        "1",
    )
    with device_of_its_own(journey):
        done = journey.pgassay(
            "run", "disk", "--quick", "--levels", "load.pattern=write", "--levels", "load.threads=1", *quick,
            "--seed", "3", "--json", "--out", str(journey.runs / "disk"), *ANYWHERE,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    trial = last_valid(journey)
    written, share = trial.counters["diskstats.written_bytes"], trial.responses["foreign_write_share"]
    assert written is not None, "the clusters live on a block device here"
    assert written > 4 << 20
    assert share is not None
    assert share < 0.25
