"""Decisions are journalled and read back; the hash of their inputs is the same for the same inputs."""

import pytest

from pgassay.record.errors import RecordError
from pgassay.record.journal import (
    Decision,
    Entry,
    Kind,
    Step,
    decisions_in,
    extended_in,
    horizon_in,
    inputs_sha256,
)
from tests.record.runs import create, fake_disk, trial


def test_a_decision_reads_back_as_it_was_made() -> None:
    made = (
        Decision(Step.NEXT, inputs_sha256(42, ()), 0.0, 0.0, "build.block_size=8kB", 1, 1, 1),
        Decision(Step.DROP, inputs_sha256(42, (trial(1),)), 61.5, 61.5, "build.block_size=4kB", reason="fails"),
        Decision(Step.STOP, inputs_sha256(42, (trial(1), trial(2))), 125.0, 123.0, reason="budget"),
    )
    run = create(fake_disk())
    for decision in made:
        run.decide(decision.as_data())
    assert decisions_in(run.journal.entries) == made


def test_more_blocks_than_any_study_has_are_damage() -> None:
    """Looks at 10^18 blocks kept `show` of a forged record busy without end."""
    run = create(fake_disk())
    run.decide(Decision(Step.NEXT, inputs_sha256(42, ()), 0.0, 0.0, "a", 1, 1, 1, stage=6, horizon=10**6).as_data())
    with pytest.raises(RecordError, match="horizon"):
        horizon_in(run.journal.entries)
    extended = Entry(1, 0, Kind.EXTENDED, {"blocks_min": 5, "blocks_max": 10**6, "budget_s": None})
    with pytest.raises(RecordError, match="blocks_max"):
        extended_in((extended,))


def test_the_hash_depends_on_the_inputs_and_not_on_the_order_of_keys() -> None:
    assert inputs_sha256({"a": 1, "b": trial(1)}) == inputs_sha256({"b": trial(1), "a": 1})
    different = {inputs_sha256(trial(1)), inputs_sha256(trial(2)), inputs_sha256(), inputs_sha256(trial(1), trial(1))}
    assert len(different) == 4
