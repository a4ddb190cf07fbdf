"""What a run knows of itself: time used, lengths expected, arms out of play; all of it from the record."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from pgassay.design.history import FinishedTrial
from pgassay.lab.decisions import history_of, preparation_s
from pgassay.lab.forecast import OVERHEAD_S, length_known, planned_s
from pgassay.record.journal import Entry, Kind
from pgassay.record.values import TrialRecord
from pgassay.study.responses import Status
from tests.lab.simulation import study_of


def trial(number: int, fillfactor: str, seconds: float, status: Status = Status.VALID, attempt: int = 1) -> TrialRecord:
    return TrialRecord(
        number=number,
        block=1,
        attempt=attempt,
        treatment=f"table.fillfactor={fillfactor}",
        condition="",
        covariate="load.clients=4",
        levels={},
        status=status,
        started_wall_ns=number * 10**12,
        finished_wall_ns=0,  # the wall clock was set back
        responses={},
        timings_s={"clone": 1.0, "measure": seconds - 1.0},
    )


def entry(seq: int, kind: Kind, **data: Any) -> Entry:
    found: Mapping[str, Any] = data
    return Entry(seq, 0, kind.value, found)


def test_a_trial_took_the_sum_of_its_steps_whatever_the_wall_clock_says() -> None:
    assert trial(1, "100", 9.0).length_s == 9.0


def test_a_trial_without_timed_steps_took_what_the_wall_clock_says() -> None:
    assert replace(trial(1, "100", 9.0), timings_s={}, finished_wall_ns=10**12 + 5 * 10**9).length_s == 5.0


def test_a_snapshot_made_again_after_a_pause_counts_once() -> None:
    lines = [
        entry(1, Kind.PREPARED, key="a", seconds=3.0),
        entry(2, Kind.PREPARED, key="a", seconds=4.0),
        entry(3, Kind.PREPARED, key="b", seconds=0.5),
    ]
    assert preparation_s(lines) == 3.5


def test_the_history_is_what_was_committed_and_what_was_dropped() -> None:
    trials = [trial(1, "100", 10.0), trial(2, "90", 12.0, Status.INVALID), trial(3, "90", 14.0, attempt=2)]
    drop = {"step": "drop", "inputs_sha256": "", "clock_s": 0.0, "budget_used_s": 0.0, "arm": "x", "reason": "failed"}
    lines = [entry(1, Kind.PREPARED, key="a", seconds=3.0), entry(2, Kind.DECISION, **drop)]
    history = history_of(study_of(), trials, lines)
    assert history.trials[1] == FinishedTrial(1, "table.fillfactor=90, load.clients=4", 1, Status.INVALID)
    assert history.drops == {"x": "failed"}
    assert history.elapsed_s == pytest.approx(39.0)
    assert history.trial_s == {trials[0].arm: 10.0, trials[1].arm: 13.0}


def test_before_the_first_trial_its_length_is_taken_from_the_study() -> None:
    assert planned_s(study_of()) == 8 + 1 + OVERHEAD_S
    varied = study_of(load={"duration": "20s", "warmup": "0s"})
    assert planned_s(varied) == 20 + OVERHEAD_S


def test_a_count_of_transactions_tells_no_length() -> None:
    assert length_known(study_of())
    assert not length_known(study_of(load={"transactions": "100"}))
    assert length_known(study_of(load={"duration": "20s", "transactions": "none"}))
