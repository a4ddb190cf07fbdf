"""How many blocks the looks are planned for, fixed once before the first of them: a long horizon costs width at each.

The budget says it: a budget for six blocks must not pay for looks at thirty. Times of trials are known from the blocks
before the first look, which spend nothing, and say nothing about effects. There are two stages: the first as long as
the budget allows with every arm, the second for what is left when treatments with a verdict have gone.

A run may be extended later, for whatever reason: somebody has looked and wants to know more. That moves its end, not
its looks, which were planned for `ROOM` times the blocks before the first of them: error rates hold whenever it ends.
"""

from dataclasses import dataclass, replace

from pgassay.analysis.boundaries import FIRST_LOOK
from pgassay.design.schedule import History, is_baseline
from pgassay.study.model import Study

FIXED_AFTER = FIRST_LOOK - 1
"""The block after which it is fixed."""

NEARLY = 0.1
"""A block that lacks only this share of its time counts as one that fits: trials differ in length."""

FROM_RULE = 2
"""The first rule (`schedule.RULE`) with horizons from the budget, and with moderated variances."""

TOGETHER_FROM_RULE = 3
"""The first rule by which the comparisons of all responses in `design.settle` share one error rate."""


EXTENSIBLE_FROM_RULE = 4
"""The first rule whose looks are planned for more blocks than a run has by itself."""

PRINTED_FROM_RULE = 4
"""The first rule that judges equivalence by the interval that is printed, as everything else."""

ROOM = 2
"""How many times the blocks of both stages the looks are planned for. The first stage spends `boundaries.FIRST_STAGE`
of the error, so this costs 3 % of an interval's width; from twice the blocks it gives back 16 %."""


@dataclass(frozen=True)
class Extension:
    """How far a run goes on that has ended, or would end earlier. `budget_s` counts from its start; None: no limit."""

    blocks_min: int
    blocks_max: int
    budget_s: float | None


@dataclass(frozen=True)
class Horizon:
    """Blocks of the first stage of looks, and of both together; the same number where there is one stage."""

    first: int
    last: int


def horizon_of(study: Study, history: History) -> Horizon:
    design = study.design
    most = design.blocks_max
    if design.budget_s is None or most <= FIRST_LOOK or history.block == 0:
        return Horizon(most, most)
    least = min(most, max(FIRST_LOOK, design.blocks_min))
    left_s = design.budget_s - history.elapsed_s
    arms = [arm for arm in study.arms if arm.name not in history.drops]
    first = _reach(history, left_s, tuple(arm.name for arm in arms), least, most)
    compared = [arm for arm in arms if not is_baseline(study, arm)]
    if len(compared) < 2:
        return Horizon(first, first)
    # At best all but one leave after the first look; the shortest pair is reached farthest.
    left_s -= history.block_s(tuple(arm.name for arm in arms)) * (FIRST_LOOK - history.block)
    baselines = [arm for arm in arms if is_baseline(study, arm)]
    mates = (
        (
            arm.name,
            *(each.name for each in baselines if (each.condition == arm.condition and each.covariate == arm.covariate)),
        )
        for arm in compared
    )
    later = (_reach(history, left_s, pair, first, most, FIRST_LOOK) for pair in mates)
    return Horizon(first, max(later))


def _reach(
    history: History, left_s: float, arms: tuple[str, ...], least: int, most: int, done: int | None = None
) -> int:
    """The number of the last block that fits when each of those to come holds these arms (labels)."""
    block_s = history.block_s(arms)
    fit = int(left_s / block_s + NEARLY) if block_s > 0.0 else most
    return max(least, min(most, (history.block if done is None else done) + fit))


def reach(rule: int, horizon: Horizon) -> int:
    """The last block that a look is planned for: no run is extended beyond it."""
    return horizon.last * ROOM if rule >= EXTENSIBLE_FROM_RULE else horizon.last


def fixed_before(study: Study) -> Horizon:
    """The horizon of the rules before `FROM_RULE`: the study's own number of blocks, from the start."""
    return Horizon(study.design.blocks_max, study.design.blocks_max)


def ruled(study: Study, rule: int, horizon: Horizon | None, extension: Extension | None = None) -> Study:
    """The study as a record's rule judges it: by which interval, with the fixed horizon (None: not fixed yet),
    moderated variances, one error rate for all that is to be settled in addition to the primary response, and the end
    that it was extended to."""
    design = replace(study.design, inner=rule < PRINTED_FROM_RULE)
    if rule >= FROM_RULE:
        design = replace(design, moderated=True, together=rule >= TOGETHER_FROM_RULE)
        if horizon is not None:
            stage = horizon.first if horizon.first < reach(rule, horizon) else None
            asked = design.blocks_max if horizon.last < design.blocks_max else None
            design = replace(design, blocks_max=horizon.last, stage=stage, blocks_asked=asked)
            if rule >= EXTENSIBLE_FROM_RULE:
                design = replace(design, horizon=reach(rule, horizon))
    if extension is not None:
        planned = horizon if horizon is not None or rule >= FROM_RULE else fixed_before(study)
        most = extension.blocks_max if planned is None else min(extension.blocks_max, reach(rule, planned))
        design = replace(
            design,
            blocks_min=extension.blocks_min,
            blocks_max=most,
            budget_s=extension.budget_s,
            blocks_asked=None,
        )
        if planned is not None:
            design = replace(design, horizon=reach(rule, planned))
    return study if design == study.design else replace(study, design=design)
