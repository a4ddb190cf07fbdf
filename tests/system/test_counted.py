"""`pgassay compare --count`: instructions instead of times, from the command to the verdict, and what a kill leaves."""

import json
import time

import pytest

from pgassay import children
from pgassay.record.counts import FILE, decode
from pgassay.study.responses import Status
from tests.system.journeys import ANYWHERE, GONE_S, Place, finished, kill, wait_until

pytestmark = [
    pytest.mark.system,
    pytest.mark.slow,
    pytest.mark.skipif(children.which("valgrind") is None, reason="valgrind is not installed"),
]
COUNTED = ("compare", "wal_compression=off", "wal_compression=lz4", "-N", "-t", "100", "--count", *ANYWHERE)
"""With few transactions: each is seven messages, and each waits for its turn where the machine does much else."""


@pytest.mark.timeout(3600)  # ten trials on a machine that does much else
def test_a_change_is_resolved_by_what_the_server_executes(journey: Place) -> None:
    out = journey.runs / "counted"
    done = finished(journey.start(*COUNTED, "--out", str(out), "--json", "--seed", "3"), patience_s=3600.0)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    (verdict,) = [each for each in result["verdicts"] if each["response"] == "instructions_per_transaction"]
    assert (verdict["verdict"], verdict["blocks"]) == ("worse", 5)
    assert {trial.status for trial in journey.record("counted").trials} == {Status.VALID}
    assert 1.1 < verdict["low"] < verdict["estimate"] < verdict["high"] < 2.0
    assert verdict["high"] / verdict["low"] < 1.05, "counts hardly wander, whatever else runs here"
    assert "executes" in result["headline"]["sentences"][0]
    run = journey.record("counted")
    for trial in run.trials:
        assert trial.responses["tps"] is None, "no time is told"
        assert (trial.responses["wal_bytes_per_transaction"] or 0) > 100
        counts = decode((out / "trials" / f"{trial.number:06d}" / FILE).read_bytes())
        assert counts.instrument.startswith("valgrind")
        assert counts.functions["heap_update"][1] == pytest.approx(1.0, abs=0.1), "-N updates accounts alone"
        assert sum(counts.processes.values()) == trial.responses["instructions_per_transaction"]
    assert journey.left_behind() == []
    assert journey.pgassay("check", str(out)).returncode == 0


def test_servers_under_the_instrument_end_with_a_lab_that_is_killed(journey: Place) -> None:
    out = journey.runs / "killed"
    process = journey.start(*COUNTED, "-t", "100000", "--out", str(out))
    wait_until(lambda: any(out.glob("trials/.staging-*/warmup/pgbench.out")), process)
    assert len(journey.servers()) > 4
    kill(process)
    deadline = time.monotonic() + GONE_S
    while journey.servers():
        assert time.monotonic() < deadline
        time.sleep(0.1)
