"""Planted noise, drift and a slow first run are found again; what cannot be told says why."""

from math import exp, isnan

import numpy as np
import pytest

from pgassay.analysis.calibration import Measured, Noise, noise_of, shares


def _session(
    seed: int, *, clusters: int = 3, blocks: int = 12, runs: int = 2, drift_per_h: float = 0.0, slow: float = 0.0
) -> list[Measured]:
    chance = np.random.default_rng(seed)
    luck = chance.normal(0.0, 0.01, clusters)
    found = []
    for block in range(blocks):
        for cluster in range(clusters):
            restart = chance.normal(0.0, 0.02)
            for run in range(runs):
                hours = block * 0.02 + cluster * 0.005 + run * 0.002
                logarithm = luck[cluster] + restart + drift_per_h * hours - (slow if run == 0 else 0.0)
                value = 1000.0 * exp(logarithm + chance.normal(0.0, 0.01))
                found.append(Measured(cluster + 1, block + 1, run + 1, hours, value))
    return found


def _noise(measured: list[Measured]) -> Noise:
    found = noise_of("tps", measured)
    assert isinstance(found, Noise)
    return found


def test_noise_drift_and_first_run_are_found() -> None:
    found = _noise(_session(1, drift_per_h=-2.0, slow=0.1))
    assert found.noise_low < 0.0005**0.5 < found.noise_high
    assert found.noise == pytest.approx(0.0005**0.5, rel=0.35)
    assert found.hours == pytest.approx(11 * 0.02)
    assert found.drift.low < exp(-2.0 * found.hours) - 1 < found.drift.high < 0.0
    first = exp(-0.1 + 2.0 * 0.002) - 1  # the later run came 0.002 h down the drift
    assert found.first_run.low < first < found.first_run.high < -0.05
    assert found.mean == pytest.approx(1000, rel=0.35)
    assert sum(shares(found.components).values()) == pytest.approx(1.0)


def test_intervals_cover_what_is_not_there() -> None:
    drifts = firsts = 0
    for seed in range(300):
        found = _noise(_session(100 + seed))
        drifts += found.drift.low <= 0.0 <= found.drift.high
        firsts += found.first_run.low <= 0.0 <= found.first_run.high
    assert drifts >= 275
    assert firsts >= 275


def test_a_block_with_a_gap_is_left_out_by_name() -> None:
    measured = _session(2)
    holed = [each for each in measured if (each.cluster, each.block, each.run) != (2, 5, 1)]
    holed = [Measured(e.cluster, e.block, e.run, e.hours, None if e.block == 7 else e.value) for e in holed]
    found = _noise(holed)
    assert found.components.restarts == 10
    assert [text.partition(":")[0] for text in found.left_out] == ["block 5", "block 7"]


def test_too_few_say_so() -> None:
    assert "at least two" in str(noise_of("tps", _session(3, blocks=1)))
    assert "at least two" in str(noise_of("tps", []))
    assert isnan(_noise(_session(3, blocks=2)).drift.estimate)
