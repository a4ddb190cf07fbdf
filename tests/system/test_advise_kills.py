"""SIGKILL of `pgassay advise` on a real PostgreSQL, in its screening and in its confirmation: `--resume` ends it.

A transaction sleeps as long as `commit_delay` delays its commit at the start: without the delay it is nearly twice as
fast, and never more than that, whatever the machine. So the advice is known, and no setting hides the others.
"""

import json
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.system.journeys import ANYWHERE, GONE_S, Place, committed, finished, hashes, kill, resumed, wait_until

pytestmark = pytest.mark.system
SCRIPT = "\\sleep 10 ms\nUPDATE pgbench_tellers SET tbalance = tbalance + 1 WHERE tid = 1;\n"
DELAYED = ("--set", "commit_delay=10000", "--set", "commit_siblings=0")
SETTINGS = ("commit_delay", "jit", "work_mem")
QUICK = (
    "--quick", "-s", "1", "-c", "1", "-j", "1", "-T", "1", "--set", "load.warmup=0s", "--set", "load.checkpoint=default"
)  # fmt: skip
"""The smallest form: trials of a second, and with checkpoints left alone one server runs after the other."""
PARTS = {
    "format", "objective", "confirmed", "settings", "lines", "proof", "limits", "shrinkage", "screened",
    "levels", "outdone_by", "in_and_out", "refused", "known", "left_out", "start", "study", "record",
}  # fmt: skip


class Advising:
    """An advice in a journey's place, which is killed and gone on with."""

    def __init__(self, journey: Place) -> None:
        self._journey = journey
        self.folder = journey.runs / "advice"
        script = journey.path / "sleeping.sql"
        script.write_text(SCRIPT)
        self._words = (
            "advise", *QUICK, "-f", str(script), *DELAYED, "--only", ",".join(SETTINGS), "--resolution", "10%",
            "--seed", "3", *ANYWHERE, "--out", str(self.folder),
        )  # fmt: skip

    def small_budget(self) -> str:
        """Twice the smallest that it takes, as its refusal says: a block that it plays first may take longer."""
        refused = self._journey.pgassay(*self._words, "--budget", "1s", "--dry-run")
        assert refused.returncode == 2, refused.stdout
        told = re.search(r"need at least (\d+) min", refused.stderr)
        assert told is not None, refused.stderr
        return f"{2 * int(told[1]) + 1}min"

    def begin(self, budget: str) -> "subprocess.Popen[str]":
        """Its first process."""
        return self._journey.start(*self._words, "--budget", budget, "--json")

    def resume(self) -> "subprocess.Popen[str]":
        """A process that goes on."""
        return self._journey.start("advise", "--resume", str(self.folder), *ANYWHERE, "--json")

    def killed_in(self, run: str, process: "subprocess.Popen[str]") -> dict[str, str]:
        """kill -9 once a trial of that run is committed and another one is under way; what was committed then."""
        path = self.folder / run
        wait_until(lambda: committed(path) > 0 and any((path / "trials").glob(".staging-*")), process)
        kill(process)
        assert not (self.folder / "advice.json").exists()
        return hashes(path)


def left_behind(journey: Place) -> list[str]:
    """What is there once the servers of a killed lab had time to end."""
    deadline = time.monotonic() + GONE_S
    while (left := journey.left_behind()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left


def is_part(some: dict[str, str], path: Path) -> bool:
    """Are all these files as they were?"""
    return bool(some) and some.items() <= hashes(path).items()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_killed_in_its_screening_and_in_its_confirmation_it_ends_with_its_advice(journey: Place) -> None:
    advising = Advising(journey)
    screening, confirmation = advising.folder / "screening-02", advising.folder / "confirmation"
    screened = advising.killed_in(screening.name, advising.begin(advising.small_budget()))
    confirming = advising.killed_in(confirmation.name, advising.resume())
    assert is_part(screened, screening)
    assert resumed(screening) == 1

    ended = finished(advising.resume())
    assert ended.returncode == 0, ended.stderr
    assert is_part(screened, screening)
    assert is_part(confirming, confirmation)
    assert resumed(screening) == 1, "it had ended"
    assert resumed(confirmation) == 1
    assert left_behind(journey) == []

    advice: dict[str, Any] = json.loads((advising.folder / "advice.json").read_text())
    assert advice == json.loads(ended.stdout)
    assert set(advice) == PARTS
    assert advice["confirmed"]
    assert set(advice["settings"]) == {"commit_delay"}
    assert {each["name"] for each in advice["screened"]} == set(SETTINGS)
    assert (advising.folder / "postgresql.auto.conf").read_text().count("\ncommit_delay = ") == 1
    assert advice["proof"]["start"]["high"] < 0.9, "two sleeps against one"
    assert (confirmation / "report" / "report.html").is_file()

    again = finished(advising.resume())
    assert json.loads(again.stdout) == advice, "read once more it is the same"
    assert left_behind(journey) == []
