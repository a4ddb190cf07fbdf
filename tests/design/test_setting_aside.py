"""What is left of a budget goes where it decides most: arms that it cannot decide make room for those that it can."""

from collections import Counter
from collections.abc import Mapping
from math import exp, inf, log

import numpy as np
import pytest

from pgassay.analysis.compare import compare
from pgassay.analysis.observations import Observation
from pgassay.analysis.verdicts import SET_ASIDE, SETTLED, Kind, Verdict, verdict
from pgassay.design import schedule
from pgassay.design.schedule import Drop, History, next_decision
from pgassay.study.responses import Better, Response

from ._make import Verdicts, no_verdicts, play, settled, study

TPS = Response("tps", "transactions per second", "1/s", Better.HIGHER)
EFFECTS = (0.0, log(1.06), log(1.02), log(1.02))


def needing(blocks: Mapping[str, int | None], done: Verdicts = no_verdicts) -> Verdicts:
    """Arms to the blocks that they still need after five; `done` are those that are settled meanwhile."""

    def verdicts(history: History) -> Mapping[str, Verdict]:
        def more(count: int | None) -> int | None:
            return None if count is None else max(1, count - (history.block - 5))

        still = {arm: Verdict(Kind.UNRESOLVED, "unresolved", more(count)) for arm, count in blocks.items()}
        return {**still, **done(history)}

    return verdicts


def test_arms_out_of_reach_make_room_for_one_within() -> None:
    """Five blocks of four arms take 20 of 40 s; eight more of all would take 32, of f=0 and f=1 alone 16."""
    ends = needing({"f=1": 8, "f=2": 300, "f=3": None}, lambda history: settled("f=1") if history.block >= 13 else {})
    history, trials, drops, stop = play(study(4, blocks_max=30, budget_s=40.0), verdicts=ends)
    assert [(drop.arm.name, drop.failed) for drop in drops] == [("f=3", False), ("f=2", False)]
    assert drops[0].reason.startswith(f"{SET_ASIDE}: no affordable number of blocks would settle it")
    assert drops[1].reason.startswith(f"{SET_ASIDE}: it needs about 300 more blocks")
    assert Counter(trial.arm.name for trial in trials) == {"f=0": 13, "f=1": 13, "f=2": 5, "f=3": 5}
    assert history.block == 13
    assert stop is not None
    assert stop.reason == "every verdict that the budget allows is settled; 2 treatments set aside"


@pytest.mark.parametrize(
    ("budget_s", "blocks", "why"),
    [
        (52.0, {"f=1": 8, "f=2": 300, "f=3": None}, "there is time for all of them"),
        (None, {"f=1": 8, "f=2": 300, "f=3": None}, "nothing is scarce"),
        (20.9, {"f=1": 2, "f=2": 300, "f=3": None}, "not even the smaller block fits"),
        (40.0, {"f=1": 300, "f=2": 300, "f=3": None}, "no other arm would gain"),
        (40.0, {"f=1": 8, "f=2": 19, "f=3": 20}, "the forecast is too rough to give up at twice what was possible"),
    ],
)
def test_nobody_is_set_aside_without_need(budget_s: float | None, blocks: dict[str, int | None], why: str) -> None:
    asked = study(4, blocks_max=30, budget_s=budget_s)
    history, _, drops, _ = play(asked, verdicts=needing(blocks), steps=20)
    assert (history.block, drops) == (5, [])
    assert not isinstance(next_decision(asked, 1, history, needing(blocks)(history)), Drop), why


def test_the_last_arm_of_a_condition_takes_its_baseline_along() -> None:
    ends = needing(
        {"f=1, c=0": 8, "f=1, c=1": None}, lambda history: settled("f=1, c=0") if history.block >= 13 else {}
    )
    _, trials, drops, _ = play(study(2, conditions=2, blocks_max=30, budget_s=40.0), verdicts=ends)
    assert [drop.arm.name for drop in drops] == ["f=1, c=1", "f=0, c=1"]
    assert drops[1].reason.startswith(SETTLED), "a baseline that nobody needs is no failure"
    assert Counter(trial.arm.name for trial in trials)["f=1, c=0"] == 13


def simulated(seed: int) -> Verdicts:
    """f=1 is 6 % faster; f=2 and f=3 sit on the margin of 2 %, where nothing is ever told soon. CV 3 %."""
    noise = np.random.default_rng(seed).normal(0.0, 0.03, (60, 4))

    def verdicts(history: History) -> Mapping[str, Verdict]:
        seen = [
            Observation(trial.block, trial.arm, "", "", 1000.0 * exp(noise[trial.block, arm] + EFFECTS[arm]))
            for trial in history.trials
            for arm in [int(trial.arm[2:])]
        ]
        if history.block < 5:
            return {}
        effects = compare(seen, TPS, "f=0", blocks_max=30, primary=True, comparisons=3)
        return {each.treatment: verdict(each, TPS, resolution=0.02, blocks_max=30) for each in effects}

    return verdicts


def test_more_is_decided_than_when_all_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time for nine blocks of four arms, or for thirteen of the two that matter after five of all."""
    asked = study(4, blocks_max=30, budget_s=36.0)

    def decided() -> Counter[str]:
        found: Counter[str] = Counter()
        for seed in range(40):
            history, _, drops, _ = play(asked, verdicts=simulated(seed))
            found.update(drop.arm.name for drop in drops if drop.reason.startswith(SETTLED))
            last = simulated(seed)(history)
            found.update(arm for arm, each in last.items() if each.settled and arm not in history.drops)
        return found

    ours = decided()
    monkeypatch.setattr(schedule, "HOPELESS", inf)
    others = decided()
    assert ours["f=1"] >= others["f=1"] + 5
    assert sum(ours.values()) > sum(others.values())
