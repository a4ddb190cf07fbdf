"""What trials took beside their windows, from their own steps."""

from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.record.journal import Entry, Kind
from pgassay.record.reading import Run
from pgassay.report.doubts import overhead
from pgassay.testing.planted import make_run

STEPS = {"clone": 2.0, "start": 0.1, "settle": 1.0, "measure": 9.5, "stop": 0.1, "give_back": 0.3}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    path: Path = tmp_path_factory.mktemp("overhead") / "run"
    return make_run(path)


def test_windows_and_warm_ups_are_no_overhead(run: Run) -> None:
    """Of 9.5 s of measuring 8 s were the window and 1 s the warm-up."""
    trials = [replace(trial, timings_s=STEPS) for trial in run.trials]
    text = overhead(trials, ())
    assert text.startswith(
        "apart from its window and warm-up a trial took 4.0 s on average (clone 2.0 s, settle 1.0 s, "
    )
    assert "measure 0.5 s" in text
    assert text.endswith("no snapshot had to be prepared")
    elsewhere = overhead([replace(trial, host="h1") for trial in trials], ())
    assert "prepared" not in elsewhere, "hosts prepared their own, and told nobody"


def test_a_snapshot_counts_once_and_only_if_it_was_made(run: Run) -> None:
    trials = [replace(run.trials[0], timings_s=STEPS)]
    told = [("a", 10.0, True), ("a", 11.0, True), ("b", 5.0, True), ("c", 9.0, False)]
    journal = [
        Entry(number, 0, Kind.PREPARED, {"key": key, "seconds": seconds, "made": made})
        for number, (key, seconds, made) in enumerate(told)
    ]
    assert overhead(trials, journal).endswith("; preparing 2 snapshots took 15 s")


def test_records_without_steps_say_nothing(run: Run) -> None:
    assert overhead(run.trials, run.journal) == ""
