"""Adjusted effects: a planted effect comes back whole, by the textbook's regression; a touched covariate is refused."""

from math import exp, log

import numpy as np
import numpy.typing as npt
import pytest
import statsmodels.api as sm  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from pgassay.analysis.adjustment import (
    ESTIMATED_ALPHA,
    Adjusted,
    Exponent,
    adjust,
    adjusted_contrasts,
    blocks_to_accept,
    within_treatments,
)
from pgassay.analysis.effects import Certainty

from ._make import columns

Floats = npt.NDArray[np.float64]
ONCE = Certainty(0.95, 1, 30, every_block=False)
numbers = st.lists(st.floats(-1.0, 1.0), min_size=6, max_size=6)


def judged(
    response: dict[str, Floats], clock: dict[str, Floats], exponent: float | None = -1.0, *, untouched: bool = False
) -> tuple[Adjusted, ...]:
    """From logarithms, treatment to blocks."""
    values, clocks = (
        columns({name: np.exp(column).tolist() for name, column in each.items()}) for each in (response, clock)
    )
    return adjust(values, clocks, "metronome_ns", "base", ONCE, exponent=exponent, untouched=untouched)


@given(numbers, numbers, st.floats(-0.5, 0.5))
def test_a_planted_effect_comes_back_whole(noise: list[float], clock: list[float], effect: float) -> None:
    d, x = np.asarray(noise), np.asarray(clock)
    for exponent in (Exponent(-1.0), Exponent(-0.4, 0.2)):
        mean, error, freedom = adjusted_contrasts(d, x, exponent, 1)
        planted = adjusted_contrasts(d + effect, x, exponent, 1)
        assert planted[0] == pytest.approx(mean + effect, abs=1e-12)
        assert planted[1] == pytest.approx(error, abs=1e-9)
        assert planted[2] == freedom


def test_speed_that_goes_with_the_machine_s_is_known_without_noise() -> None:
    clock = {"base": np.asarray([0.1, -0.2, 0.3, 0.0, 0.1]), "a": np.asarray([0.2, -0.2, 0.2, 0.1, 0.0])}
    response = {"base": 7.0 - clock["base"], "a": 7.0 + log(1.05) - clock["a"]}
    (found,) = judged(response, clock)
    assert found.estimate == pytest.approx(1.05)
    assert found.high - found.low == pytest.approx(0.0, abs=1e-9)
    assert found.raw_high - found.raw_low > 0.1
    assert found.explained == pytest.approx(1.0)


def test_with_one_comparison_it_is_the_ordinary_regression() -> None:
    rng = np.random.default_rng(1)
    clock = {name: rng.normal(0.0, 0.1, 7) for name in ("base", "a")}
    response = {name: 3.0 - 0.6 * column + rng.normal(0.0, 0.02, 7) for name, column in clock.items()}
    (found,) = judged(response, clock, exponent=None)
    d, x = response["a"] - response["base"], clock["a"] - clock["base"]
    oracle = sm.OLS(d, sm.add_constant(x)).fit()
    assert found.exponent.value == pytest.approx(oracle.params[1])
    assert found.exponent.error == pytest.approx(oracle.bse[1])
    assert log(found.estimate) == pytest.approx(oracle.params[0])
    assert [log(found.low), log(found.high)] == pytest.approx(list(oracle.conf_int(0.05 * ESTIMATED_ALPHA)[0]))


def test_differences_between_treatments_take_no_part_in_the_exponent() -> None:
    rng = np.random.default_rng(2)
    y, x = rng.normal(0.0, 0.1, (6, 3)), rng.normal(0.0, 0.1, (6, 3))
    faster, touched = np.asarray([0.0, 0.5, -0.2]), np.asarray([0.0, 0.1, 0.9])
    plain, moved = within_treatments(y, x), within_treatments(y + faster, x + touched)
    assert plain is not None
    assert moved is not None
    assert moved.value == pytest.approx(plain.value)
    assert within_treatments(y[:3], x[:3]) is None
    assert within_treatments(y, np.zeros_like(y)) is None


def test_a_covariate_that_the_treatment_touches_is_refused_with_its_number() -> None:
    rng = np.random.default_rng(3)
    base = rng.normal(0.0, 0.001, 8)
    clock = {"base": base, "a": base + 0.2 + rng.normal(0.0, 0.001, 8)}
    (found,) = judged({"base": base, "a": base - 0.24}, clock)
    assert found.touched == pytest.approx(exp(-0.2), abs=0.002)
    assert found.refused.startswith("metronome_ns itself differs between the two: by -18 % of the response [")
    (known,) = judged({"base": base, "a": base - 0.24}, clock, untouched=True)
    assert known.refused
    (fine,) = judged({"base": base, "a": base - 0.24}, {"base": base, "a": clock["a"] - 0.2})
    assert fine.refused == ""
    assert fine.touched_low > 1 / 1.01
    assert fine.touched_high < 1.01


def test_what_cannot_be_shown_is_refused_too() -> None:
    """No difference, but so much noise that it might be one: five blocks at 5 % cannot show that it is below 1 %."""
    rng = np.random.default_rng(4)
    clock = {name: rng.normal(0.0, 0.05, 5) for name in ("base", "a")}
    (found,) = judged(clock, clock)
    assert "must be shown to lie within ±1 %" in found.refused
    (known,) = judged(clock, clock, untouched=True)
    assert known.refused == ""
    assert known.touched == found.touched


def test_blocks_that_lack_one_of_four_values_take_no_part() -> None:
    values = columns({"base": [1.0, 1.0, 1.0, 1.0], "a": [1.1, 1.2, None, 1.1]})
    clocks = columns({"base": [1.0, 1.1, 1.0], "a": [1.0, 1.0, 1.0]})
    (found,) = adjust(values, clocks, "metronome_ns", "base", ONCE)
    assert found.blocks == 2
    assert adjust(values, columns({"base": [1.0], "a": [1.0]}), "metronome_ns", "base", ONCE) == ()
    assert adjust(values, [], "metronome_ns", "base", ONCE) == ()


def test_before_the_first_look_there_is_no_interval() -> None:
    certainty = Certainty(0.95, 1, 10, every_block=True)
    values = columns({"base": [1.0, 1.1, 1.0], "a": [1.1, 1.2, 1.1]})
    (found,) = adjust(values, values, "metronome_ns", "base", certainty)
    assert (found.low, found.high > 1e300) == (0.0, True)


def test_how_many_blocks_an_untouched_covariate_takes() -> None:
    # s = 0.5 %: at three blocks (0.675 + 2.92) · 0.5 / √3 = 1.04 % is too much, at four it is 0.76 %.
    assert blocks_to_accept(0.005) == 4
    assert blocks_to_accept(0.02) == 24
    assert blocks_to_accept(0.5) is None
