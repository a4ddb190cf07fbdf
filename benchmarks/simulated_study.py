"""A study of simulated trials, scheduled and judged as the lab does it: looks, horizons, budgets, who leaves when.

The decisions are `pgassay.design`'s own, so a benchmark that plays its studies by this spends its time as a real run
would. Only the trials are made up. Every trial takes the same time.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pgassay.advise.space import Configuration, Space
from pgassay.advise.task import Compared, Question, document
from pgassay.analysis.observations import Observation
from pgassay.analysis.verdicts import verdict
from pgassay.design.horizon import FIXED_AFTER, horizon_of, ruled
from pgassay.design.schedule import RULE, Drop, FinishedTrial, History, RunTrial, Stop, between_blocks, next_decision
from pgassay.design.stopping import effects_of, verdicts_of
from pgassay.lab.run import write_study
from pgassay.study.model import SEQUENTIAL
from pgassay.study.responses import Response, Status

QUESTION = Question({"driver": "pgbench", "duration": "3s", "warmup": "1s", "checkpoint": "none"}, "tps")
Measured = Callable[[Configuration, int], float | None]
"""The value of a trial of a configuration in a block; None where it fails."""


@dataclass(frozen=True)
class Played:
    """What a study found, and the seconds that its trials took."""

    compared: dict[Configuration, Compared]
    took_s: float


def played(
    space: Space,
    everything: Sequence[Configuration],
    response: Response,
    measured: Measured,
    *,
    budget_s: float,
    trial_s: float,
    blocks: tuple[int, int],
    resolution: float,
    seed: int,
) -> Played:
    """The study of these configurations, of which the first is the baseline, until the lab would end it."""
    design = {"blocks": {"min": blocks[0], "max": blocks[1]}, "budget": f"{budget_s:.3f}s", "pairing": SEQUENTIAL}
    asked = document(replace(QUESTION, resolution=resolution), space, "simulated", everything, design)
    written = study = write_study("simulated", asked).study
    named = {each.name: one for each, one in zip(study.treatments, everything, strict=True)}
    history, horizon, seen = History(planned_s=trial_s), None, list[Observation]()
    failed = set[str]()
    while True:
        verdicts = {}
        if history.trials and between_blocks(study, seed, history):
            if horizon is None and history.block >= FIXED_AFTER:
                horizon = horizon_of(study, history)
            study = ruled(written, RULE, horizon)
            block_s = history.block_s(tuple(arm.name for arm in study.arms))
            verdicts = verdicts_of(study, response, seen, block_s=block_s, gone=history.drops)
        decision = next_decision(study, seed, history, verdicts)
        if isinstance(decision, Stop):
            break
        if isinstance(decision, Drop):
            history = replace(history, drops={**history.drops, decision.arm.name: decision.reason})
            continue
        assert isinstance(decision, RunTrial)
        name = decision.arm.treatment.name
        value = measured(named[name], decision.block)
        status = Status.OUTCOME if value is None else Status.VALID
        if value is None:
            failed.add(name)
        seen.append(Observation(decision.block, name, "", "", value))
        finished = FinishedTrial(decision.block, decision.arm.name, decision.attempt, status)
        history = replace(history, trials=(*history.trials, finished), elapsed_s=history.elapsed_s + trial_s)
    study = ruled(written, RULE, horizon)
    found = {}
    for effect in effects_of(study, response, seen).values():
        failure = "a trial has no result" if effect.treatment in failed else None
        judged = verdict(effect, response, resolution=resolution, blocks_max=study.design.blocks_max, failure=failure)
        found[named[effect.treatment]] = Compared(effect, judged)
    return Played(found, history.elapsed_s)
