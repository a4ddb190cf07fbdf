"""Blocks whose servers take turns, simulated: one decision, trials that are committed together, slices that are kept.

The same study is run as in `test_crashes`, with the same events: here they befall a server in its second slice.
"""

import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import count, pairwise
from pathlib import Path

import pytest

from pgassay.design.schedule import rounds_of, turns
from pgassay.errors import UsageError
from pgassay.lab.catalogue import every_factor
from pgassay.lab.decisions import disagreements
from pgassay.lab.environment import Environment
from pgassay.lab.run import recorded_study
from pgassay.record.journal import Step, decisions_in
from pgassay.record.slices import SliceRecord, read_slices
from pgassay.record.values import Reason, TrialRecord
from pgassay.report.warnings import busy, lengthened
from pgassay.study.parsing import parse, parse_recorded
from pgassay.study.responses import Status
from tests.fakes.drive import FakeDrive
from tests.fakes.player import FakeMetronome
from tests.lab.machine import Event, Planned
from tests.lab.simulation import EVENTS, SEED, Simulation, ending, simulate, study_of

ALTERNATE = {"design": {"pairing": "alternate", "slice": "1s"}}
MISHAPS = {**EVENTS, ("50", 2, 2): Event.ABORT}
"""The treatment fails in the block that is run again, too: so it is dropped after the third block."""


@pytest.fixture(scope="module")
def alone(place: Path) -> Simulation:
    simulation = simulate(place, study=study_of(**ALTERNATE), events=MISHAPS)
    simulation.carry_on()
    return simulation


def of_block(simulation: Simulation, block: int, attempt: int = 1) -> dict[str, TrialRecord]:
    found = (each for each in simulation.run.trials if (each.block, each.attempt) == (block, attempt))
    return {each.treatment.rpartition("=")[2]: each for each in found}


def tps_of(slices: Sequence[SliceRecord]) -> float:
    return sum(each.transactions for each in slices) / sum(each.active_s + each.flush_s for each in slices)


def test_a_block_is_one_decision_and_all_its_trials(alone: Simulation) -> None:
    run = alone.run
    blocks = [each for each in decisions_in(run.journal) if each.step is Step.BLOCK]
    assert not any(each.step is Step.NEXT for each in decisions_in(run.journal))
    assert [(each.block, each.attempt) for each in blocks[:3]] == [(1, 1), (2, 1), (2, 2)]
    for decision in blocks:
        numbers = range(decision.trial, decision.trial + len(decision.arms))
        trials = [each for each in run.trials if each.number in numbers]
        assert [each.arm for each in trials] == list(decision.arms)
        assert {(each.block, each.attempt) for each in trials} == {(decision.block, decision.attempt)}
    assert disagreements(alone.study, run.header, run.trials, run.journal) == ()
    assert ending(alone)
    assert alone.machine.left_behind() == []


def test_servers_take_turns_in_balanced_order(alone: Simulation) -> None:
    trials = of_block(alone, 4)
    slices = {arm: read_slices(alone.run, trial.number) for arm, trial in trials.items()}
    names = {arm: trial.arm for arm, trial in trials.items()}
    assert len(slices) == 2, "one treatment has failed three times"
    for round_ in range(1, 9):
        seen = sorted((one.position, names[arm]) for arm, each in slices.items() for one in each if one.round == round_)
        assert [name for _, name in seen] == list(turns(SEED, 4, round_, list(names.values())))
    order = sorted((one.opened_ns, one.drained_ns) for each in slices.values() for one in each)
    assert all(before[1] <= after[0] for before, after in pairwise(order)), "one at a time"
    assert all(one.discarded == "" and one.transactions > 600 for each in slices.values() for one in each)


def test_a_trial_is_made_of_its_own_slices(alone: Simulation) -> None:
    trial = of_block(alone, 4)["90"]
    slices = read_slices(alone.run, trial.number)
    transactions, seconds = (
        sum(each.transactions for each in slices),
        sum(each.active_s + each.flush_s for each in slices),
    )
    assert trial.status is Status.VALID
    assert trial.responses["tps"] == pytest.approx(transactions / seconds)
    assert trial.responses["latency_ms"] == pytest.approx(1000 * seconds / transactions, rel=1e-3)
    assert trial.regime["pairing"] == "alternate"
    assert (trial.regime["slices"], trial.regime["rounds_left_out"]) == (8.0, 0.0)
    assert trial.regime["window_s"] == pytest.approx(8.0)


def test_a_failing_arm_ends_its_round_and_the_others_go_on(alone: Simulation) -> None:
    trials = of_block(alone, 1)
    assert {arm: each.status.value for arm, each in trials.items()} == {"100": "valid", "90": "valid", "50": "outcome"}
    assert [each.code for each in trials["50"].reasons] == ["aborted"]
    lost = read_slices(alone.run, trials["50"].number)
    assert len(lost) == 2
    assert lost[1].aborted
    for arm in ("100", "90"):
        slices = read_slices(alone.run, trials[arm].number)
        assert {each.round for each in slices} >= {1, 3, 4, 5, 6, 7, 8}
        assert [each.round for each in slices if each.discarded] in ([2], [])
        kept = [each for each in slices if not each.discarded and each.round != 2]
        assert trials[arm].responses["tps"] == pytest.approx(tps_of(kept))


def test_a_server_that_dies_before_its_slice_is_seen_by_the_lead_in(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that has ended is reported once, with what it played when it ended, and plays no more."""
    monkeypatch.setattr("tests.lab.machine.BEFORE_THE_SECOND", 4)
    simulation = simulate(place, study=study_of(**ALTERNATE), events={("50", 1, 1): Event.DEATH})
    simulation.carry_on()
    trials = of_block(simulation, 1)
    assert {arm: each.status.value for arm, each in trials.items()} == {"100": "valid", "90": "valid", "50": "outcome"}
    assert {"aborted", "server_died"} <= {each.code for each in trials["50"].reasons}
    assert [bool(each.aborted) for each in read_slices(simulation.run, trials["50"].number)] == [False, True]
    for arm in ("100", "90"):
        slices = read_slices(simulation.run, trials[arm].number)
        assert {each.round for each in slices if not each.discarded} >= {1, 3, 4, 5, 6, 7, 8}


def test_a_disturbed_block_is_run_again_as_a_whole(alone: Simulation) -> None:
    first, second = of_block(alone, 2), of_block(alone, 2, 2)
    assert {arm: each.status.value for arm, each in first.items()} == {
        "100": "invalid",
        "90": "invalid",
        "50": "outcome",
    }
    assert [each.code for each in first["100"].reasons] == ["clock_jump"]
    assert "7 of 8 rounds" in first["100"].reasons[0].detail
    assert {arm for arm, each in second.items() if each.status is Status.VALID} == {"100", "90"}
    assert first["90"].seed == first["100"].seed != second["90"].seed


def test_a_host_of_the_load_that_is_lost_costs_the_block_and_no_treatment(place: Path) -> None:
    simulation = simulate(place, study=study_of(**ALTERNATE), events={("90", 1, 1): Event.LOST})
    simulation.carry_on()
    for attempt, status in ((1, Status.INVALID), (2, Status.VALID)):
        assert {each.status for each in of_block(simulation, 1, attempt).values()} == {status}
    for each in of_block(simulation, 1).values():
        assert [(reason.code, reason.detail) for reason in each.reasons] == [("client_lost", "host client7 is gone")]
    assert simulation.machine.left_behind() == []
    assert ending(simulation)


def test_rounds_that_are_spoilt_are_left_out_and_kept(place: Path) -> None:
    """A clock that jumps once costs one round of every arm, and no trial."""
    simulation = simulate(place, study=study_of(**ALTERNATE), events={})
    machine = simulation.machine
    alone = simulate(place, study=study_of(**ALTERNATE), events={})
    alone.carry_on()
    plays = [number for number, name in enumerate(alone.machine.moments, start=1) if name == "sleep"]
    machine.jumps = {plays[12]: 5.0}
    simulation.carry_on()
    trials = of_block(simulation, 1)
    assert {each.status for each in trials.values()} == {Status.VALID}
    lost = {one.round for each in trials.values() for one in read_slices(simulation.run, each.number) if one.discarded}
    assert len(lost) == 1
    for each in trials.values():
        slices = read_slices(simulation.run, each.number)
        assert len(slices) == 8
        assert {one.round for one in slices if one.discarded} == lost
        kept = [one for one in slices if not one.discarded]
        assert each.responses["tps"] == pytest.approx(
            sum(one.transactions for one in kept) / sum(one.active_s + one.flush_s for one in kept)
        )
        assert each.regime["rounds_left_out"] == 1.0


@pytest.mark.parametrize(("every", "status"), [(1, Status.VALID), (4, Status.VALID)])
def test_other_programs_that_are_busy_all_the_time_discard_no_round(
    place: Path, monkeypatch: pytest.MonkeyPatch, every: int, status: Status
) -> None:
    """They slow all servers equally; where they are busy in few rounds, those are left out as before."""
    reasons = (Reason("foreign_cpu", "other programs used 90% of the CPU during the window"),)
    monkeypatch.setattr(
        "pgassay.lab.alternation.disturbances",
        lambda turn, most: reasons if turn.round % every == 0 and turn.position == 1 else (),
    )
    simulation = simulate(place, study=study_of(**ALTERNATE), events={})
    simulation.carry_on()
    assert ending(simulation)
    trials = simulation.run.trials
    assert {each.status for each in trials} == {status}
    lost = {one.round for each in trials for one in read_slices(simulation.run, each.number) if one.discarded}
    assert lost == ({4, 8} if every == 4 else set())
    assert {each.regime.get("rounds_busy") for each in trials} == ({None} if every == 4 else {8.0})
    said = list(busy(trials))
    assert said == [] if every == 4 else "slows all servers in turns equally" in said[0]


@pytest.mark.parametrize("code", ["steal", "clock_jump"])
def test_what_slows_no_server_equally_makes_a_block_invalid(
    place: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    monkeypatch.setattr("pgassay.lab.alternation.disturbances", lambda turn, most: (Reason(code, code),))
    simulation = simulate(place, study=study_of(**ALTERNATE), events={})
    simulation.carry_on()
    assert {each.status for each in simulation.run.trials} == {Status.INVALID}


def test_slices_that_prove_too_short_are_made_longer_and_the_record_says_so(place: Path) -> None:
    """Three transactions of a client in a second are too few; what was played by then is counted and not measured."""
    simulation = simulate(place, study=study_of(**ALTERNATE), events={}, speeds={"100": 3.0, "90": 1300.0, "50": 900.0})
    simulation.carry_on()
    assert ending(simulation)
    assert simulation.machine.left_behind() == []
    for trial in simulation.run.trials:
        slices = read_slices(simulation.run, trial.number)
        assert trial.status is Status.VALID
        assert (trial.regime["slice_too_short_s"], trial.regime["slice_s"]) == (1.0, 2.0)
        assert [each.round for each in slices] == list(range(1, rounds_of(8, 2.0) + 1))
        assert all(each.closed_ns - each.opened_ns >= 2 * 10**9 for each in slices)
        assert trial.responses["tps"] == pytest.approx(tps_of(slices))
        assert trial.regime["window_s"] == pytest.approx(8.0, rel=0.1)
    trials = simulation.run.trials
    damaged = replace(trials[0], regime={**trials[0].regime, "slice_too_short_s": "1 s", "slice_s": "2 s"})
    said = f"slices proved too short in {trials[-1].block} blocks and were made up to 2 s long: "
    for each in (trials, [damaged, *trials[1:]]):
        assert "".join(lengthened(each)).startswith(said)


def test_transactions_that_outlast_the_longest_slices_end_the_run_with_a_hint(place: Path) -> None:
    simulation = simulate(place, study=study_of(**ALTERNATE), events={}, speeds={"100": 0.1, "90": 1300.0, "50": 900.0})
    with pytest.raises(UsageError, match="slices of 10 s are too short for this load") as refused:
        simulation.carry_on()
    assert "--pairing sequential" in (refused.value.hint or "")
    assert simulation.machine.left_behind() == []
    assert simulation.run.trials == ()


@pytest.mark.parametrize(("speed", "slice_s"), [(1300.0, 0.25), (30.0, 0.5), (6.0, 2.0)])
def test_slices_are_longer_for_slow_transactions(place: Path, speed: float, slice_s: float) -> None:
    """Each client ends at least ten transactions in one; the slowest arm says how long they are for all."""
    study = study_of(design={"pairing": "alternate", "blocks": {"min": 5, "max": 5}})
    speeds = {"100": 1300.0, "90": 1300.0, "50": speed}
    simulation = simulate(place, study=study, events={}, speeds=speeds)
    simulation.carry_on()
    for trial in of_block(simulation, 1).values():
        assert trial.regime["slice_s"] == slice_s
        assert len(read_slices(simulation.run, trial.number)) == rounds_of(8, slice_s)


def test_records_that_did_not_say_how_long_turns_were_meant_a_second() -> None:
    document = {"factors": {"table.fillfactor": ["100", "90"]}, "design": {"pairing": "alternate"}}
    design = parse_recorded("before", document).design
    assert (design.slice_s, design.lead_in_s, design.slice_asked, design.placement) == (1.0, 0.1, True, "free")
    sooner = {**document, "design": {"pairing": "alternate", "slice": "0.25s", "lead_in": "0.05s"}}
    assert parse_recorded("before", sooner).design.placement == "free", "they did not say that either"
    now = parse("now", document, every_factor())
    again = parse_recorded("now", tomllib.loads(recorded_study(now, document)), every_factor())
    assert again.design == now.design, "a record says it, so that a resumed run does the same"
    explicit = {**document, "design": {"pairing": "alternate", "slice": "2s"}}
    assert parse_recorded("before", explicit).design.slice_s == 2.0


@pytest.mark.parametrize("planned", [Planned.INTERRUPT])
def test_ctrl_c_in_a_block_gives_everything_back(place: Path, alone: Simulation, planned: Planned) -> None:
    undisturbed = ending(alone)
    for moment in range(5, len(alone.machine.moments), 61):
        simulation = simulate(place, study=study_of(**ALTERNATE), events=MISHAPS)
        simulation.machine.planned = {moment: planned}
        try:
            simulation.carry_on()
        except KeyboardInterrupt:
            assert simulation.machine.left_behind() == [], alone.machine.moments[moment - 1]
            simulation.go_on()
        assert ending(simulation).trials == undisturbed.trials


def test_sequential_is_what_a_study_without_the_word_is() -> None:
    assert study_of().design.pairing == "sequential"
    assert study_of(**ALTERNATE).design.pairing == "alternate"


class WithMetronome(Simulation):
    """The machine itself is measured between turns, which takes time."""

    def environment(self) -> Environment:
        return replace(super().environment(), metronome=lambda place: FakeMetronome(self.machine.clock))


def test_the_budget_pays_for_all_that_a_block_takes(place: Path) -> None:
    """Steps of servers in turns do not overlap, and what is measured of the machine after each turn is among them."""
    simulation = WithMetronome(simulate(place).machine, study_of(**ALTERNATE), {})
    simulation.carry_on()
    trials = of_block(simulation, 2).values()
    took_s = (max(each.finished_wall_ns for each in trials) - min(each.started_wall_ns for each in trials)) / 1e9
    slices = [one for each in trials for one in read_slices(simulation.run, each.number)]
    assert {one.covariates["metronome_ns"] for one in slices} == {1e6}
    assert sum(each.length_s for each in trials) == pytest.approx(took_s, abs=0.004), "but for the first measurement"


def test_short_slices_are_written_back_once_a_second(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that waited for it after each quarter of a second would pay several times."""
    flushes: list[Path] = []
    monkeypatch.setattr(FakeDrive, "write_back", lambda drive, directory: flushes.append(directory))
    study = study_of(design={"pairing": "alternate", "blocks": {"min": 5, "max": 5}})
    simulate(place, study=study, events={}).carry_on()
    by_clone = Counter(flushes)
    assert len(by_clone) == 5 * 3
    after = "as cloned, after the warm-up, after the connections' first turn, each second"
    assert set(by_clone.values()) == {1 + 1 + 1 + 8}, after


def test_turns_share_the_time_of_the_writing_back_that_served_them(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also on a clock that goes on all the time, as a real one does: only what is written back takes part in it."""
    study = study_of(design={"pairing": "alternate", "blocks": {"min": 5, "max": 5}})
    simulation = simulate(place, study=study, events={})
    clock = simulation.machine.clock
    stands, readings = clock.monotonic_ns, count()
    monkeypatch.setattr(clock, "monotonic_ns", lambda: stands() + 100 * next(readings))
    monkeypatch.setattr(FakeDrive, "write_back", lambda drive, directory: clock.advance(0.04))
    simulation.carry_on()
    for trial in of_block(simulation, 1).values():
        assert {one.flush_ns // 10**6 for one in read_slices(simulation.run, trial.number)} == {10}, (
            "a quarter of 40 ms"
        )
