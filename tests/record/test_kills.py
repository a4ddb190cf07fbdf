"""A runner on the real disk, killed at random moments and resumed each time: nothing is lost, doubled or changed."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pgassay.record.check import check
from pgassay.record.reading import Run
from pgassay.study.findings import Severity
from tests.record.runs import trial

pytestmark = pytest.mark.system

ROOT = Path(__file__).parents[2]
TRIALS = 60
RUNNER = f"""
import sys
from pathlib import Path
from pgassay.record.directory import RunDirectory
from pgassay.record.disk import RealDisk
from tests.record.runs import commit, create
import polars
path, disk = Path(sys.argv[1]), RealDisk()
print("ready", flush=True)
run = RunDirectory.open(path) if path.exists() else create(disk, path)
if not run.finished:
    run.resumed()
    while run.next_number <= {TRIALS}:
        commit(disk, run, run.next_number)
    run.finish("all done")
run.close()
"""


def committed(path: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in path.glob("trials/[0-9]*/*")}


def test_killed_at_random_and_resumed(tmp_path: Path) -> None:
    path = tmp_path / "run"
    chance = random.Random(20)
    kept: dict[Path, bytes] = {}
    killed = 0
    while killed < 6:
        runner = subprocess.Popen([sys.executable, "-c", RUNNER, str(path)], cwd=ROOT, stdout=subprocess.PIPE)
        assert runner.stdout is not None
        assert runner.stdout.readline() == b"ready\n"
        time.sleep(chance.uniform(0.0, 0.03))
        runner.kill()
        runner.communicate()
        if runner.returncode == 0:
            break
        killed += 1
        found = committed(path)
        assert {file: found.get(file) for file in kept} == kept
        kept = found
    assert killed >= 3
    subprocess.run([sys.executable, "-c", RUNNER, str(path)], cwd=ROOT, check=True, capture_output=True)
    found = committed(path)
    assert {file: found.get(file) for file in kept} == kept
    assert Run.open(path).trials == tuple(trial(number) for number in range(1, TRIALS + 1))
    assert [finding for finding in check(path) if finding.severity is Severity.ERROR] == []
