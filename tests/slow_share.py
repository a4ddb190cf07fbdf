"""Runs a share of the slow tests: as many as fit in a number of seconds, others at each commit.

One after the other they take hours, too long for every change; CI runs `make slow-share`, so that each has its turn.
The seed orders them and is printed: the same seed on the same tests gives the same order. How long each takes stands
in slow_seconds.json, which `make slow-seconds` measures again.
"""

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pgassay.untrusted import json_lines

ROOT = Path(__file__).parents[1]
SECONDS = Path(__file__).with_name("slow_seconds.json")
UNKNOWN_S = 600.0
"""For a test that has not been timed yet."""
MARGIN = 1.5
"""A test must fit even if it takes this many times as long as when it was timed."""
STUCK_S = 900.0
"""A test that is still running so long after the end of the budget is interrupted and has failed."""
KILL_S = 120.0
"""What is interrupted and has not ended after this is killed."""

LEAST_S = 900.0
"""The least limit of a slow test: that of the quick ones ended an advice that was only slower than usual."""
TIMES = 5.0
"""A slow test may take this many times what it took when it was timed: its limit is there to end what hangs."""

Run = Callable[[str, float], "Outcome"]
"""Runs one test within a limit of seconds."""


@dataclass(frozen=True)
class SlowTest:
    """A slow test, and whether nothing may run beside it."""

    name: str
    alone: bool = False

    @property
    def file(self) -> str:
        """Where it stands."""
        return self.name.partition("::")[0]


@dataclass(frozen=True)
class Outcome:
    """How one test ended, and after how many seconds."""

    passed: bool
    elapsed_s: float


@dataclass(frozen=True)
class Share:
    """The tests that ran, in order, with their outcomes; and those that the budget had no room for."""

    outcomes: Mapping[str, Outcome]
    left_out: tuple[str, ...]

    @property
    def failed(self) -> list[str]:
        """The tests that did not pass."""
        return [test for test, outcome in self.outcomes.items() if not outcome.passed]


def limit_s(own_s: float, known_s: float) -> float:
    """After how many seconds a slow test is taken to hang: its own limit (0 for none), or by what it took before."""
    return max(own_s, LEAST_S, TIMES * known_s)


def ordered(tests: Iterable[str], seed: str) -> list[str]:
    """The tests in an order that depends on nothing but them and the seed."""
    tests = sorted(tests)
    random.Random(seed).shuffle(tests)
    return tests


def run_share(tests: Sequence[str], seconds: Mapping[str, float], budget_s: float, run: Run) -> Share:
    """Run the tests in turn, each only if it will end within what is left of the budget.

    A machine that turns out slower than the one where the tests were timed is expected to stay so.
    """
    outcomes: dict[str, Outcome] = {}
    left_out = []
    elapsed_s = expected_s = 0.0
    for test in tests:
        expects_s = seconds.get(test, UNKNOWN_S)
        slower = max(1.0, elapsed_s / expected_s) if expected_s else 1.0
        if elapsed_s + expects_s * max(MARGIN, slower) > budget_s:
            left_out.append(test)
            continue
        outcomes[test] = run(test, budget_s - elapsed_s + STUCK_S)
        elapsed_s += outcomes[test].elapsed_s
        expected_s += expects_s
    return Share(outcomes, tuple(left_out))


def pytest_words(path: Path, *words: str) -> list[str]:
    """A pytest of slow tests that writes its results to a file."""
    return [
        *(sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "tests.slow_results"),
        *("--results-to", str(path), "-m", "slow", *words),
    ]


def collected(folder: Path) -> list[SlowTest]:
    """All slow tests."""
    path = folder / "collected.jsonl"
    path.unlink(missing_ok=True)
    words = pytest_words(path, "--collect-only")
    told = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if told.returncode not in (0, 5):
        raise SystemExit(told.stdout + told.stderr)
    return [SlowTest(str(each["test"]), bool(each["alone"])) for each in json_lines(path)]


def interruptible() -> None:
    """Let SIGINT end the programs that are begun from here: what a script began in the background ignores it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def end(process: "subprocess.Popen[bytes]") -> None:
    """Interrupt it as by Ctrl-C, so that it cleans up; kill it if it does not end."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(KILL_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def run_test(test: str, limit_s: float) -> Outcome:
    """One test in a process of its own; interrupted as by Ctrl-C at the limit, so that it cleans up."""
    print(f"--- {test}", flush=True)
    began_s = time.monotonic()
    with subprocess.Popen([sys.executable, "-m", "pytest", "-q", "-n", "0", test], cwd=ROOT) as process:
        try:
            status = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            end(process)
            status = 1
    return Outcome(status == 0, time.monotonic() - began_s)


def commit() -> str:
    """The checked-out commit, or a word where there is none."""
    words = ["git", "rev-parse", "HEAD"]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip() or "no commit"


def report(share: Share, known: Mapping[str, float], seed: str) -> str:
    """What ran, what did not, and how to run it again."""
    total = len(share.outcomes) + len(share.left_out)
    elapsed_s = sum(outcome.elapsed_s for outcome in share.outcomes.values())
    lines = [f"left out, no time: {test} (about {known.get(test, UNKNOWN_S):.0f} s)" for test in share.left_out]
    lines += [f"failed: {test}" for test in share.failed]
    lines.append(f"{len(share.outcomes)} of {total} slow tests ran in {elapsed_s:.0f} s, {len(share.failed)} failed")
    if not share.outcomes:
        lines.append("no slow test was run: none fits in the budget")
    return "\n".join([*lines, f"the same order again: make slow-share SEED={seed}"])


def main() -> int:
    """Exit status 1 if a test failed; no test at all is no failure."""
    parser = argparse.ArgumentParser(prog="python -m tests.slow_share", description="Run a share of the slow tests.")
    parser.add_argument("--budget-s", type=float, default=1500.0, help="seconds that they may take together")
    parser.add_argument("--seed", default="", help="orders the tests; the commit if left out")
    arguments = parser.parse_args()
    interruptible()
    seed = arguments.seed or commit()
    known: dict[str, float] = json.loads(SECONDS.read_text(encoding="utf-8"))
    budget_s: float = arguments.budget_s
    with tempfile.TemporaryDirectory() as folder:
        tests = ordered((each.name for each in collected(Path(folder))), seed)
    print(f"{len(tests)} slow tests, ordered by the seed {seed}; {budget_s:.0f} s for them", flush=True)
    share = run_share(tests, known, budget_s, run_test)
    print(report(share, known, seed))
    return 1 if share.failed else 0


if __name__ == "__main__":
    sys.exit(main())
