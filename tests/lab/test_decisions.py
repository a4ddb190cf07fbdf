"""What is decided from a record: of two drives, where space is settled and speed is not; and when it is replayed."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import exp
from pathlib import Path
from typing import Any

import pytest

from pgassay.analysis.power_cuts import ServerAtCut
from pgassay.design import schedule
from pgassay.design.risk import AFTER, UNTRIED
from pgassay.design.schedule import Drop, FinishedTrial, RunBlock, RunTrial, Stop
from pgassay.lab.catalogue import every_factor
from pgassay.lab.decisions import decide, disagreements, history_of, preparation_s
from pgassay.record.journal import Entry, Kind, decisions_in, horizon_in
from pgassay.record.reading import Run
from pgassay.record.values import TrialRecord
from pgassay.study.model import Study
from pgassay.study.parsing import parse
from pgassay.study.responses import Status
from tests.lab.simulation import simulate, study_of
from tests.report.cut_runs import MET, SOUND, make_cuts
from tests.report.driven import BLOCKS, make_driven

CSD = "drive.data=csd, "


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_driven(tmp_path_factory.mktemp("driven") / "run")


def settling(run: Run, settle: tuple[str, ...]) -> Study:
    """The recorded study, with more blocks allowed than were run."""
    study = parse(run.header.study, run.study, every_factor())
    assert study.design.settle == ("qps",)
    return replace(study, design=replace(study.design, blocks_min=5, blocks_max=10, settle=settle))


def wandering(trials: tuple[TrialRecord, ...]) -> tuple[TrialRecord, ...]:
    """At FILLFACTOR 75 on the compressing drive speed wanders by a third from block to block."""
    return tuple(
        replace(
            trial, responses={**trial.responses, "qps": (trial.responses["qps"] or 0.0) * exp((-1) ** trial.block / 3)}
        )
        if trial.treatment == f"{CSD}table.fillfactor=75"
        else trial
        for trial in trials
    )


def decided(run: Run, study: Study) -> tuple[list[str], RunTrial | RunBlock | Stop]:
    """The arms that leave, and what comes then."""
    entries = [entry for entry in run.journal if entry.kind != Kind.FINISHED]
    gone: list[str] = []
    while True:
        found = decide(study, run.header, wandering(run.trials), entries)
        if not isinstance(found.decision, Drop):
            return gone, found.decision
        gone.append(found.decision.arm.name)
        entries.append(Entry(len(entries) + 1, 0, Kind.DECISION, found.written.as_data()))


def test_space_alone_ends_the_run(run: Run, tmp_path: Path) -> None:
    gone, last = decided(run, settling(run, ()))
    assert (gone, last) == ([], Stop("every verdict is settled"))


def test_open_speeds_keep_their_own_drives_trials_going(run: Run) -> None:
    study = settling(run, ("qps",))
    gone, last = decided(run, study)
    assert {name.split(", load")[0] for name in gone} == {
        f"drive.data=ssd, table.fillfactor={fill}" for fill in (100, 75)
    }
    assert isinstance(last, RunTrial)
    assert last.block == BLOCKS + 1
    assert last.arm.name.startswith(CSD)


def test_a_record_whose_reasons_are_in_an_older_versions_words_proves_its_schedule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulation = simulate(tmp_path)
    simulation.carry_on()
    run = simulation.run
    reasons = {each.reason for each in decisions_in(run.journal) if each.reason}
    assert len(reasons) == 2, "a treatment leaves, and the run ends"
    monkeypatch.setattr(schedule, "_FAILING", "failed 3 times")
    monkeypatch.setattr(schedule, "_ALL_SETTLED", "nothing is left to learn")
    assert disagreements(simulation.study, run.header, run.trials, run.journal) == ()
    monkeypatch.setattr(schedule, "_FAILING", "settled: it is slower")
    assert disagreements(simulation.study, run.header, run.trials, run.journal), "another reason, not other words"


@pytest.mark.parametrize(("rule", "fixed"), [(1, None), (2, (13, 13))])
def test_a_record_is_decided_and_replayed_by_the_rule_that_it_began_with(
    tmp_path: Path, rule: int, fixed: tuple[int, int] | None
) -> None:
    study = study_of(design={"resolution": "0.001%", "blocks": {"min": 5, "max": 30}, "budget": "270s"})
    simulation = simulate(tmp_path, study=study, rule=rule)
    simulation.carry_on()
    run = simulation.run
    assert horizon_in(run.journal) == fixed
    assert sum(bool(each.horizon) for each in decisions_in(run.journal)) == (fixed is not None)
    assert disagreements(study, run.header, run.trials, run.journal) == ()
    other = replace(run.header, rule=3 - rule)
    assert disagreements(study, other, run.trials, run.journal), "the other rule would have decided otherwise"


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


def test_power_cuts_end_a_run_by_their_own_bound(tmp_path: Path) -> None:
    """Five blocks of eight sound cuts leave a bound of 8.5 %; damage ends an arm whatever was asked."""
    run = make_cuts(tmp_path / "run", design={"risk_below": "10%", "blocks": "5..9"})
    study = parse(run.header.study, run.study, every_factor())
    entries = [entry for entry in run.journal if entry.kind != Kind.FINISHED]
    found = decide(study, run.header, run.trials, entries)
    assert found.decision == Stop("every verdict is settled")
    stricter = replace(study, design=replace(study.design, risk_below=0.01))
    gone, last = [], decide(stricter, run.header, run.trials, entries)
    while isinstance(last.decision, Drop):
        gone.append(last.decision)
        entries.append(Entry(len(entries) + 1, 0, Kind.DECISION, last.written.as_data()))
        last = decide(stricter, run.header, run.trials, entries)
    assert isinstance(last.decision, RunTrial)
    assert last.decision.block == 6
    assert all(each.reason.startswith("settled: unsafe") for each in gone)
    assert len(gone) == 4
    assert stricter.design.baseline.name not in {each.arm.name for each in gone}


@pytest.mark.parametrize(
    ("met", "left_out", "ends"),
    [
        ([MET], (), True),
        ([replace(MET, checkpoints=0)], (), False),
        ([None], (), False),
        ([MET, None], (), False),  # one cut of twelve counts
        # Of earlier versions, whose decisions stay as they were.
        ([MET, None], (AFTER,), True),
        ([None], (AFTER, UNTRIED), True),
    ],
)
def test_a_bound_ends_a_run_only_where_the_cuts_met_what_damage_takes(
    tmp_path: Path, met: Sequence[ServerAtCut | None], left_out: Sequence[str], ends: bool
) -> None:
    cuts = [replace(SOUND, epoch=place, met=met[min(place, len(met) - 1)]) for place in range(12)]
    run = make_cuts(tmp_path / "run", lambda arm: cuts, design={"risk_below": "40%", "blocks": "5..9"})
    study = parse(run.header.study, run.study, every_factor())
    trials = [
        replace(each, responses={name: value for name, value in each.responses.items() if name not in left_out})
        for each in run.trials
    ]
    found = decide(study, run.header, trials, [entry for entry in run.journal if entry.kind != Kind.FINISHED])
    assert found.written.reason.startswith("settled: safe") is ends
    assert isinstance(found.decision, RunTrial) is not ends
