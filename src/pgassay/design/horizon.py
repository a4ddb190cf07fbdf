"""How many blocks the looks of a study are planned for, and how large a study is before it runs.

The horizon is fixed once, before the first look, since a long one costs width at each. The budget decides it: a budget
for six blocks must not pay for looks at thirty. How long trials take is known from the blocks before the first look,
which spend nothing of the error, and say nothing about effects. There are two stages: the first as long as the budget
allows with every arm, the second for what is left when treatments with a verdict have gone.

A run may be extended later, for whatever reason: somebody has looked and wants to know more. That moves its end and no
look. Looks are planned, before the first of them, for `ROOM` times those blocks: error rates hold whenever a run ends.

Before a run its least and its greatest time are known, and whether the budget is enough; how many blocks a verdict
takes is known with a noise only (from `calibrate`, or an earlier run).
"""

from dataclasses import dataclass, replace
from math import ceil, log, sqrt
from typing import NamedTuple

from pgassay.analysis.boundaries import FIRST_LOOK
from pgassay.analysis.forecast import blocks_to_distinguish, blocks_to_show_equivalence
from pgassay.analysis.numbers import duration, percent, plural
from pgassay.design import risk
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


class Horizon(NamedTuple):
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


def ruled(study: Study, rule: int, fixed: tuple[int, int] | None, extension: Extension | None = None) -> Study:
    """The study as a record's rule judges it: by which interval, with the fixed horizon (None: not fixed yet),
    moderated variances, one error rate for all that is to be settled in addition to the primary response, and the end
    that it was extended to."""
    horizon = fixed and Horizon(*fixed)
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


@dataclass(frozen=True)
class Plan:
    """Sizes of a study. Times in seconds, None when not known; `warnings` are sentences for the user, if any.

    `blocks_affordable` is None without a budget; the two `…_needed` are None without a noise, or when out of reach:
    blocks to show two treatments equivalent within the resolution, and to tell a difference of it.
    """

    arms: int
    block_s: float | None
    time_min_s: float | None
    time_max_s: float | None
    blocks_affordable: int | None
    equivalence_needed: int | None
    difference_needed: int | None
    warnings: tuple[str, ...]


def plan(study: Study, trial_s: float | None, *, preparation_s: float = 0.0, noise: float | None = None) -> Plan:
    """Size `study` when a trial takes `trial_s` and what is prepared once takes `preparation_s`.

    A `trial_s` of None is not known before the first trial: then no time is estimated, and no budget judged.
    `noise` is the standard deviation of the logarithm of one trial's primary response within a block (0.03 is a CV of
    3 %); that of a contrast is larger by the square root of two.
    """
    design = study.design
    arms = len(study.arms)
    block_s = None if trial_s is None else arms * trial_s
    allowed = design.blocks_max
    few = design.blocks_max < FIRST_LOOK and study.primary != risk.UNSAFE  # each power cut is judged by itself
    warnings = []
    if few:
        of_them = f"{design.blocks_max} {plural('block', design.blocks_max)}"
        warnings.append(f"no verdict can come from {of_them}: the first comparison needs {FIRST_LOOK}")
    affordable = None
    if design.budget_s is not None and block_s:
        affordable = min(design.blocks_max, max(1, int((design.budget_s - preparation_s) // block_s)))
        allowed = affordable
        if affordable < design.blocks_min:
            least_s = preparation_s + design.blocks_min * block_s
            warnings.append(
                f"the budget of {duration(design.budget_s)} is too small: it holds about {affordable} "
                f"{plural('block', affordable)}, a verdict needs at least {design.blocks_min} ({duration(least_s)})"
            )
    equivalence = difference = None
    if noise is not None:
        spread, width = noise * sqrt(2.0), log(1.0 + design.resolution)
        comparisons = max(1, sum(not is_baseline(study, arm) for arm in study.arms))
        # Looks are planned as far as the budget goes (see `horizon_of`).
        most = max(allowed, min(design.blocks_min, design.blocks_max))
        cells = len({(arm.condition.name, arm.covariate.name) for arm in study.arms})
        together = max(1, comparisons // cells)
        equivalence = blocks_to_show_equivalence(
            spread, 0.0, width, comparisons=comparisons, blocks_max=most, together=together
        )
        difference = blocks_to_distinguish(spread, width, comparisons=comparisons, blocks_max=most, together=together)
        if equivalence is None or equivalence > allowed:
            needed_s = (
                None if equivalence is None or block_s is None else float(ceil(preparation_s + equivalence * block_s))
            )
            warnings.append(resolution_short(design.resolution, equivalence, needed_s, allowed))
    return Plan(
        arms=arms,
        block_s=block_s,
        time_min_s=None if block_s is None else preparation_s + design.blocks_min * block_s,
        time_max_s=None if block_s is None else preparation_s + design.blocks_max * block_s,
        blocks_affordable=affordable,
        equivalence_needed=equivalence,
        difference_needed=difference,
        warnings=tuple(warnings),
    )


def resolution_short(resolution: float, needed: int | None, needed_s: float | None, allowed: int) -> str:
    """A warning before the run: the resolution needs more blocks than are allowed. `resolution` is a share."""
    are = "is allowed" if allowed == 1 else "are allowed"
    if needed is None:
        which = f"{allowed} {plural('block', allowed)} {are}"
        return f"at this machine's noise ±{percent(resolution)} is out of reach, {which}"
    return (
        f"at this machine's noise ±{percent(resolution)} needs {needed} {plural('block', needed)}"
        f"{'' if needed_s is None else f', {duration(needed_s)}'}; {allowed} {are}"
    )
