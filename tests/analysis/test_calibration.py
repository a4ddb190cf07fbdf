"""Planted noise, drift, variances and a slow first run are recovered; what cannot be given says why."""

from math import exp, isnan, sqrt

import numpy as np
import pytest

from pgassay.analysis.calibration import Components, Measured, Noise, noise_of, shares, variance_components


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


def _planted(
    chance: np.random.Generator, shape: tuple[int, int, int], cluster: float, restart: float, run: float, drift: float
) -> Components:
    clusters, restarts, _ = shape
    values = np.full(shape, 7.0)
    values += chance.normal(0.0, cluster, (clusters, 1, 1))
    values += chance.normal(0.0, restart, (clusters, restarts, 1))
    values += chance.normal(0.0, run, shape)
    values += drift * np.arange(restarts)[None, :, None]
    values[:, :, 0] -= 0.2  # the first run after a restart is slower
    return variance_components(values)


def test_planted_variances_are_recovered_under_drift_and_a_slow_first_run() -> None:
    chance = np.random.default_rng(3)
    found = [_planted(chance, (4, 6, 3), 0.03, 0.02, 0.01, drift=0.05) for _ in range(600)]
    means = [float(np.mean([getattr(each, name) for each in found])) for name in ("cluster", "restart", "run", "trial")]
    assert means == pytest.approx([9e-4, 4e-4, 1e-4, 5e-4], rel=0.12)
    assert float(np.mean([each.block for each in found])) == pytest.approx(0.05**2 * 35 / 10, rel=0.05)


def test_the_interval_of_a_trial_s_deviation_covers() -> None:
    chance = np.random.default_rng(4)
    inside = 0
    for _ in range(1000):
        _, low, high = _planted(chance, (3, 5, 2), 0.02, 0.02, 0.01, drift=0.0).deviation()
        inside += low <= sqrt(5e-4) <= high
    assert 930 <= inside <= 975


def test_a_plan_by_hand() -> None:
    # Two clusters, two restarts, two runs; cell means 2, 4 | 5, 9; runs one below and above them, no place effect.
    values = np.array([[[1.0, 3.0], [5.0, 3.0]], [[6.0, 4.0], [8.0, 10.0]]])
    found = variance_components(values)
    assert found.mean == 5.0
    assert found.run == pytest.approx(8.0 / 3.0)  # 8 squares of 1; (4 - 1) degrees of freedom
    # Cluster means 3, 7; block means 3.5, 6.5; the rest of each cell is ±0.5: 2 · 4 · 0.25 / 1 = 2, below the runs'.
    assert found.restart == 0.0
    assert found.cluster == pytest.approx((4 * 2 * 4.0 - 2.0) / 4)
    assert found.block == pytest.approx((4 * 2 * 1.5**2 - 2.0) / 4)
    assert found.trial == pytest.approx(2.0 / 2 + 8.0 / 3.0 / 2)


def test_one_that_never_varies_has_no_noise() -> None:
    assert variance_components(np.ones((2, 2, 2))).deviation()[0] == 0.0


@pytest.mark.parametrize("values", [np.ones((1, 2, 2)), np.ones((2, 2)), np.full((2, 2, 2), np.nan)])
def test_what_is_no_balanced_plan_is_refused(values: np.ndarray) -> None:
    with pytest.raises(ValueError, match="at least two"):
        variance_components(values)
