"""What may befall a trial, and what becomes of it: repeated, reported, dropped and named, or the end of the run."""

from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.interfaces.errors import ClusterError, DriveError, SpaceError
from pgassay.lab.decisions import disagreements
from pgassay.lab.runner import Watcher
from pgassay.lab.trial_state import Assignment
from pgassay.record.errors import RecordError
from pgassay.record.journal import Decision, Step
from pgassay.record.values import TrialRecord
from pgassay.study.responses import Status
from tests.fakes.disk import Survival
from tests.lab.machine import Event
from tests.lab.simulation import RUN, Simulation, ending, simulate, study_of

TWO = {"factors": {"table.fillfactor": ["100", "90"]}}


def trials_of(simulation: Simulation, fillfactor: str, block: int | None = None) -> list[TrialRecord]:
    return [
        trial
        for trial in simulation.run.trials
        if trial.treatment == f"table.fillfactor={fillfactor}" and block in (None, trial.block)
    ]


def drops(simulation: Simulation) -> list[Decision]:
    return [each for each in ending(simulation).decisions if each.step is Step.DROP]


def test_a_quiet_run_settles_and_gives_everything_back(place: Path) -> None:
    simulation = simulate(place, events={})
    simulation.carry_on()
    assert {trial.status for trial in simulation.run.trials} == {Status.VALID}
    assert ending(simulation).reason == "every verdict is settled"
    assert simulation.machine.left_behind() == []
    first = simulation.run.trials[0]
    assert list(first.timings_s) == ["clone", "start", "settle", "measure", "stop", "give_back"]
    assert first.timings_s["measure"] == pytest.approx(9.0)
    assert first.regime["cache"] == "prewarmed (pg_prewarm)"
    assert all(level.read_back == level.canonical for level in first.levels.values() if level.read_back is not None)
    assert first.levels["table.fillfactor"].read_back is not None
    assert first.levels["load.duration"].read_back == "8s"


@pytest.mark.parametrize("cache", ["cold", "prewarmed"])
def test_what_caches_hold_is_recorded_where_a_window_begins_cold(place: Path, cache: str) -> None:
    simulation = simulate(place, study=study_of(load={"cache": cache}))
    simulation.carry_on()
    held = "cached.pgbench_accounts.page_cache_share", "cached.pgbench_accounts.buffers_share"
    assert [{*held} & {*trial.counters} for trial in simulation.run.trials] == [
        {*held} if cache == "cold" else set() for _ in simulation.run.trials
    ]


def test_a_trial_made_invalid_from_outside_is_kept_and_repeated_at_the_end_of_its_block(place: Path) -> None:
    simulation = simulate(place, study=study_of(**TWO), events={("90", 2, 1): Event.CLOCK_JUMP})
    simulation.carry_on()
    invalid, again = trials_of(simulation, "90", block=2)
    assert (invalid.status, invalid.attempt, invalid.reasons[0].code) == (Status.INVALID, 1, "clock_jump")
    assert (again.status, again.attempt) == (Status.VALID, 2)
    assert again.number == max(trial.number for trial in simulation.run.trials if trial.block == 2)
    assert invalid.seed != again.seed


def test_after_three_attempts_an_invalid_trial_is_left_out(place: Path) -> None:
    events = {("90", 1, attempt): Event.CLOCK_JUMP for attempt in (1, 2, 3)}
    simulation = simulate(place, study=study_of(**TWO), events=events)
    simulation.carry_on()
    assert [trial.status for trial in trials_of(simulation, "90", block=1)] == [Status.INVALID] * 3
    assert max(trial.block for trial in simulation.run.trials) == 6, "five blocks without the invalid one"


@pytest.mark.parametrize(("event", "codes"), [(Event.ABORT, ["aborted"]), (Event.DEATH, ["aborted", "server_died"])])
def test_a_treatments_own_failure_is_an_outcome_and_is_not_repeated(
    place: Path, event: Event, codes: list[str]
) -> None:
    simulation = simulate(place, events={("90", 1, 1): event})
    simulation.carry_on()
    (failed,) = trials_of(simulation, "90", block=1)
    assert failed.status is Status.OUTCOME
    assert [reason.code for reason in failed.reasons] == codes
    assert drops(simulation) == [each for each in drops(simulation) if "failed" not in each.reason]
    assert simulation.machine.left_behind() == []


def test_a_treatment_that_keeps_failing_is_dropped_and_named_and_the_study_goes_on(place: Path) -> None:
    simulation = simulate(place, events={("50", block, 1): Event.ABORT for block in range(1, 7)})
    simulation.carry_on()
    assert len(trials_of(simulation, "50")) == 3
    dropped = drops(simulation)[0]
    assert (dropped.arm, dropped.reason) == ("table.fillfactor=50", "3 trials in a row failed because of its settings")
    assert len(trials_of(simulation, "90")) == 5
    assert ending(simulation).reason == "every verdict is settled"


def test_a_baseline_that_keeps_failing_ends_the_run(place: Path) -> None:
    simulation = simulate(place, events={("100", block, 1): Event.ABORT for block in range(1, 7)})
    simulation.carry_on()
    assert ending(simulation).reason == (
        "the baseline (table.fillfactor=100) failed 3 times in a row because of its settings"
    )
    assert max(trial.block for trial in simulation.run.trials) == 3


def test_no_room_for_a_clone_is_an_outcome(place: Path) -> None:
    simulation = simulate(place, study=study_of(**TWO), events={})
    simulation.machine.drive.full = {"trial-000003": SpaceError("too little room", "free some")}
    simulation.carry_on()
    failed = simulation.run.trials[2]
    assert (failed.status, failed.reasons[0].code, failed.responses) == (Status.OUTCOME, "no_space", {})
    assert failed.timings_s["clone"] == 0.0
    assert sum(trial.status is Status.OUTCOME for trial in simulation.run.trials) == 1


def test_any_other_fault_of_the_drive_ends_the_run_and_keeps_what_is_committed(place: Path) -> None:
    simulation = simulate(place, study=study_of(**TWO), events={})
    simulation.machine.drive.full = {"trial-000003": DriveError("the drive is gone")}
    with pytest.raises(DriveError):
        simulation.carry_on()
    assert [trial.number for trial in simulation.run.trials] == [1, 2]
    assert simulation.run.journal[-1].data == {"reason": "the drive is gone"}
    simulation.machine.drive.full = {}
    before = simulation.committed()
    simulation.go_on()
    assert {path: simulation.committed().get(path) for path in before} == before


def test_a_server_that_does_not_start_is_an_outcome(place: Path) -> None:
    simulation = simulate(place, study=study_of(**TWO), events={})

    class FailsOnce(Watcher):
        def trial_started(self, assignment: Assignment) -> None:
            if assignment.number == 2:
                simulation.machine.installation.start_failures = ["out of shared memory"]

    simulation.watcher = FailsOnce()
    simulation.carry_on()
    failed = simulation.run.trials[1]
    assert failed.status is Status.OUTCOME
    assert [(reason.code, reason.detail) for reason in failed.reasons] == [
        ("not_started", "server did not start: out of shared memory")
    ]
    assert simulation.machine.left_behind() == []


def of_initdb(place: Path, baseline: str) -> Simulation:
    """Two treatments that differ by an option of initdb; initdb fails with checksums on."""
    study = study_of(
        factors={"init.data_checksums": ["off", "on"]},
        fixed={"table.fillfactor": "100"},
        design={"baseline": {"init.data_checksums": baseline}},
    )
    simulation = simulate(place, study=study, events={})
    simulation.machine.installation.initdb_failures = {"on": ClusterError("initdb failed: no checksums here")}
    return simulation


def test_a_treatment_whose_initdb_fails_is_an_outcome_and_is_dropped(place: Path) -> None:
    simulation = of_initdb(place, baseline="off")
    simulation.carry_on()
    failed = [trial for trial in simulation.run.trials if trial.treatment == "init.data_checksums=on"]
    assert [trial.status for trial in failed] == [Status.OUTCOME] * 3
    assert {(reason.code, reason.detail) for trial in failed for reason in trial.reasons} == {
        ("not_prepared", "initdb failed: no checksums here")
    }
    assert drops(simulation)[0].arm == "init.data_checksums=on"
    assert simulation.machine.left_behind() == []


def test_a_baseline_whose_initdb_fails_ends_the_run_at_once(place: Path) -> None:
    simulation = of_initdb(place, baseline="on")
    with pytest.raises(ClusterError, match="no checksums here"):
        simulation.carry_on()
    assert {trial.block for trial in simulation.run.trials} <= {1}
    assert simulation.machine.left_behind() == []


def test_a_full_record_is_no_outcome_of_the_treatment(place: Path) -> None:
    """The disk of the record fills up while the load writes its output there: the run stops, the trial is run again."""
    simulation = simulate(place, study=study_of(**TWO), events={})
    simulation.machine.full_output = 3
    with pytest.raises(RecordError) as caught:
        simulation.carry_on()
    assert "the load's output of trial" in caught.value.message
    assert "full" in str(caught.value.hint)
    assert simulation.machine.left_behind() == []
    simulation.go_on()
    assert {trial.status for trial in simulation.run.trials} == {Status.VALID}


def test_a_journal_replays_to_the_same_schedule(place: Path) -> None:
    simulation = simulate(place)
    simulation.carry_on()
    run = simulation.run
    assert disagreements(simulation.study, run.header, run.trials, run.journal) == ()


def test_a_replay_tells_a_forged_trial_and_a_moved_decision(place: Path) -> None:
    simulation = simulate(place)
    simulation.carry_on()
    run = simulation.run
    wild = [replace(trial, responses={"tps": 1000.0 + trial.number % 5 * 100}) for trial in run.trials]
    assert disagreements(simulation.study, run.header, wild, run.journal), "no arm would have been settled"
    assert disagreements(simulation.study, replace(run.header, seed=8), run.trials, run.journal)
    fewer = [trial for trial in run.trials if trial.number != 4]
    assert disagreements(simulation.study, run.header, fewer, run.journal)


def test_a_prepared_snapshot_of_an_earlier_run_is_used_again(place: Path) -> None:
    """And costs no time: the journal says that it was there."""
    simulation = simulate(place, study=study_of(**TWO), events={})
    simulation.carry_on()
    simulation.machine.disk.reboot(Survival.KILLED)
    simulation.machine.disk.rename(RUN, RUN.with_name("earlier"))
    simulation.carry_on()
    prepared = [entry.data for entry in simulation.run.journal if entry.kind == "prepared"]
    assert [(each["made"], each["seconds"]) for each in prepared] == [(False, 0.0)] * 2
