"""A planted cause is found, nothing is found where nothing was planted."""

import numpy as np

from pgassay.analysis.compare import compare, cost_effects
from pgassay.analysis.explanation import Explanation, explain
from pgassay.study.levels import Place

from ._make import CPU_US, HOT_SHARE, TPS, WAL_BYTES, columns, noisy

RESPONSES = (TPS, WAL_BYTES, CPU_US, HOT_SHARE)


def explained(tps: float, wal: float, cpu: float, hot: float, seed: int = 1, wal_base: float = 500.0) -> Explanation:
    rng = np.random.default_rng(seed)

    def seen(base: float, ratio: float, cv: float) -> dict[str, list[float]]:
        return {k: v.tolist() for k, v in noisy(rng, {"base": base, "a": base * ratio}, 12, cv).items()}

    speeds = columns(seen(1000.0, tps, 0.02))
    shares = {"base": (0.5 + rng.normal(0, 0.005, 12)).tolist(), "a": (0.5 + hot + rng.normal(0, 0.005, 12)).tolist()}
    measured = {
        "wal_bytes": columns(seen(wal_base, wal, 0.01)),
        "cpu_us": columns(seen(80.0, cpu, 0.01)),
        "hot_share": columns(shares),
    }
    (effect,) = compare(speeds, TPS, "base", blocks_max=30, primary=True)
    return explain(effect, cost_effects(measured, RESPONSES, "base", blocks_max=30), RESPONSES)


def test_the_planted_cause_is_named_first_and_alone() -> None:
    found = explained(1.2, 0.6, 1.0, 0.3)
    assert [effect.response for effect in found.along] == ["wal_bytes", "hot_share"]
    assert found.against == ()
    assert "WAL bytes per transaction 39.8 % lower" in found.text
    assert "server CPU" not in found.text


def test_what_a_server_writes_when_nobody_does_explains_nothing() -> None:
    """A read-only load: a checkpoint's few records fall on fewer transactions where those are slower."""
    assert [each.response for each in explained(0.7, 1.4, 1.3, 0.0, wal_base=1.5).along] == ["wal_bytes", "cpu_us"]
    found = explained(0.7, 1.4, 1.3, 0.0, wal_base=0.15)
    assert [each.response for each in found.along] == ["cpu_us"]
    assert "WAL" not in found.text


def test_what_moved_the_other_way_is_said_too() -> None:
    found = explained(1.2, 0.6, 1.3, 0.0)
    assert [effect.response for effect in found.along] == ["wal_bytes"]
    assert [effect.response for effect in found.against] == ["cpu_us"]
    assert "although server CPU per transaction 29.6 % higher" in found.text


def test_a_faster_treatment_without_a_cheaper_transaction_is_not_explained() -> None:
    found = explained(1.2, 1.0, 1.0, 0.0)
    assert found.along == ()
    assert "do not explain it" in found.text


def test_nothing_moves_when_nothing_was_planted() -> None:
    quiet = [explained(1.0, 1.0, 1.0, 0.0, seed) for seed in range(40)]
    assert sum(bool(found.along or found.against) for found in quiet) <= 5
    assert any("neither can any cost per transaction" in found.text for found in quiet)


def test_a_cost_is_not_its_own_reason() -> None:
    measured = {
        "wal_bytes": columns({"base": [500.0, 501.0, 499.0, 500.5, 499.5], "a": [250.0, 251.0, 249.0, 250.5, 249.5]}),
        "cpu_us": columns({"base": [80.0, 80.1, 79.9, 80.2, 79.8], "a": [72.0, 72.1, 71.9, 72.2, 71.8]}),
    }
    (effect,) = compare(measured["wal_bytes"], WAL_BYTES, "base", blocks_max=30, primary=True)
    found = explain(effect, cost_effects(measured, RESPONSES, "base", blocks_max=30), RESPONSES)
    assert [cost.response for cost in found.along] == ["cpu_us"]
    assert found.text.count(WAL_BYTES.title) == 1
    alone = explain(
        effect, cost_effects({"wal_bytes": measured["wal_bytes"]}, RESPONSES, "base", blocks_max=30), RESPONSES
    )
    assert "no cost per transaction was measured that could explain it" in alone.text


def test_without_costs_it_says_so() -> None:
    (effect,) = compare(columns({"base": [1.0] * 5, "a": [2.0] * 5}), TPS, "base", blocks_max=30)
    assert "no cost per transaction was measured" in explain(effect, (), RESPONSES).text


def test_costs_are_one_family_and_secondary() -> None:
    found = cost_effects(
        {"wal_bytes": columns({"base": [1.0] * 5, "a": [2.0] * 5}), "tps": columns({"base": [1.0], "a": [1.0]})},
        (*RESPONSES, HOT_SHARE),
        "base",
        blocks_max=30,
    )
    assert [effect.response for effect in found] == ["wal_bytes"]
    assert not found[0].primary


def test_one_arms_costs_have_the_intervals_that_they_have_among_all() -> None:
    seen = columns({"base": [1.0, 1.1, 0.9, 1.05, 1.0], "a": [2.0, 2.1, 2.2, 1.9, 2.0], "b": [3.0, 3.1, 2.9, 3.0, 3.3]})
    every = cost_effects({"wal_bytes": seen}, RESPONSES, "base", blocks_max=30)
    (alone,) = cost_effects({"wal_bytes": seen}, RESPONSES, "base", blocks_max=30, only=Place("b"))
    assert alone == next(each for each in every if each.treatment == "b")


def test_below_five_blocks_nothing_is_said_to_be_alike() -> None:
    """Imported data are looked at once and have intervals from two blocks on; a verdict takes five."""
    speeds = columns({"base": [1000.0, 1010.0, 990.0], "a": [410.0, 420.0, 400.0]})
    (effect,) = compare(speeds, TPS, "base", blocks_max=30, looks="once")
    assert effect.high < 0.5
    assert explain(effect, (), RESPONSES).text.startswith(
        "a: transactions per second cannot be judged yet (3 blocks; a verdict takes 5)"
    )
