"""The validity benchmark itself: it works, it agrees with the product, and its checks can fail."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.validity import __main__ as command
from benchmarks.validity.agreement import disagreements
from benchmarks.validity.answers import Answer
from benchmarks.validity.cells import Cell
from benchmarks.validity.rates import Rates, rates
from benchmarks.validity.simulate import logs

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize("situation", ["dropped", "blocks"])
def test_simulation_and_product_say_the_same(situation: str) -> None:
    wrong, total = disagreements(Cell("log-normal", 0.01, situation, 3, 9), 4, 0.02, np.random.default_rng(5))
    assert total == 4 * 5 * 2
    assert wrong == 0


@pytest.mark.parametrize("noise", ["normal", "log-normal", "t3", "stalls"])
def test_noise_has_no_effect_of_its_own_and_the_asked_cv(noise: str) -> None:
    values = logs(Cell(noise, 0.1, "plain", 2, 5), 40_000, np.zeros(2), np.random.default_rng(1))
    centre = values.mean() if noise == "stalls" else np.median(values)
    assert abs(centre) < 6 * values.std() / np.sqrt(values.size)
    if noise in ("normal", "log-normal"):
        assert np.exp(values).std() / np.exp(values).mean() == pytest.approx(0.1, rel=0.02)


@pytest.mark.slow
def test_the_command_prints_its_table_and_succeeds(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--cells", "smoke", "--studies", "400"]) == 0
    printed = capsys.readouterr().out
    assert "log-normal" in printed
    assert "0 bounds broken" in printed


def test_bounds_can_break() -> None:
    good = rates(Cell("normal", 0.03, "plain", 2, 5), 500, 1)
    assert good.failures == ()
    assert replace(good, false_difference=0.09, coverage=0.9, wrong_equivalence=0.09).failures == (
        "false better/worse", "coverage", "wrong equivalence",
    )  # fmt: skip
    stalls = Rates(Cell("stalls", 0.03, "plain", 2, 5), 500, 0.09, 0.9, 0.0, 1.0, 1.0)
    assert stalls.failures == ()
    assert stalls.beyond == ("false better/worse", "coverage")
    answer = Answer(2, 0.03, 0.1, 30, (8.0, 9.0, 10.0), 12, 8)
    assert answer.failures == ("time to answer", "forecast")
