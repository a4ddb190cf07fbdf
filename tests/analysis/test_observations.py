"""What cannot be used is named, never a silent number."""

from dataclasses import dataclass, field
from math import inf, log, nan

import numpy as np
import pytest

from pgassay.analysis.observations import Observation, arrange, cells, contrast, observe
from pgassay.study.levels import Cell
from pgassay.study.responses import Scale, Status

from ._make import columns


@dataclass(frozen=True)
class Trial:
    block: int = 1
    treatment: str = "a"
    condition: str = ""
    covariate: str = ""
    status: Status = Status.VALID
    responses: dict[str, float | None] = field(default_factory=dict)
    host: str = ""


def test_only_valid_trials_are_observed() -> None:
    trials = [Trial(responses={"tps": 9.0}), Trial(2, status=Status.INVALID, responses={"tps": 1.0}), Trial(3)]
    assert [seen.value for seen in observe(trials, "tps")] == [9.0, None]


def test_every_unusable_value_is_named() -> None:
    table = arrange(columns({"a": [None, nan, 0.0, -1.0, inf, 5.0]}), Cell(), Scale.RATIO)
    assert table.values["a"] == {6: 5.0}
    reasons = table.left_out["a"]
    assert len(reasons) == 5
    assert "block 1: a has no value" in reasons
    assert any("block 2" in reason and "nan" in reason for reason in reasons)
    assert any("block 3" in reason and "a ratio needs" in reason for reason in reasons)


def test_zero_is_a_number_on_a_difference_scale() -> None:
    assert arrange(columns({"a": [0.0, -2.0]}), Cell(), Scale.DIFFERENCE).values["a"] == {1: 0.0, 2: -2.0}


def test_two_values_in_one_block_are_named() -> None:
    table = arrange([Observation(1, "a", "", "", 1.0), Observation(1, "a", "", "", 2.0)], Cell(), Scale.RATIO)
    assert table.values["a"] == {1: 2.0}
    assert "more than one value" in table.left_out["a"][0]


def test_an_array_has_nan_where_a_value_is_missing() -> None:
    blocks, array = arrange(columns({"a": [1.0, 2.0], "b": [3.0]}), Cell(), Scale.RATIO).array()
    assert blocks == (1, 2)
    np.testing.assert_array_equal(array, [[1.0, 3.0], [2.0, nan]])


def test_contrasts_are_made_within_blocks_and_gaps_are_named() -> None:
    table = arrange(columns({"base": [10.0, None, 20.0, 40.0], "a": [11.0, 12.0, 22.0]}), Cell(), Scale.RATIO)
    pairing = contrast(table, "a", "base", Scale.RATIO)
    assert pairing.blocks == (1, 3)
    np.testing.assert_allclose(pairing.values, [log(1.1), log(1.1)])
    assert any("block 2" in reason for reason in pairing.left_out)
    assert not any("block 4" in reason for reason in pairing.left_out)  # the baseline runs on: no gap


def test_a_treatment_or_a_baseline_without_a_valid_trial_is_named() -> None:
    table = arrange(columns({"a": [1.0]}), Cell(), Scale.RATIO)
    assert "b has no valid trial" in contrast(table, "b", "a", Scale.RATIO).left_out
    assert "z has no valid trial" in contrast(table, "a", "z", Scale.RATIO).left_out
    zero = arrange(columns({"a": [1.0], "b": [0.0]}), Cell(), Scale.RATIO)
    assert "b has no usable value" in contrast(zero, "b", "a", Scale.RATIO).left_out


def test_cells_never_mix() -> None:
    seen = columns({"a": [1.0]}, "threads=1") + columns({"a": [2.0]}, "threads=2")
    assert cells(seen) == (Cell("threads=1"), Cell("threads=2"))
    assert arrange(seen, Cell("threads=2"), Scale.RATIO).values == {"a": {1: pytest.approx(2.0)}}


def test_a_trial_is_left_out_for_one_reason() -> None:
    seen = columns({"base": [1.0, 0.0, 1.0, 1.0], "a": [0.0, 1.0, None, 1.0]})
    pairing = contrast(arrange(seen, Cell("", ""), Scale.RATIO), "a", "base", Scale.RATIO)
    assert pairing.blocks == (4,)
    assert pairing.left_out == (
        "block 1: a has the value 0, and a ratio needs a positive one",
        "block 3: a has no value",
        "block 2: base has the value 0, and a ratio needs a positive one",
    )
