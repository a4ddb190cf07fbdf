"""Change points against every partition there is, and against planted ones."""

from itertools import combinations, pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pgassay.analysis.seconds import LEAST, changes, partition


def cost(values: np.ndarray, cuts: tuple[int, ...], penalty: float) -> float:
    edges = (0, *cuts, len(values))
    pieces = [values[a:b] for a, b in pairwise(edges)]
    return sum(float(((piece - piece.mean()) ** 2).sum()) for piece in pieces) + penalty * len(cuts)


@given(st.lists(st.floats(-10.0, 10.0), min_size=2, max_size=9), st.floats(0.1, 50.0))
@settings(max_examples=100, deadline=None)
def test_no_partition_is_better(values: list[float], penalty: float) -> None:
    array = np.asarray(values)
    (found,) = partition(array[None, :], np.asarray([penalty]))
    every = (cuts for k in range(len(values)) for cuts in combinations(range(1, len(values)), k))
    long = (cuts for cuts in every if all(b - a >= LEAST for a, b in pairwise((0, *cuts, len(values)))))
    least = min(cost(array, cuts, penalty) for cuts in long)
    assert cost(array, found, penalty) <= least + 1e-9 * max(1.0, abs(least))


def test_planted_changes_are_found() -> None:
    rng = np.random.default_rng(2)
    values = np.repeat([100.0, 130.0, 90.0], [20, 15, 25]) + rng.normal(0.0, 4.0, 60)
    assert changes(values[None, :]) == [(20, 35)]


def test_noise_alone_seldom_changes_and_a_constant_never() -> None:
    rng = np.random.default_rng(3)
    found = changes(rng.normal(1000.0, 30.0, (500, 60)))
    assert sum(bool(cuts) for cuts in found) < 0.1 * 500
    assert changes(np.full((1, 50), 0.1 + 0.2)) == [()]


def test_too_short_has_none() -> None:
    assert changes(np.ones((2, 1))) == [(), ()]
