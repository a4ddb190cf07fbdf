"""Which slow tests run: those that the budget has room for, in an order that the seed alone decides."""

import json
import signal
import subprocess
import sys
from collections.abc import Mapping

import pytest

from tests import slow_share
from tests.slow_share import Outcome, Run, Share, limit_s, ordered, report, run_share

TESTS = [f"tests/a.py::test_{letter}" for letter in "abcdefgh"]


def played(seconds: Mapping[str, float], failing: str = "") -> Run:
    """Runs nothing: each test takes its seconds."""
    return lambda test, limit_s: Outcome(test != failing, seconds[test])


def test_the_seed_alone_decides_the_order() -> None:
    assert ordered(TESTS, "1") == ordered(reversed(TESTS), "1")
    assert sorted(ordered(TESTS, "1")) == TESTS
    assert len({tuple(ordered(TESTS, str(seed))) for seed in range(20)}) > 15


def test_a_test_is_started_only_if_it_will_end_in_the_budget() -> None:
    seconds = dict(zip(TESTS, [10, 500, 20, 30, 1, 1, 1, 1], strict=True))
    share = run_share(TESTS, seconds, 70.0, played(seconds))
    assert list(share.outcomes) == [TESTS[0], TESTS[2], *TESTS[4:]]
    assert share.left_out == (TESTS[1], TESTS[3]), "the margin counts: 30 s were left for a test of 30 s"


def test_every_test_has_its_turn() -> None:
    seconds = dict.fromkeys(TESTS, 100.0)
    shares = [run_share(ordered(TESTS, str(seed)), seconds, 350.0, played(seconds)) for seed in range(30)]
    assert {len(share.outcomes) for share in shares} == {3}
    assert {test for share in shares for test in share.outcomes} == set(TESTS)


def test_a_slow_machine_gets_a_smaller_share() -> None:
    seconds = dict.fromkeys(TESTS, 100.0)
    share = run_share(TESTS, seconds, 900.0, played(dict.fromkeys(TESTS, 300.0)))
    assert len(share.outcomes) == 3


def test_a_test_that_was_never_timed_counts_as_long() -> None:
    never = played(dict.fromkeys(TESTS, 1.0))
    assert len(run_share(TESTS, {}, slow_share.UNKNOWN_S, never).outcomes) == 0
    assert len(run_share(TESTS, {}, slow_share.UNKNOWN_S * slow_share.MARGIN, never).outcomes) == 1


def test_a_slow_test_is_not_ended_for_being_slower_than_usual() -> None:
    assert limit_s(own_s=0.0, known_s=400.0) == 2000.0
    assert limit_s(own_s=3600.0, known_s=400.0) == 3600.0
    assert limit_s(own_s=60.0, known_s=0.0) == slow_share.LEAST_S


@pytest.mark.slow
def test_the_limit_of_a_slow_test_is_that_of_slow_ones(request: pytest.FixtureRequest) -> None:
    limit = request.node.get_closest_marker("timeout")
    assert limit.args[0] >= slow_share.LEAST_S


def test_a_budget_of_nothing_is_said_and_no_failure() -> None:
    share = run_share(TESTS, {}, 0.0, played({}))
    assert share == Share({}, tuple(TESTS))
    assert share.failed == []
    told = report(share, {TESTS[0]: 12.4}, "abc")
    assert "no slow test was run: none fits in the budget" in told
    assert f"left out, no time: {TESTS[0]} (about 12 s)" in told
    assert "0 of 8 slow tests ran in 0 s, 0 failed" in told


def test_a_failure_is_told_and_the_others_still_run() -> None:
    seconds = dict.fromkeys(TESTS, 1.0)
    share = run_share(TESTS, seconds, 100.0, played(seconds, failing=TESTS[2]))
    assert share.failed == [TESTS[2]]
    assert len(share.outcomes) == len(TESTS)
    assert f"failed: {TESTS[2]}" in report(share, seconds, "abc")
    assert "make slow-share SEED=abc" in report(share, seconds, "abc")


def test_only_tests_that_exist_have_a_time() -> None:
    known = json.loads(slow_share.SECONDS.read_text(encoding="utf-8"))
    files = {slow_share.ROOT / test.partition("::")[0] for test in known}
    assert [str(path) for path in files if not path.is_file()] == []
    names = {test.partition("::")[2].partition("[")[0] for test in known}
    text = "".join(path.read_text(encoding="utf-8") for path in files)
    assert {name for name in names if f"def {name}(" not in text} == set()


def test_a_hanging_test_is_ended_though_a_script_began_us_in_the_background() -> None:
    # A shell gives what it begins with `&` an ignored SIGINT, and every program begun from there inherits it.
    script = """
import subprocess, sys
from tests import slow_share
slow_share.KILL_S = 600.0
slow_share.interruptible()
words = [sys.executable, "-c", "import time; print('begun', flush=True); time.sleep(900)"]
with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
    assert process.stdout.readline() == b"begun\\n"
    slow_share.end(process)
print(process.returncode)
"""
    words = ["sh", "-c", 'trap "" INT; exec "$0" "$@"', sys.executable, "-c", script]
    told = subprocess.run(words, cwd=slow_share.ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert (told.stdout, told.returncode) == (f"{-signal.SIGINT}\n", 0), told.stderr
