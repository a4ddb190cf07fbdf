"""What a plan takes from the user's calibrations: the noise of the nearest load, the length of this very one."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pgassay.analysis.forecast import resolution
from pgassay.analysis.power_cuts import epochs_below
from pgassay.cli.plan import forecast_lines, until_safe
from pgassay.design.horizon import plan as size_up
from pgassay.design.schedule import rounds_of
from pgassay.interfaces.places import Mount
from pgassay.lab.arms import resolve
from pgassay.lab.environment import Environment
from pgassay.lab.machine import (
    Nearest,
    forecast,
    known_noise,
    known_pace,
    known_trial_s,
    known_turns,
    nearest_calibrations,
    remember_lengths,
    setting_of,
    user_file,
)
from pgassay.lab.plan import ONE_AFTER_THE_OTHER, MethodForecast, forecast_of, known_methods, risk_forecast
from pgassay.load.pgbench.options import PgbenchOptions
from pgassay.record import calibrations
from pgassay.record.calibrations import TURNS, Calibration, NoiseRecord, TurnsRecord
from pgassay.record.disk import RealDisk
from pgassay.record.known import Pace
from pgassay.study.model import Design, Study
from tests.design._make import study as blocks_study
from tests.lab.machine import Machine
from tests.lab.simulation import Simulation, simulate, study_of

MOUNT = Mount(Path("/data"), Path("/"), "ext4", "/dev/sda1", "rw", 1 << 40, 1 << 39, False)
NOISE = {"tps": NoiseRecord(0.03, 0.02, 0.05, 0.0, 0.0, 0.03)}
WORK: Mapping[str, Any] = {"transactions": "1000", "duration": "1s"}


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Environment:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return replace(Simulation(Machine(tmp_path)).environment(), disk=RealDisk())


def calibrated(study: Study, environment: Environment, **load: str) -> None:
    """As `pgassay calibrate` of the study's load, with other options."""
    setting = setting_of(resolve(study, environment).arms[0], MOUNT)
    setting = replace(setting, load={**setting.load, **load})
    found = Calibration("2026-01-02T03:04:05Z", setting, 3, 5, 2, 17.5, 12.0, NOISE)
    calibrations.remember(environment.disk, user_file(), found)


def nearest(study: Study, environment: Environment, mount: Mount = MOUNT) -> Nearest:
    return nearest_calibrations(resolve(study, environment), mount)


def test_the_length_of_equal_work_is_known_where_this_very_load_was_calibrated(environment: Environment) -> None:
    study = study_of(load=WORK)
    assert known_trial_s(nearest(study, environment)) is None
    calibrated(study, environment)
    assert known_trial_s(nearest(study, environment)) == 17.5
    assert known_trial_s(nearest(study_of(load={**WORK, "transactions": "2000"}), environment)) is None


def test_a_calibration_that_kept_only_the_options_that_were_given_is_of_this_load_by_its_defaults(
    environment: Environment,
) -> None:
    study = study_of(load={**WORK, "cache": "prewarmed", "vacuum": "off"})
    whole = setting_of(resolve(study, environment).arms[0], MOUNT)
    defaults = PgbenchOptions().to_levels()
    needed = ("driver", "script")
    given = {name: text for name, text in whole.load.items() if name in needed or text != defaults.get(name)}
    assert "cache" not in given
    old = Calibration("2026-01-02T03:04:05Z", replace(whole, load=given), 3, 5, 2, 17.5, 12.0, NOISE)
    calibrations.remember(environment.disk, user_file(), old)
    assert known_trial_s(nearest(study, environment)) == 17.5
    cold = known_noise("tps", nearest(study_of(load={**WORK, "cache": "cold"}), environment))
    assert cold is not None
    assert cold.source == "calibrated 2026-01-02, with cache=prewarmed"


def test_noise_is_taken_from_the_nearest_load_and_says_how_that_differed(environment: Environment) -> None:
    study = study_of(load=WORK)
    calibrated(study, environment, clients="8")
    found = known_noise("tps", nearest(study, environment))
    assert found is not None
    assert found.found.noise == 0.03
    assert found.source == "calibrated 2026-01-02, with clients=8"
    assert known_trial_s(nearest(study, environment)) is None
    assert known_noise("tps", nearest(study, environment, replace(MOUNT, device="/dev/sdb1"))) is None


def in_turns(study: Study, environment: Environment, turns: TurnsRecord, host: str = "") -> None:
    """As a calibration of the study's load by which equal servers in turns came to this."""
    setting = setting_of(resolve(study, environment).arms[0], MOUNT)
    found = Calibration(
        "2026-01-02T03:04:05Z", replace(setting, host=host or setting.host), 3, 5, 2, 17.5, 12.0, NOISE,
        turns={TURNS: turns, "turns-realtime": QUICK},
    )  # fmt: skip
    calibrations.remember(environment.disk, user_file(), found)


USUAL = TurnsRecord(0.014, 0.01, 0.03, 0.1, 0.01, 0.04, 16.0, 5, 1.0)
QUICK = replace(USUAL, noise=0.007, noise_low=0.005, noise_high=0.012)
"""Of a way of taking turns that an earlier version had."""


def test_what_servers_in_turns_came_to_is_known(environment: Environment) -> None:
    study = study_of()
    assert known_turns("tps", nearest(study, environment)) is None
    in_turns(study, environment, USUAL)
    found = known_turns("tps", nearest(study, environment))
    assert found is not None
    assert (found.found, found.source) == (USUAL, "calibrated 2026-01-02, this load")
    other = study_of(responses={"primary": "latency_ms"})
    assert known_turns(other.primary, nearest(other, environment)) is None, "calibrations tell of tps alone"


def test_turns_of_another_machine_or_of_a_damaged_file_are_not_known(environment: Environment) -> None:
    study = study_of()
    in_turns(study, environment, USUAL, host="another machine")
    assert known_turns("tps", nearest(study, environment)) is None
    in_turns(study, environment, USUAL)
    assert known_turns("tps", nearest(study, environment, replace(MOUNT, device="/dev/sdb1"))) is None
    assert known_turns("tps", nearest(study, environment)) is not None
    user_file().write_bytes(user_file().read_bytes()[:-20])
    assert known_turns("tps", nearest(study, environment)) is None


def test_a_plan_forecasts_every_method_that_was_calibrated_and_is_valid(environment: Environment) -> None:
    study = study_of()
    resolved = resolve(study, environment)
    rounds = rounds_of(8.0, Design.slice_s)
    assert known_methods(resolved, nearest(study, environment), rounds) == ()
    calibrated(study, environment)
    (alone,) = known_methods(resolved, nearest(study, environment), rounds)
    assert (alone.method, alone.noise) == (ONE_AFTER_THE_OTHER, 0.03)
    in_turns(study, environment, USUAL)
    _, usual = known_methods(resolved, nearest(study, environment), rounds)
    assert usual.method == TURNS
    assert usual.noise == USUAL.noise_with(rounds), "not the rounds that were calibrated"
    forecast = forecast_of(usual, 5, comparisons=2)
    widths = [width for width in (forecast.low, forecast.width, forecast.high) if width is not None]
    assert len(widths) == 3
    assert widths == sorted(widths)
    assert forecast.width == resolution(usual.noise, 5, comparisons=2)
    assert forecast_of(usual, 4, comparisons=2).width is None, "too few for an interval"
    assert forecast_of(replace(usual, high=None), 5, comparisons=2).high is None
    refused = resolve(study_of(load={"checkpoint": "cycle"}), environment)
    (left,) = known_methods(refused, nearest(refused.study, environment), rounds)
    assert left.method == ONE_AFTER_THE_OTHER


def test_a_plan_says_its_forecasts_a_line_for_each_method() -> None:
    alone = MethodForecast(ONE_AFTER_THE_OTHER, 5, 0.104, 0.05, None, "calibrated 2026-01-02, this load")
    assert forecast_lines([alone]) == [], "the noise's own line says it"
    lines = forecast_lines([alone, MethodForecast(TURNS, 5, 0.0213, 0.011, 0.0512, "calibrated 2026-01-02, this load")])
    assert lines[0].startswith(
        "  forecast    one server after the other: about ±10 % (between ±5 and more) after 5 blocks"
    )
    assert "servers in turns: about ±2.1 % (between ±1.1 and 5.1 %) after 5 blocks; calibrated 2026-01-02" in lines[1]
    few = forecast_lines([MethodForecast(TURNS, 3, None, None, None, "calibrated")])
    assert "servers in turns: too few blocks for an interval after 3 blocks" in few[0]


def test_a_plan_says_how_many_cuts_a_bound_takes_and_what_ends_the_run_before() -> None:
    below, each, trial_s, first_s = 0.01, 40, 60.0, 30.0
    asked = blocks_study(2, blocks_max=1000)
    asked = replace(asked, design=replace(asked.design, risk_below=below))
    found = risk_forecast(asked, [each, each + 5], size_up(asked, trial_s, preparation_s=first_s), first_s)
    assert found is not None
    assert (found.blocks - 1) * each < epochs_below(below) <= found.cuts == found.blocks * each
    assert found.time_s == first_s + found.blocks * 2 * trial_s
    assert found.ends_first is None
    told = until_safe(found)
    assert f"{epochs_below(below):,} epochs without any, {found.cuts:,} cuts in {found.blocks} blocks, " in told
    short = replace(asked, design=replace(asked.design, blocks_max=7))
    ended = risk_forecast(short, [each], size_up(short, None), 0.0)
    assert ended is not None
    assert (ended.time_s, ended.ends_first) == (None, 7)
    assert until_safe(ended).endswith("blocks; the run ends before, after 7 blocks")


def test_a_plan_of_another_question_has_no_bound() -> None:
    asked = blocks_study(2)
    assert risk_forecast(asked, [0, 0], size_up(asked, None), 0.0) is None
    assert until_safe(None) == ""


def test_what_trials_took_here_is_remembered_for_the_next_plan(environment: Environment, place: Path) -> None:
    simulation = simulate(place)
    simulation.carry_on()
    resolved = resolve(study_of(), environment)
    assert known_pace(resolved) == Pace()
    expected = forecast(resolved)
    slow_s = expected.load_s + 4 * (expected.trial_s - expected.load_s)
    remember_lengths(resolved, [replace(each, timings_s={"measure": slow_s}) for each in simulation.run.trials], {})
    pace = known_pace(resolved)
    assert pace.trial == pytest.approx(4.0, rel=0.05)
    assert pace.runs == 1
    assert forecast(resolved, pace).trial_s == pytest.approx(slow_s, rel=0.05)
    assert known_pace(resolve(study_of(load={"maintenance": "on"}), environment)) == Pace(), (
        "other steps, another length"
    )


def test_a_run_does_not_fail_for_what_cannot_be_remembered(environment: Environment, place: Path) -> None:
    simulation = simulate(place)
    simulation.carry_on()
    user_file().parent.parent.mkdir(parents=True)
    user_file().parent.write_text("no directory")
    remember_lengths(resolve(study_of(), environment), simulation.run.trials, {})
    assert user_file().parent.read_text() == "no directory"
