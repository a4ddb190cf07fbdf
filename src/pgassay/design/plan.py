"""How large a study is, before it runs: trials, time, and whether the budget is enough.

Without a noise (from `calibrate`, or an earlier run) only the least and the most are known.
"""

from dataclasses import dataclass
from math import ceil, log, sqrt

from pgassay.analysis.boundaries import FIRST_LOOK
from pgassay.analysis.forecast import blocks_to_distinguish, blocks_to_show_equivalence
from pgassay.analysis.numbers import duration, percent, plural
from pgassay.design import risk
from pgassay.design.schedule import is_baseline
from pgassay.study.model import Study


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
        # Looks are planned as far as the budget goes (see `horizon`).
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
