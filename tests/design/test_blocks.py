"""The order within a block: fixed for ever, fair, and kept for factors that are hard to change."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from pgassay.design.schedule import cautions, order

from ._make import study


def names(seed: int, block: int, **more: object) -> list[str]:
    asked = study(4, **more)  # type: ignore[arg-type]
    return [arm.name for arm in order(asked, seed, block, asked.arms)]


def test_the_order_never_changes() -> None:
    """Golden: a change here would break the replay of every journal."""
    assert names(42, 1) == ["f=3", "f=1", "f=2", "f=0"]
    assert names(42, 2) == ["f=0", "f=2", "f=1", "f=3"]


@given(st.integers(0, 2**63), st.integers(1, 1000))
def test_every_arm_once_and_the_listing_does_not_matter(seed: int, block: int) -> None:
    asked = study(3, conditions=2)
    shuffled = order(asked, seed, block, asked.arms)
    assert sorted(arm.name for arm in shuffled) == sorted(arm.name for arm in asked.arms)
    assert order(asked, seed, block, asked.arms[::-1]) == shuffled


@given(st.integers(0, 1000), st.integers(0, 3))
def test_leaving_one_out_keeps_the_others_in_order(seed: int, gone: int) -> None:
    asked = study(4)
    whole = order(asked, seed, 1, asked.arms)
    left = tuple(arm for arm in asked.arms if arm.name != f"f={gone}")
    assert order(asked, seed, 1, left) == tuple(arm for arm in whole if arm.name != f"f={gone}")


@given(st.integers(0, 10_000), st.integers(1, 500))
def test_the_second_block_of_a_pair_mirrors_the_first(seed: int, pair: int) -> None:
    assert names(seed, 2 * pair) == names(seed, 2 * pair - 1)[::-1]


def test_every_order_is_about_equally_likely() -> None:
    asked = study(3)
    seen = Counter(tuple(arm.name for arm in order(asked, 5, 2 * pair + 1, asked.arms)) for pair in range(3000))
    assert len(seen) == 6
    assert max(abs(count - 500) for count in seen.values()) < 5 * 500**0.5


def test_a_fixed_factor_keeps_the_studys_order_and_chance_rules_within() -> None:
    asked = study(3, conditions=2, fixed_order=("f",))
    orders = {tuple(arm.name for arm in order(asked, 9, block, asked.arms)) for block in range(1, 30)}
    assert len(orders) > 1
    for each in orders:
        assert [name.split(",")[0] for name in each] == ["f=0", "f=0", "f=1", "f=1", "f=2", "f=2"]


def test_a_fixed_order_is_named_for_what_it_costs() -> None:
    assert cautions(study(3)) == ()
    (sentence,) = cautions(study(3, fixed_order=("f",)))
    assert sentence.startswith("f keeps its order inside every block")
