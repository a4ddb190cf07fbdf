"""The design's sentences about one of something are sentences."""

from pgassay.design.horizon import resolution_short
from pgassay.design.schedule import blocks_done, budget_done


def test_one_block_or_trial_is_not_said_in_the_plural() -> None:
    assert blocks_done(1) == "the only block is done"
    assert blocks_done(2) == "all 2 blocks are done"
    assert "1 of at least 5 blocks was run" in budget_done(1, 5, 60.0)
    assert resolution_short(0.02, None, None, 1).endswith("1 block is allowed")
    assert resolution_short(0.02, 9, 60.0, 1).endswith("needs 9 blocks, 60 s; 1 is allowed")
    assert resolution_short(0.02, 9, None, 5).endswith("needs 9 blocks; 5 are allowed")
