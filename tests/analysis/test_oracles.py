"""Where others implement the same thing, ours agrees with theirs: statsmodels and pymbar."""

import numpy as np
import pytest

from pgassay.analysis.boundaries import fixed_critical
from pgassay.analysis.compare import compare
from pgassay.analysis.seconds import mean_error
from pgassay.analysis.verdicts import Kind, verdict
from pgassay.study.responses import Response

from ._make import HOT_SHARE, TPS, columns

weightstats = pytest.importorskip("statsmodels.stats.weightstats")
multitest = pytest.importorskip("statsmodels.stats.multitest")
timeseries = pytest.importorskip("pymbar.timeseries")


def pairs(seed: int, blocks: int, shift: float, noise: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    base = 1000.0 * np.exp(rng.normal(0.0, 0.2, blocks))
    return base, base * np.exp(shift + rng.normal(0.0, noise, blocks))


@pytest.mark.parametrize("seed", range(20))
def test_equivalence_is_that_of_two_one_sided_tests(seed: int) -> None:
    base, other = pairs(seed, 12, 0.004, 0.012)
    margin = np.log(1.02)
    theirs = weightstats.DescrStatsW(np.log(other) - np.log(base)).ttost_mean(-margin, margin)[0]
    seen = columns({"base": base.tolist(), "other": other.tolist()})
    (effect,) = compare(seen, TPS, "base", blocks_max=12, looks="once")
    found = verdict(effect, TPS, resolution=0.02, blocks_max=12)
    assert (found.kind is Kind.EQUIVALENT) == (theirs < 0.05)


@pytest.mark.parametrize("response", [TPS, HOT_SHARE], ids=["ratio", "difference"])
def test_an_interval_of_one_look_is_that_of_the_paired_t(response: Response) -> None:
    base, other = pairs(3, 9, 0.05, 0.03)
    if response is HOT_SHARE:
        base, other = base / 2e3, other / 2e3
    d = np.log(other) - np.log(base) if response is TPS else other - base
    low, high = weightstats.DescrStatsW(d).tconfint_mean(0.05)
    seen = columns({"base": base.tolist(), "other": other.tolist()})
    (effect,) = compare(seen, response, "base", blocks_max=9, looks="once")
    ours = np.log([effect.low, effect.high]) if response is TPS else np.array([effect.low, effect.high])
    assert ours == pytest.approx(np.array([low, high]), rel=1e-9)


def test_several_comparisons_decide_as_bonferroni_adjusted_p_values() -> None:
    rng = np.random.default_rng(8)
    base = 1000.0 * np.exp(rng.normal(0.0, 0.2, 10))
    others = {f"t{number}": base * np.exp(rng.normal(0.012 * number, 0.02, 10)) for number in range(5)}
    p_values = [weightstats.DescrStatsW(np.log(other) - np.log(base)).ttest_mean(0.0)[1] for other in others.values()]
    rejected = multitest.multipletests(p_values, 0.05, "bonferroni")[0].tolist()
    seen = columns({"base": base.tolist(), **{name: other.tolist() for name, other in others.items()}})
    effects = compare(seen, TPS, "base", blocks_max=10, looks="once", primary=True)
    assert [effect.low > 1.0 or effect.high < 1.0 for effect in effects] == rejected
    assert True in rejected
    assert False in rejected
    assert fixed_critical(10, 0.01) > fixed_critical(10, 0.05)


def test_inefficiency_is_near_pymbars_and_near_the_truth() -> None:
    """Batch means against an integrated autocorrelation: two estimators of one number, (1 + memory) / (1 - memory)."""
    rng = np.random.default_rng(9)
    for memory in (0.0, 0.5, 0.8):
        ours, theirs = [], []
        for _ in range(40):
            series = np.zeros(4000)
            shocks = rng.standard_normal(4000)
            for place in range(1, 4000):
                series[place] = memory * series[place - 1] + shocks[place]
            ours.append(mean_error(1000.0 + series).inefficiency)
            theirs.append(timeseries.statistical_inefficiency(series))
        truth = (1.0 + memory) / (1.0 - memory)
        assert np.mean(theirs) == pytest.approx(truth, rel=0.15)
        assert np.mean(ours) == pytest.approx(np.mean(theirs), rel=0.2)
