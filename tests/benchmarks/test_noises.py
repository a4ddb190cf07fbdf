"""Simulated machines are what they are called, and the ways to measure on them do what they should."""

import numpy as np
import pytest

from benchmarks.validity.noises import MACHINES, STEP_S, machine, measured, rows, wandering

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


def test_taking_turns_removes_what_the_machine_does_and_not_what_a_start_brings() -> None:
    def spread(kind: str, *, alternating: bool) -> float:
        seen = measured(kind, 2, 300, np.random.default_rng(3), alternating=alternating)
        return float((seen[:, :, 1] - seen[:, :, 0]).std())

    assert spread("1/f", alternating=True) < spread("1/f", alternating=False) / 2
    assert spread("instance", alternating=True) > 0.9 * spread("instance", alternating=False)


def test_neither_way_errs_too_often_on_a_bimodal_machine() -> None:
    found = list(rows(400, 1, ("two states",), (3,)))
    assert [row.way for row in found] == ["sequential", "in turns"]
    assert not [row for row in found if row.broken]


@pytest.mark.slow
@pytest.mark.parametrize("kind", MACHINES)
def test_neither_way_errs_too_often_on_any_machine(kind: str) -> None:
    assert not [row for row in rows(600, 2, (kind,)) if row.broken]
