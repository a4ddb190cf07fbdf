"""A study of power cuts with an asked bound: each arm by its own cuts, and the run ends when each is unsafe or safe."""

from collections.abc import Mapping
from dataclasses import replace
from math import ceil

import pytest

from pgassay.analysis.power_cuts import epochs_below, sequence_upper
from pgassay.analysis.verdicts import Kind, Verdict
from pgassay.design.risk import Cuts, verdict_of
from pgassay.design.schedule import History
from pgassay.study.model import Study
from pgassay.study.responses import Status

from ._make import play, study

BELOW = 0.1
SAFE_AFTER = epochs_below(BELOW)


def asked(treatments: int = 3, blocks_max: int = 30) -> Study:
    """Of five blocks at least."""
    plain = study(treatments, blocks_max=blocks_max)
    return replace(plain, design=replace(plain.design, risk_below=BELOW))


def test_one_damaging_cut_is_enough_and_none_needs_a_bound() -> None:
    assert verdict_of(Cuts(1, 4, 1), BELOW).kind is Kind.UNSAFE
    assert verdict_of(Cuts(5, SAFE_AFTER, 0), BELOW).kind is Kind.SAFE
    short = verdict_of(Cuts(5, SAFE_AFTER - 1, 0), BELOW)
    assert (short.kind, short.more_blocks) == (Kind.UNRESOLVED, 1)
    assert verdict_of(Cuts(), BELOW).more_blocks is None, "no cut was made, so nobody knows how many a block brings"


def test_a_bound_of_cuts_that_did_not_meet_what_damage_takes_settles_nothing() -> None:
    found = verdict_of(Cuts(5, 2 * SAFE_AFTER, 0, tried=False), BELOW)
    assert (found.kind, found.more_blocks, found.settled) == (Kind.UNRESOLVED, None, False)
    assert "did not meet" in found.text
    assert verdict_of(Cuts(5, 2 * SAFE_AFTER, 1, tried=False), BELOW).kind is Kind.UNSAFE


def test_the_bound_counts_only_epochs_after_a_whole_checkpoint_where_that_is_known() -> None:
    made = Cuts(5, 10 * SAFE_AFTER, 0, after=SAFE_AFTER - 1)
    short = verdict_of(made, BELOW)
    assert (short.kind, short.more_blocks) == (Kind.UNRESOLVED, 1)
    assert short.text.startswith(f"no power cut of {SAFE_AFTER - 1:,} epochs did damage")
    assert verdict_of(replace(made, after=SAFE_AFTER), BELOW).text.startswith(f"safe: no power cut of {SAFE_AFTER:,} ")
    assert verdict_of(replace(made, after=0), BELOW).more_blocks is None
    assert verdict_of(replace(made, damaged=2, after=0), BELOW).text.endswith(f"in 2 of {10 * SAFE_AFTER:,} epochs")


@pytest.mark.parametrize("below", [0.5, 0.01, 0.0003])
def test_the_epochs_that_a_bound_needs_are_the_least(below: float) -> None:
    needed = epochs_below(below)
    assert sequence_upper(0, needed) < below <= sequence_upper(0, needed - 1)


def cut_by_block(epochs: Mapping[str, int], damaged: Mapping[str, int], blocks_of: History) -> dict[str, Verdict]:
    done = {arm: len({trial.block for trial in blocks_of.trials if trial.arm == arm}) for arm in epochs}
    cuts = {arm: Cuts(done[arm], count * done[arm], damaged.get(arm, 0) * done[arm]) for arm, count in epochs.items()}
    return {arm: verdict_of(each, BELOW) for arm, each in cuts.items()}


def test_each_arm_leaves_by_itself_and_the_run_ends_with_the_last() -> None:
    epochs = {"f=0": SAFE_AFTER // 8, "f=1": 10, "f=2": SAFE_AFTER // 6}
    history, _, _, stop = play(asked(), verdicts=lambda so_far: cut_by_block(epochs, {"f=1": 1}, so_far))
    blocks = {arm: max(trial.block for trial in history.trials if trial.arm == arm) for arm in epochs}
    needed = {arm: ceil(SAFE_AFTER / each) for arm, each in epochs.items()}
    assert blocks == {**needed, "f=1": 5}, "the baseline stays for its own sake, not for the others"
    assert stop is not None
    assert stop.reason == "every verdict is settled"


def test_a_baseline_that_keeps_failing_takes_nobody_with_it() -> None:
    epochs = {"f=0": 0, "f=1": SAFE_AFTER, "f=2": SAFE_AFTER}
    history, _, _, stop = play(
        asked(),
        lambda trial: Status.OUTCOME if trial.arm.name == "f=0" else Status.VALID,
        verdicts=lambda so_far: cut_by_block(epochs, {}, so_far),
    )
    assert sum(trial.arm == "f=1" for trial in history.trials) == 5
    assert stop is not None
    assert stop.reason == "every verdict is settled"
