"""The rule by which runs are decided has a number that records tell: who changes the one has to raise the other."""

import hashlib
import json
import random
from collections.abc import Mapping

import pytest

from pgassay.analysis.observations import Observation
from pgassay.analysis.verdicts import SET_ASIDE, SETTLED, Verdict
from pgassay.design.schedule import RULE, RULES, History, RunTrial
from pgassay.design.stopping import merged, verdicts_of
from pgassay.study.model import Study
from pgassay.study.responses import Better, Response, Status

from ._make import Ruled, Verdicts, play, study
from .test_settling_too import QPS, SPACE, asked

TPS = Response("tps", "transactions per second", "1/s", Better.HIGHER)
PLANTED = {"f=0": 100.0, "f=1": 120.0, "f=2": 101.0, "f=3": 98.0}
DECIDED = {
    1: {
        "budget": "7c239ac911d50ed0",
        "curve": "6191221d9b4a434c",
        "drives": "4f24c743f3fe2461",
        "faults": "c2b948816aa42d88",
        "short": "dc7e36a4af3a0559",
    },
    2: {
        "budget": "7c239ac911d50ed0",
        "curve": "6191221d9b4a434c",
        "drives": "4f24c743f3fe2461",
        "faults": "c2b948816aa42d88",
        "short": "4901c3843309ef07",
    },
    3: {
        "budget": "7c239ac911d50ed0",
        "curve": "6191221d9b4a434c",
        "drives": "dd6e4a96709c1fe6",
        "faults": "c2b948816aa42d88",
        "short": "4901c3843309ef07",
    },
    4: {
        "budget": "7c239ac911d50ed0",
        "curve": "23a1fbf89a22b27f",
        "drives": "5451ddf15e40e60d",
        "faults": "c2b948816aa42d88",
        "short": "4901c3843309ef07",
    },
}
"""Digests of all that was decided, by the rule's number. After a change of the rule raise `RULE` and add a line: what
an older rule decided stays here, as it stays in the records."""


def seen(history: History, mine: Study, response: Response, spread: float) -> list[Observation]:
    """A value for every valid trial, the same each time it is asked for."""
    arms = {arm.name: arm for arm in mine.arms}
    found = []
    for trial in history.trials:
        arm = arms[trial.arm]
        noise = random.Random(f"{response.name}/{trial.block}/{trial.arm}").gauss(0.0, spread)
        value = PLANTED.get(arm.treatment.name, 100.0) * (1.0 + noise)
        if trial.status == Status.VALID:
            found.append(Observation(trial.block, arm.treatment.name, arm.condition.name, arm.covariate.name, value))
    return found


def judging(asked: Ruled, spreads: Mapping[Response, float]) -> Verdicts:
    """As a run judges, from responses with these spreads."""

    def verdicts(history: History) -> Mapping[str, Verdict]:
        mine = asked(history)
        judged = [
            (response, verdicts_of(mine, response, seen(history, mine, response, spread), gone=history.drops))
            for response, spread in spreads.items()
        ]
        return merged(judged)

    return verdicts


def failing(trial: RunTrial) -> Status:
    """f=3 fails for ever; one trial in seven is invalid."""
    if trial.arm.name == "f=3":
        return Status.OUTCOME
    return (
        Status.INVALID
        if random.Random(f"{trial.block}/{trial.arm.name}/{trial.attempt}").random() < 1 / 7
        else Status.VALID
    )


def kind_of(reason: str) -> str:
    """What a reason says, whatever its words: they may change without another rule."""
    return next((kind for kind in (SETTLED, SET_ASIDE) if reason.startswith(kind)), "failed")


def digest(name: str, rule: int) -> str:
    """Of every decision of one run."""
    cases = {
        "budget": (study(4, blocks_max=30, budget_s=40.0), {TPS: 0.02}),
        "curve": (study(1, covariates=3, blocks_max=10), {TPS: 0.02}),
        "drives": (asked(blocks_max=12, budget_s=40.0), {SPACE: 0.002, QPS: 0.04}),
        "faults": (study(4, blocks_max=10), {TPS: 0.03}),
        "short": (study(4, blocks_max=30, budget_s=36.0), {TPS: 0.08}),
    }
    mine, spreads = cases[name]
    outcome = failing if name == "faults" else lambda trial: Status.VALID
    asked_by = Ruled(mine, rule)
    _, trials, drops, stop = play(asked_by, outcome, judging(asked_by, spreads))
    assert stop is not None
    told = [
        [[trial.block, trial.arm.name, trial.attempt] for trial in trials],
        [[drop.arm.name, kind_of(drop.reason)] for drop in drops],
    ]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]


@pytest.mark.parametrize(("rule", "name"), [(rule, name) for rule, mine in DECIDED.items() for name in mine])
def test_what_is_decided_changes_with_the_number_of_the_rule_only(rule: int, name: str) -> None:
    found = digest(name, rule)
    assert found == DECIDED[rule][name], "another rule: raise design.schedule.RULE and add its digests here"


def test_every_rule_that_records_can_be_decided_by_has_its_digests() -> None:
    assert DECIDED.keys() == RULES
    assert max(RULES) == RULE
