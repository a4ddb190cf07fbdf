"""Whether trials found the drives in the same state: told by their own counters, and by `check` where it is not so."""

from dataclasses import replace

from pgassay.record.check import Change, check, proven, state_changes, written_between
from pgassay.record.values import TrialRecord
from pgassay.study.findings import Severity
from pgassay.study.responses import Status
from tests.record.runs import RUN, create, fake_disk, series, stage, trial

KEPT, OTHER = "host_bytes_written 10, live_blocks 4", "host_bytes_written 12, live_blocks 4"


def found(number: int, state: str, status: Status = Status.VALID, source: str = "drive") -> TrialRecord:
    """Every second trial is of the same arm."""
    return replace(trial(number, status), regime={f"{source}.state_before": state} if state else {})


def test_the_same_state_in_each_block_is_proven() -> None:
    trials = [found(number, KEPT) for number in (1, 3, 5)] + [found(2, OTHER)]
    assert list(state_changes(trials)) == [], "another arm has a state of its own"
    assert proven(trials) == 4


def test_a_drive_that_was_made_again_is_named_once() -> None:
    trials = [found(number, state) for number, state in ((7, OTHER), (1, KEPT), (3, KEPT), (5, OTHER))]
    assert list(state_changes(trials)) == [Change(5, "drive", 3)]


def test_a_trial_that_does_not_count_and_a_drive_that_does_not_tell_say_nothing() -> None:
    trials = [found(1, KEPT), found(3, OTHER, Status.INVALID), found(5, ""), found(7, KEPT)]
    assert list(state_changes(trials)) == []
    assert proven(trials) == 2


def test_each_drive_has_a_state_of_its_own() -> None:
    trials = [found(1, KEPT), found(3, OTHER, source="drive_wal"), found(5, KEPT)]
    assert list(state_changes(trials)) == []


def test_a_real_drive_tells_how_much_it_was_sent_in_between() -> None:
    sent = [replace(trial(number), regime={"drive.host_bytes_before": 1e9 * number}) for number in (1, 3, 5)]
    assert written_between(sent) == 4e9
    assert written_between(sent[:1]) is None
    assert written_between([found(1, KEPT)]) is None


def test_check_notes_a_state_that_is_another() -> None:
    disk = fake_disk()
    with create(disk) as run:
        for number, state in ((1, KEPT), (2, KEPT), (3, OTHER)):
            run.commit_trial(stage(disk, run, number), found(number, state), series(number))
    notes = [(each.severity, each.where, each.text) for each in check(RUN, disk) if "state" in each.text]
    said = "drive did not start in the same state as trial 1: it was made again in between"
    assert notes == [(Severity.NOTE, "trial 3", said)]
