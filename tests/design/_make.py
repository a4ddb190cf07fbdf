"""Small studies, and a machine that plays a schedule."""

from collections.abc import Callable, Mapping

from pgassay.analysis.verdicts import Kind, Verdict
from pgassay.design.horizon import FIXED_AFTER, Horizon, horizon_of, ruled
from pgassay.design.schedule import Drop, FinishedTrial, History, RunTrial, Stop, between_blocks, next_decision
from pgassay.study.levels import Combination, Level
from pgassay.study.model import Design, Study, combinations
from pgassay.study.responses import Status


def levels(*typed: str) -> tuple[Level, ...]:
    return tuple(Level(each, each) for each in typed)


def study(
    treatments: int = 3,
    *,
    conditions: int = 1,
    covariates: int = 1,
    blocks_min: int = 5,
    blocks_max: int = 8,
    budget_s: float | None = None,
    fixed_order: tuple[str, ...] = (),
) -> Study:
    """Treatments f=0 (the baseline), f=1 …, in conditions c=0 …, at points x=0 …"""
    factors = {"f": levels(*map(str, range(treatments)))}
    return Study(
        name="s",
        title="",
        question="",
        factors=factors,
        treatments=combinations(factors),
        conditions={"c": levels(*map(str, range(conditions)))} if conditions > 1 else {},
        covariates={"x": levels(*map(str, range(covariates)))} if covariates > 1 else {},
        design=Design(
            Combination({"f": Level("0", "0")}),
            blocks_min=blocks_min,
            blocks_max=blocks_max,
            budget_s=budget_s,
            fixed_order=fixed_order,
        ),
        primary="tps",
    )


Outcome = Callable[[RunTrial], Status]
Verdicts = Callable[[History], Mapping[str, Verdict]]


def always_valid(_: RunTrial) -> Status:
    return Status.VALID


def no_verdicts(_: History) -> Mapping[str, Verdict]:
    return {}


def settled(*arms: str) -> dict[str, Verdict]:
    return {arm: Verdict(Kind.BETTER, "better") for arm in arms}


class Ruled:
    """A study as a rule judges it: the horizon is fixed when it is due, as a run does."""

    def __init__(self, asked: Study, rule: int) -> None:
        self.asked, self.rule = asked, rule
        self.horizon: Horizon | None = None

    def __call__(self, history: History) -> Study:
        if self.horizon is None and history.block >= FIXED_AFTER and between_blocks(self.asked, 1, history):
            self.horizon = horizon_of(self.asked, history)
        return ruled(self.asked, self.rule, self.horizon)


def play(
    asked: Study | Ruled,
    outcome: Outcome = always_valid,
    verdicts: Verdicts = no_verdicts,
    *,
    seed: int = 1,
    trial_s: float = 1.0,
    start: History | None = None,
    steps: int = 10_000,
) -> tuple[History, list[RunTrial], list[Drop], Stop | None]:
    """Act on decisions until the stop, or for so many steps."""
    history = start or History(planned_s=trial_s)
    trials: list[RunTrial] = []
    drops: list[Drop] = []
    for _ in range(steps):
        mine = asked if isinstance(asked, Study) else asked(history)
        decision = next_decision(mine, seed, history, verdicts(history))
        if isinstance(decision, Stop):
            return history, trials, drops, decision
        if isinstance(decision, Drop):
            drops.append(decision)
            history = History(
                history.trials, {**history.drops, decision.arm.name: decision.reason}, history.elapsed_s, trial_s
            )
            continue
        assert isinstance(decision, RunTrial)
        trials.append(decision)
        done = FinishedTrial(decision.block, decision.arm.name, decision.attempt, outcome(decision))
        history = History((*history.trials, done), history.drops, history.elapsed_s + trial_s, trial_s)
    return history, trials, drops, None
