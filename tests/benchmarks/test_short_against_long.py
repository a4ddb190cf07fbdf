"""The state of benchmarks/short_against_long: killed at any byte, it has lost no trial that had ended."""

from argparse import Namespace
from pathlib import Path

import pytest

from benchmarks.short_against_long import Done, State

DONE = Done("valid", {"tps": 1000.0, "latency_p99_ms": None}, "5 whole checkpoint cycles", 5.0, [{"transactions": 9.0}])


def state(path: Path, short: int = 5) -> State:
    return State(Namespace(state=path, short=short, long=20, blocks=3))


def test_a_writer_killed_at_any_byte_goes_on_with_what_had_ended(tmp_path: Path) -> None:
    path = tmp_path / "state"
    first = state(path)
    first.keep(1, "short", "100", DONE)
    first.keep(1, "long", "100", DONE)
    whole = path.read_bytes()
    ends = [place for place, byte in enumerate(whole, 1) if byte == ord("\n")]
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        known = state(path).known
        assert len(known) == max(0, sum(end <= cut for end in ends) - 1)
        assert all(each == DONE for each in known.values())
        again = state(path)
        again.keep(2, "short", "75", DONE)
        assert state(path).known == {**known, (2, "short", "75"): DONE}


def test_the_trials_of_another_question_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "state"
    state(path).keep(1, "short", "100", DONE)
    with pytest.raises(SystemExit, match="another question"):
        state(path, short=8)
    assert len(state(path).known) == 1
    assert State(Namespace(state=None, short=5)).known == {}
