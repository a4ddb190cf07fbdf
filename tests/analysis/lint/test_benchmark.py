"""Short runs with and without a plan: both sides of every limit."""

import pytest

from pgassay.analysis.benchmark import Length, Setup, fell_short_of


def told(*lengths: tuple[str, float | None], planned_s: float | None = None, condition: str = "") -> list[bool]:
    found = fell_short_of([Length(arm, condition, seconds, planned_s) for arm, seconds in lengths])
    return [target is not None for target in found]


def test_a_plan_decides_alone() -> None:
    assert told(("a", 94.9), ("a", 95.0), ("a", 200.0), planned_s=100.0) == [True, False, False]


def test_without_a_plan_the_others_decide() -> None:
    assert told(("a", 1800.0), ("a", 0.07), ("b", 1800.0)) == [False, True, False]


def test_an_arm_run_for_another_time_is_not_short_unless_it_is_hardly_a_run() -> None:
    others = [("b", 1800.0)] * 3
    assert told(("a", 1000.0), ("a", 1000.0), *others)[:2] == [False, False]
    assert told(("a", 899.0), *others)[0]
    assert told(("a", 1000.0), ("a", 900.0), *others)[:2] == [False, True]


def test_conditions_are_not_mixed_and_unknown_lengths_say_nothing() -> None:
    lengths = [Length("a", "ro", 900.0, None), *(Length("a", "rw", 1800.0, None) for _ in range(3))]
    assert fell_short_of(lengths) == (None, None, None, None)
    assert told(("a", None), ("a", 10.0)) == [False, False]
    assert fell_short_of([]) == ()


@pytest.mark.parametrize(
    ("text", "seconds"), [("5min", 300.0), ("1.5 h", 5400.0), ("90", 90.0), ("...", None), ("1.2.3s", None)]
)
def test_checkpoint_timeout_is_read_where_it_is_a_quantity(text: str, seconds: float | None) -> None:
    assert Setup.of({"checkpoint_timeout": text}).checkpoint_timeout_s == seconds
