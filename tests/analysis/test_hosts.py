"""Blocks nested in hosts: by hand, against the textbook, and one host told as one host."""

from math import exp, inf, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]

from pgassay.analysis.boundaries import Floats
from pgassay.analysis.compare import Looks, compare
from pgassay.analysis.effects import Effect
from pgassay.analysis.forecast import blocks_on_hosts
from pgassay.analysis.hosts import BetweenHosts, between_interval, fit, nested
from pgassay.analysis.observations import Observation
from pgassay.analysis.verdicts import Kind, verdict

from ._make import TPS

THREE = {"a": [0.10, 0.12], "b": [0.20, 0.22], "c": [0.30, 0.32]}


def flat(by_host: dict[str, list[float]]) -> tuple[Floats, tuple[str, ...]]:
    return np.asarray([value for values in by_host.values() for value in values]), tuple(
        host for host, values in by_host.items() for _ in values
    )


def found_in(by_host: dict[str, list[float]]) -> BetweenHosts:
    found = nested(*flat(by_host))
    assert found is not None
    return found


def effect_of(by_host: dict[str, list[float]], *, blocks_max: int = 12, looks: bool = True) -> Effect:
    seen = []
    for block, (value, host) in enumerate(zip(*flat(by_host), strict=True), 1):
        seen += [
            Observation(block, "base", "", "", 1.0, host), Observation(block, "new", "", "", exp(value), host),
        ]  # fmt: skip
    kind: Looks = "every block" if looks else "once"
    (found,) = compare(seen, TPS, "base", blocks_max=blocks_max, primary=True, looks=kind)
    return found


def test_balanced_is_students_t_over_the_means_of_hosts() -> None:
    found = found_in(THREE)
    assert found.mean == pytest.approx(0.21)
    assert found.error == pytest.approx(0.1 / sqrt(3), rel=1e-6)
    assert found.freedom == pytest.approx(2.0)
    assert found.within == pytest.approx(sqrt(0.0002), rel=1e-4)
    assert found.deviation == pytest.approx(sqrt(0.01 - 0.0001), rel=1e-4)
    assert [(each.host, each.blocks) for each in found.hosts] == [("a", 2), ("b", 2), ("c", 2)]
    effect = effect_of(THREE, looks=False)
    assert log(effect.high / effect.low) / 2 == pytest.approx(stats.t.isf(0.025, 2) * 0.1 / sqrt(3), rel=1e-5)
    assert "on 3 hosts" in effect.method


def test_the_variance_between_hosts_has_the_textbooks_interval() -> None:
    found = found_in(THREE)
    ends = []
    for tail in (0.025, 0.975):  # Tukey and Williams, of mean squares 0.02 and 0.0002 with 2 and 3 degrees of freedom
        ends.append(sqrt(2 * (0.02 - stats.f.isf(tail, 2, 3) * 0.0002) / (2 * stats.chi2.isf(tail, 2))))
    assert (found.low, found.high) == pytest.approx(tuple(ends), rel=1e-6)


def test_hosts_that_do_not_differ_are_never_narrower_than_students_t_over_their_means() -> None:
    alike = {"a": [0.0, 0.2], "b": [0.2, 0.0], "c": [0.11, 0.1]}
    found = found_in(alike)
    assert found.deviation == 0.0
    assert found.low == 0.0
    assert found.freedom == pytest.approx(2.0)
    assert found.error**2 == pytest.approx(np.var(flat(alike)[0], ddof=1) / 6)


def test_a_host_with_many_blocks_does_not_outvote_hosts_that_differ() -> None:
    uneven = {"a": [0.1 + 0.001 * (-1) ** n for n in range(20)], "b": [0.2, 0.201], "c": [0.3]}
    assert found_in(uneven).mean == pytest.approx(0.2, abs=0.001)
    assert found_in(uneven).freedom == pytest.approx(2.0, abs=0.01)


def test_the_restricted_likelihood_is_greatest_at_the_estimate() -> None:
    uneven = {"a": [0.10, 0.13, 0.09, 0.12], "b": [0.16, 0.13], "c": [0.05, 0.09, 0.07]}
    values, hosts = flat(uneven)
    found = found_in(uneven)

    def likelihood(between: float, within: float) -> float:
        same = np.asarray([[one == other for one in hosts] for other in hosts], dtype=np.float64)
        inverse = np.linalg.inv(between * same + within * np.eye(len(values)))
        mean = inverse.sum(axis=0) @ values / inverse.sum()
        rest = values - mean
        return float(np.linalg.slogdet(inverse)[1] - log(inverse.sum()) - rest @ inverse @ rest)

    best = likelihood(found.deviation**2, found.within**2)
    for more in (0.98, 1.02):
        assert likelihood(more * found.deviation**2, found.within**2) < best
        assert likelihood(found.deviation**2, more * found.within**2) < best


@given(st.lists(st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=4), min_size=2, max_size=5), st.floats(0.1, 10.0))
def test_units_and_the_order_of_hosts_do_not_matter(groups: list[list[float]], unit: float) -> None:
    named = {str(place): group for place, group in enumerate(groups)}
    spread = np.ptp(np.concatenate(groups))
    one, other = found_in(named), found_in({host: [unit * x for x in named[host]] for host in reversed(named)})
    assert unit * one.mean == pytest.approx(other.mean, abs=1e-3 * unit * max(spread, 1e-9))
    assert one.freedom <= len(groups) - 1 + 1e-9
    assert one.error >= 0.0


def test_many_studies_at_once_give_what_each_gives() -> None:
    rng = np.random.default_rng(1)
    counts = np.asarray([3.0, 2.0, 4.0])
    means, inside = rng.normal(size=(20, 3)), rng.chisquare(6, 20)
    together, ends = fit(counts, means, inside), between_interval(counts, means, inside)
    for place in range(20):
        alone = fit(counts, means[place], inside[place])
        assert (alone.mean, alone.error) == pytest.approx((together.mean[place], together.error[place]), rel=1e-6)
        low, high = between_interval(counts, means[place], inside[place])
        assert (low, high) == pytest.approx((ends[0][place], ends[1][place]))


def test_one_block_on_each_host_tells_the_effect_and_not_how_hosts_differ() -> None:
    found = found_in({"a": [0.1], "b": [0.2], "c": [0.3]})
    assert (found.mean, found.error, found.freedom) == pytest.approx((0.2, 0.1 / sqrt(3), 2.0))
    assert found.deviation != found.deviation


def test_looks_at_every_block_widen_and_below_five_nothing_is_said() -> None:
    assert effect_of({"a": [0.1, 0.11], "b": [0.12, 0.1]}).high == inf
    once, every = effect_of(THREE, looks=False), effect_of(THREE)
    assert every.high > once.high


def test_one_host_is_told_as_one_host() -> None:
    one = effect_of({"a": [0.09, 0.10, 0.11, 0.10, 0.105]})
    assert one.between is None
    assert any("a" in reason and "this host" in reason for reason in one.left_out)
    bare = effect_of({"": [0.09, 0.10, 0.11, 0.10, 0.105]})
    assert (bare.low, bare.high) == (one.low, one.high)
    assert bare.left_out == ()


def test_hosts_that_differ_ask_for_hosts_and_not_for_blocks() -> None:
    found = effect_of({"a": [0.30, 0.31], "b": [-0.30, -0.31], "c": [0.02, 0.01]})
    judged = verdict(found, TPS, resolution=0.02, blocks_max=12)
    assert judged.kind is Kind.UNRESOLVED
    assert judged.more_blocks is None
    assert "more hosts" in judged.text
    noisy = {"a": [0.0, 0.2, 0.05], "b": [0.2, 0.0, 0.12], "c": [0.11, 0.1, 0.02], "d": [0.15, 0.0, 0.03]}
    (few,) = (effect_of(noisy).between,)
    assert few is not None
    wanted = blocks_on_hosts(few, 0.02, comparisons=1, blocks_max=30)
    assert wanted is not None
    assert wanted > 12
