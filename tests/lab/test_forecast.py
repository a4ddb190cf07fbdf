"""What a plan says that a run will take, beside what real runs took."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.lab.alternation import CONNECTION_S
from pgassay.lab.arms import resolve, setup_of
from pgassay.lab.catalogue import every_factor
from pgassay.lab.machine import (
    OVERHEAD_S,
    PREPARATION_S,
    TRIAL_S,
    TURN_S,
    Forecast,
    forecast,
    length_known,
    planned_s,
    times_expected,
)
from pgassay.load.drivers import make
from pgassay.record.known import Pace
from pgassay.study.model import Study
from pgassay.study.parsing import parse
from tests.lab.machine import Machine
from tests.lab.simulation import Simulation, fake_site, simulate, study_of
from tests.load.loads import fake_tools

SETTINGS = {"server.work_mem": ["4MB", "8MB"]}


"""Two treatments that share one snapshot."""


PUBLISHED = {"scale": "100", "duration": "66s", "warmup": "5s", "maintenance": "on", "checkpoint": "cycle"}


def _shared(load: Mapping[str, str]) -> Study:
    return study_of(factors=SETTINGS, load=load, design={"baseline": {"server.work_mem": "4MB"}})


def test_page_sizes_at_scale_100_take_what_a_quiet_machine_took(tmp_path: Path) -> None:
    """The trials of two runs took 80 to 95 s, 83 s on average, and their snapshots 8.8 to 14.5 s each."""
    found = forecast(Simulation(Machine(tmp_path), _shared(PUBLISHED)).resolved())
    assert found.load_s == 71.0
    assert found.trial_s == pytest.approx(83.0, abs=1.0)
    assert found.preparation_s == pytest.approx(12.3, abs=0.4)


def test_scale_20_without_upkeep_takes_little_beside_its_load(tmp_path: Path) -> None:
    """Sixty trials took 2.2 to 3.3 s beside their load, of which one second was a yardstick's; their snapshot 3.0 s."""
    found = forecast(Simulation(Machine(tmp_path), _shared({"scale": "20"})).resolved())
    assert 1.2 <= found.trial_s - found.load_s <= 2.3
    assert found.preparation_s == pytest.approx(3.0, abs=0.3)


def test_each_fillfactor_has_a_snapshot_of_its_own_size(tmp_path: Path) -> None:
    environment = Simulation(Machine(tmp_path)).environment()
    one = forecast(resolve(_shared({}), environment))
    three = forecast(resolve(study_of(), environment))
    assert three.preparation_s > 3 * one.preparation_s > 3 * PREPARATION_S
    assert three.trial_s > one.trial_s > one.load_s + TRIAL_S


def test_a_snapshot_that_is_kept_is_not_made_again(tmp_path: Path) -> None:
    simulation = simulate(tmp_path)
    assert forecast(simulation.resolved()).preparation_s > 0.0
    simulation.carry_on()
    assert forecast(simulation.resolved()).preparation_s == 0.0


def test_servers_in_turns_take_what_comes_between_their_turns(tmp_path: Path) -> None:
    """Three servers of 32 slices took 64 s a block, 21 s each, of which their plan had said 11."""
    load = {"scale": "20", "duration": "8s", "warmup": "1s"}
    environment = Simulation(Machine(tmp_path)).environment()
    alone, turned = (
        forecast(resolve(study_of(load=load, design={"pairing": pairing}), environment))
        for pairing in ("sequential", "alternate")
    )
    assert turned.trial_s == pytest.approx(alone.trial_s + CONNECTION_S + 32 * TURN_S)
    assert 16.0 < turned.trial_s < 24.0


def test_a_plan_is_as_slow_as_past_runs_were_here_and_load_stays_as_it_is(tmp_path: Path) -> None:
    resolved = Simulation(Machine(tmp_path), _shared({"scale": "20"})).resolved()
    once, thrice = forecast(resolved), forecast(resolved, Pace(3.0, 2.0))
    assert thrice.load_s == once.load_s
    assert thrice.trial_s - thrice.load_s == pytest.approx(3.0 * (once.trial_s - once.load_s))
    assert thrice.preparation_s == pytest.approx(2.0 * once.preparation_s)


def test_a_run_tells_how_many_times_as_long_as_expected_it_took(tmp_path: Path) -> None:
    simulation = simulate(tmp_path)
    resolved = simulation.resolved()
    expected = forecast(resolved)
    simulation.carry_on()
    trials = simulation.run.trials
    twice_s = expected.load_s + 2 * (expected.trial_s - expected.load_s)
    slow = [replace(each, timings_s={"measure": twice_s}) for each in trials]
    key = resolved.arms[0].snapshot_key
    found = times_expected(resolved, slow, {key: 5 * expected.preparation_s / len(resolved.arms), "of another": 9.0})
    assert found is not None
    assert list(found) == pytest.approx([2.0, 5.0], rel=0.1), "arms are of different sizes"
    assert times_expected(resolved, slow, {}) == (found[0], None)
    assert times_expected(resolved, [], {}) is None
    counted = Simulation(Machine(tmp_path), study_of(load={"transactions": "100"})).resolved()
    assert times_expected(counted, slow, {}) is None, "a load that ends with its work has no length to go by"


def test_a_file_that_each_clone_gets_is_laid_out_in_each_trial_and_not_cloned() -> None:
    def found(pattern: str, file_size: str) -> Forecast:
        load = {"driver": "fio", "pattern": pattern, "file_size": file_size, "duration": "10s", "warmup": "1s"}
        study = parse("disk", {"factors": SETTINGS, "load": load}, every_factor())
        return forecast(resolve(study, fake_site(load=lambda options, installation: make(options, fake_tools()))))

    small, large, created = found("write", "1GB"), found("write", "50GB"), found("seqwr", "50GB")
    assert small.layout_bytes == 1 << 30
    assert large.layout_s == pytest.approx(50 * small.layout_s)
    assert large.trial_s - large.layout_s == pytest.approx(small.trial_s - small.layout_s), "an empty cluster is cloned"
    assert (created.layout_s, created.layout_bytes) == (0.0, 0)
    assert created.trial_s == pytest.approx(large.trial_s - large.layout_s)


def test_before_the_first_trial_its_length_is_taken_from_the_study() -> None:
    assert planned_s(study_of()) == 8 + 1 + OVERHEAD_S
    varied = study_of(load={"duration": "20s", "warmup": "0s"})
    assert planned_s(varied) == 20 + OVERHEAD_S


def test_a_count_of_transactions_tells_no_length() -> None:
    def known(load: Mapping[str, str]) -> bool:
        study = study_of(load=load)
        return length_known(setup_of(study, arm, every_factor()).load for arm in study.arms)

    assert known({})
    assert not known({"transactions": "100"})
    assert known({"duration": "20s", "transactions": "none"})
