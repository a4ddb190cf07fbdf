"""A runner on the real disk, killed at random moments and resumed each time: nothing is lost, doubled or changed."""

import random
import signal
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
MORE = 5
"""Trials that the last runner adds; one that is to be killed never comes to an end by itself."""
RUNNER = """
import sys
from pathlib import Path
from pgassay.record.directory import RunDirectory
from pgassay.record.disk import RealDisk
from tests.record.runs import commit, create
import polars
path, more, disk = Path(sys.argv[1]), int(sys.argv[2]), RealDisk()
print("ready", flush=True)
run = RunDirectory.open(path) if path.exists() else create(disk, path)
run.resumed()
last = run.next_number + more
while run.next_number < last:
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
    for _ in range(6):
        command = [sys.executable, "-c", RUNNER, str(path), str(10**9)]
        runner = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
        assert runner.stdout is not None
        assert runner.stdout.readline() == b"ready\n"
        time.sleep(chance.uniform(0.0, 0.03))
        runner.kill()
        runner.communicate()
        assert runner.returncode == -signal.SIGKILL
        found = committed(path)
        assert {file: found.get(file) for file in kept} == kept
        kept = found
    subprocess.run([sys.executable, "-c", RUNNER, str(path), str(MORE)], cwd=ROOT, check=True, capture_output=True)
    found = committed(path)
    assert {file: found.get(file) for file in kept} == kept
    trials = Run.open(path).trials
    assert len(trials) >= MORE
    assert trials == tuple(trial(number) for number in range(1, len(trials) + 1))
    assert [finding for finding in check(path) if finding.severity is Severity.ERROR] == []
