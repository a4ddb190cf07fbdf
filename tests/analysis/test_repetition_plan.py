"""The optimum against brute force, its formula where it applies, and the plan for a given width."""

from itertools import product
from math import inf, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.analysis.calibration import REPEATS_MAX, Level, cheapest, optimum, repeats

variances = st.one_of(st.just(0.0), st.floats(1e-6, 1e-2))
seconds = st.floats(0.5, 600.0)
levels = st.tuples(*[st.builds(Level, variances, seconds)] * 3)


def _product(run: Level, restart: Level, cluster: Level, restarts: int, runs: int) -> float:
    variance = cluster.variance + restart.variance / restarts + run.variance / restarts / runs
    return variance * (cluster.seconds + restarts * (restart.seconds + runs * run.seconds))


@given(levels)
def test_no_other_plan_is_cheaper(three: tuple[Level, Level, Level]) -> None:
    run, restart, cluster = three
    runs, restarts = repeats(run, restart, cluster)
    span = range(1, REPEATS_MAX + 1)
    least = min(_product(*three, many, each) for many, each in product(span, span))
    assert _product(*three, restarts, runs) <= least * (1 + 1e-9)


def test_the_formula_where_nothing_is_pooled() -> None:
    run, restart, cluster = Level(4e-4, 10.0), Level(1e-4, 40.0), Level(1e-5, 300.0)
    assert optimum((run, restart, cluster)) == pytest.approx((sqrt(40 / 10 * 4), sqrt(300 / 40 * 10)))


def test_a_level_that_adds_nothing_is_pooled_with_the_one_above() -> None:
    run, restart, cluster = Level(4e-4, 10.0), Level(0.0, 40.0), Level(1e-4, 300.0)
    assert optimum((run, restart, cluster)) == pytest.approx((sqrt(340 / 10 * 4), 1.0))
    assert optimum((Level(1.0, 1.0), Level(0.0, 1.0))) == (inf,)


def test_the_plan_is_as_wide_as_asked_and_one_cluster_fewer_would_not_do() -> None:
    three = (Level(4e-4, 10.0), Level(1e-4, 40.0), Level(1e-4, 300.0))
    plan = cheapest(*three, width=0.02)
    assert plan is not None
    assert plan.half_width <= 0.02
    assert plan.seconds == pytest.approx(plan.clusters * (300 + plan.restarts * (40 + plan.runs * 10)))
    wider = cheapest(*three, width=0.05)
    assert wider is not None
    assert wider.clusters < plan.clusters
    assert cheapest(Level(1.0, 1.0), Level(1.0, 1.0), Level(1.0, 1.0), width=0.001) is None
