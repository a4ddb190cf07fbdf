"""Main effects, interactions, and factors that cannot be separated."""

from itertools import product
from math import exp, log

import numpy as np
import pytest

from pgassay.analysis.factorial import Factorial, confounded, factorial
from pgassay.analysis.observations import Observation

from ._make import TPS

PAGE, WAL = "build.block_size", "build.wal_block_size"
BASE = {PAGE: "8kB", WAL: "8kB"}


def grid(pages: tuple[str, ...], wals: tuple[str, ...]) -> dict[str, dict[str, str]]:
    return {f"{PAGE}={p}, {WAL}={w}": {PAGE: p, WAL: w} for p, w in product(pages, wals)}


def run(
    treatments: dict[str, dict[str, str]], page: float, wal: float, both: float, blocks: int = 8, noise: float = 0.01
) -> Factorial:
    """4 kB pages multiply by `page`, 16 kB WAL blocks by `wal`, together by `both` once more."""
    rng = np.random.default_rng(6)
    seen = []
    for block in range(1, blocks + 1):
        shift = rng.normal(0.0, 0.3)
        for label, levels in treatments.items():
            small, large = levels[PAGE] == "4kB", levels[WAL] == "16kB"
            value = log(100.0) + shift + small * log(page) + large * log(wal) + small * large * log(both)
            seen.append(Observation(block, label, "", "", exp(value + rng.normal(0.0, noise))))
    return factorial(seen, treatments, BASE, TPS, blocks_max=30)


def test_planted_effects_are_found_each_at_its_factor() -> None:
    found = run(grid(("8kB", "4kB"), ("8kB", "16kB")), 1.2, 1.0, 1.0)
    page, wal = found.main
    assert page.treatment == f"{PAGE}=4kB"
    assert page.low < 1.2 < page.high
    assert page.low > 1.1
    assert wal.low < 1.0 < wal.high
    (both,) = found.interactions
    assert both.low < 1.0 < both.high
    assert found.confounded == ()


def test_an_interaction_is_found_where_it_was_planted() -> None:
    (both,) = run(grid(("8kB", "4kB"), ("8kB", "16kB")), 1.0, 1.0, 1.3).interactions
    assert both.treatment == f"{PAGE}=4kB * {WAL}=16kB"
    assert both.low < 1.3 < both.high
    assert both.low > 1.2


def test_by_hand_without_noise() -> None:
    """Main effect: mean of log 1.2 (at 8 kB WAL) and log 1.2 x 1.5 (at 16 kB) = log(1.2 x sqrt 1.5)."""
    found = run(grid(("8kB", "4kB"), ("8kB", "16kB")), 1.2, 1.1, 1.5, noise=0.0)
    assert found.main[0].estimate == pytest.approx(1.2 * 1.5**0.5)
    assert found.interactions[0].estimate == pytest.approx(1.5)


def test_factors_that_moved_together_get_no_number_and_are_named() -> None:
    together = {f"{PAGE}={s}, {WAL}={s}": {PAGE: s, WAL: s} for s in ("8kB", "4kB", "16kB")}
    found = run(together, 1.2, 1.1, 1.0)
    assert found.main == ()
    assert found.interactions == ()
    assert found.confounded == (
        f"{PAGE} and {WAL} always move together, so this study cannot tell which of them has the effect",
    )
    assert confounded(grid(("8kB", "4kB"), ("8kB", "16kB"))) == ()


def test_all_linked_factors_are_named_in_one_sentence() -> None:
    sizes = {size: {"a": size, "b": size, "c": size, "held": "1"} for size in ("8kB", "4kB", "16kB")}
    assert confounded(sizes) == (
        "a, b and c always move together, so this study cannot tell which of them has the effect",
    )


def test_one_factor_at_a_time_has_main_effects_and_no_interaction() -> None:
    star = {k: v for k, v in grid(("8kB", "4kB"), ("8kB", "16kB")).items() if list(v.values()) != ["4kB", "16kB"]}
    found = run(star, 1.2, 1.1, 1.0)
    assert [effect.treatment for effect in found.main] == [f"{PAGE}=4kB", f"{WAL}=16kB"]
    assert found.interactions == ()


def test_a_treatment_without_trials_is_named() -> None:
    treatments = grid(("8kB", "4kB"), ("8kB", "16kB"))
    label = f"{PAGE}=4kB, {WAL}=16kB"
    seen = [
        Observation(block, name, "", "", 100.0 + block) for block in range(1, 7) for name in treatments if name != label
    ]
    found = factorial(seen, treatments, BASE, TPS, blocks_max=30)
    assert found.main[0].left_out[0] == "1 of 2 combinations of the other factors have no valid trial and are left out"
