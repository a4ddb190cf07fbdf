"""An effect over days: planted slopes are found, hosts' own levels are no drift, and a day alone tells nothing."""

from math import isnan

import numpy as np
import pytest
import statsmodels.api as sm  # type: ignore[import-untyped]

from pgassay.analysis.hosts import Moment, drift


def moments(slope: float, noise: float, seed: int = 1) -> list[Moment]:
    """Three hosts over ten days, each with an effect of its own; the third joined on day five."""
    chance = np.random.default_rng(seed)
    found = []
    for host, level, first in (("a", 0.1, 0.0), ("b", 0.4, 0.0), ("c", -0.3, 5.0)):
        for day in np.arange(first, 10.0, 0.25):
            found.append(Moment(host, 20_000 + day, level + slope * day + chance.normal(0.0, noise)))
    return found


def test_a_planted_slope_is_found_and_the_interval_is_that_of_least_squares() -> None:
    given = moments(0.02, 0.05)
    found = drift(given)
    assert found is not None
    hosts = sorted({each.host for each in given})
    design = [[each.day - 20_000, *(float(each.host == host) for host in hosts)] for each in given]
    oracle = sm.OLS([each.value for each in given], design).fit()
    assert found.per_day == pytest.approx(oracle.params[0])
    assert (found.low, found.high) == pytest.approx(tuple(oracle.conf_int(0.05)[0]))
    assert found.low < 0.02 < found.high
    assert found.shown
    assert found.span_days == pytest.approx(9.75)


def test_hosts_that_differ_and_join_later_are_no_drift() -> None:
    found = drift(moments(0.0, 0.01))
    assert found is not None
    assert abs(found.per_day) < 0.002
    assert not found.shown


def test_the_interval_of_no_drift_holds_as_often_as_it_says() -> None:
    told = sum(drift(moments(0.0, 0.05, seed)).shown for seed in range(400))  # type: ignore[union-attr]
    assert 8 <= told <= 34, "5 % of 400, within four standard deviations"


def test_each_host_has_its_days() -> None:
    found = drift([Moment("a", 3.2, 1.0), Moment("a", 3.9, 3.0), Moment("a", 4.1, 2.0), Moment("b", 5.0, 0.0)])
    assert found is not None
    assert [(each.host, each.day, each.blocks, each.mean) for each in found.days] == [
        ("a", 3, 2, 2.0), ("a", 4, 1, 2.0), ("b", 5, 1, 0.0)
    ]  # fmt: skip
    first, second, _ = found.days
    assert first.high - first.mean == pytest.approx(12.706 * np.sqrt(2.0) / np.sqrt(2.0), rel=1e-3)
    assert second.high - second.mean == pytest.approx(12.706 * np.sqrt(2.0), rel=1e-3)


def test_what_cannot_be_told() -> None:
    assert drift([]) is None
    assert drift([Moment("a", 1.0, 0.0), Moment("a", 1.9, 1.0)]) is None
    once = drift([Moment("a", 1.0, 0.0), Moment("b", 3.0, 1.0)])
    assert once is not None
    assert isnan(once.per_day)
    assert isnan(once.days[0].low)
    assert not once.shown
    few = drift([Moment("a", 1.0, 0.0), Moment("a", 3.0, 1.0)])
    assert few is not None
    assert few.per_day == pytest.approx(0.5)
    assert isnan(few.low)
