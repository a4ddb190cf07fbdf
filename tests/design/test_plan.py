"""What is said before the budget is spent."""

import pytest

from pgassay.design.horizon import plan

from ._make import study


def test_sizes_are_arms_times_blocks() -> None:
    found = plan(study(3, conditions=2), 10.0, preparation_s=30.0)
    assert found.arms == 6
    assert (found.time_min_s, found.time_max_s) == (330.0, 510.0)
    assert found.warnings == ()
    assert found.equivalence_needed is None


def test_a_budget_that_will_not_do_is_said_before() -> None:
    found = plan(study(3, budget_s=100.0), 10.0)
    assert found.blocks_affordable == 3
    (warning,) = found.warnings
    assert warning == "the budget of 2 min is too small: it holds about 3 blocks, a verdict needs at least 5 (2 min)"


def test_blocks_from_which_no_verdict_can_come_are_said_before() -> None:
    (warning,) = plan(study(3, blocks_min=3, blocks_max=3), 10.0).warnings
    assert warning == "no verdict can come from 3 blocks: the first comparison needs 5"


def test_a_resolution_out_of_reach_is_said_before() -> None:
    found = plan(study(3, blocks_max=30), 60.0, noise=0.03)
    assert found.equivalence_needed is not None
    assert 40 <= found.equivalence_needed <= 90
    (warning,) = found.warnings
    assert warning.startswith(f"at this machine's noise ±2 % needs {found.equivalence_needed} blocks, ")


@pytest.mark.parametrize("noise", [0.001, 0.005])
def test_a_quiet_machine_gets_no_warning(noise: float) -> None:
    assert plan(study(3, blocks_max=30, budget_s=10_000.0), 60.0, noise=noise).warnings == ()


def test_a_length_that_is_not_known_is_not_estimated() -> None:
    found = plan(study(3, blocks_max=30, budget_s=100.0), None, noise=0.03)
    assert (found.block_s, found.time_min_s, found.time_max_s) == (None, None, None)
    assert found.blocks_affordable is None
    assert found.equivalence_needed is not None
    assert not any(" s" in warning or " min" in warning for warning in found.warnings)
