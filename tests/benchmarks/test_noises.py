"""Simulated machines are what they are called, and the ways to measure on them do what they should."""

import numpy as np
import pytest

from benchmarks.validity.noises import STEP_S, accepted, machine, measured, rows, wandering

pytestmark = pytest.mark.thorough


def test_one_over_f_noise_has_the_asked_spread_and_a_long_memory() -> None:
    speed = wandering(np.random.default_rng(1), 400, 120.0, 0.15)
    assert speed.std() == pytest.approx(0.15, rel=0.1)
    lag = int(30 / STEP_S)
    correlation = np.corrcoef(speed[:, 0], speed[:, lag])[0, 1]
    assert 0.2 < correlation < 0.8


def test_a_competitor_only_slows_down() -> None:
    rng = np.random.default_rng(2)
    assert machine("bursts", rng, 200, 60.0).mean() < machine("instance", rng, 200, 60.0).mean() - 0.05


def test_taking_turns_and_adjusting_remove_what_the_machine_does_and_not_what_a_start_brings() -> None:
    def spread(kind: str, *, alternating: bool, adjusted: bool) -> float:
        values, clock = measured(kind, 2, 300, np.random.default_rng(3), alternating=alternating)
        seen = values - clock if adjusted else values
        return float((seen[:, :, 1] - seen[:, :, 0]).std())

    raw = spread("1/f", alternating=False, adjusted=False)
    assert spread("1/f", alternating=True, adjusted=False) < raw / 2
    assert spread("1/f", alternating=False, adjusted=True) < raw / 4
    start = spread("instance", alternating=False, adjusted=False)
    assert spread("instance", alternating=True, adjusted=True) > 0.9 * start


def test_a_metronome_is_shown_untouched_only_where_it_hardly_matters() -> None:
    _, noisy = measured("1/f", 2, 300, np.random.default_rng(4), alternating=False)
    _, quiet = measured("instance", 2, 300, np.random.default_rng(4), alternating=True)
    assert accepted(noisy).mean() < 0.05
    assert accepted(quiet).mean() > 0.9


def test_no_way_errs_too_often_on_a_bimodal_machine() -> None:
    found = list(rows(400, 1, ("two states",)))
    assert len(found) == 3 * 4
    assert not [row for row in found if row.broken]
