"""How many trials each step of an advice gets; a budget in which nothing could be proved is refused, with the least."""

from dataclasses import dataclass

from pgassay.advise import messages
from pgassay.advise.robust import ARMS_MAX
from pgassay.advise.screening import batches_needed, rows_needed

PAIRS_A_BATCH = 3
"""Rows with their mirrors that share one trial of the start."""
BATCH = 6
"""Proposals that share one trial of the start."""
LINES_MAX = 6
"""Settings that are searched, and so lines that may be recommended."""
BLOCKS_MIN, BLOCKS_MAX = 5, 20
_BATCHES_MIN = 3
_PROOF_ARMS = 4
"""The advice, the start, the default, the rule of thumb."""
_SEARCH_SHARE, _ELIMINATION_SHARE = 0.55, 0.2
"""Of the time to spare; the rest is the confirmation's. More search was worth more than more elimination, simulated."""
_ROBUST_SHARE = 0.1
"""Of the time to spare, where an advice is tried at other loads: taken from the confirmation's."""
FRONT_POINTS, FRONT_POINTS_QUICK = 5, 3
"""Points of a front that are confirmed."""
_FRONT_SEARCH_SHARE = 0.5


@dataclass(frozen=True)
class Amounts:
    """What each step may take."""

    screening_pairs: int
    batches: int
    finalists: int
    elimination_s: float
    confirmation_s: float
    needed_s: float
    """The least that the whole would take."""
    blocks: int = 0
    """Of the confirmation of several objectives, which are fixed beforehand."""
    robust_s: float = 0.0
    """Of the trials at other loads."""
    restoration_s: float = 0.0
    """Of putting lines back one at a time, which is seldom needed; none where the budget is small."""


def amounts(budget_s: float, trial_s: float, settings: int, *, finalists: int, conditions: int = 0) -> Amounts:
    """The steps within a budget; raises `UsageError` where it is too small, and says what it needs."""
    pairs = rows_needed(settings)
    searched = min(settings, LINES_MAX)
    screening = 2 * pairs + batches_needed(settings, PAIRS_A_BATCH)
    search = _BATCHES_MIN * (BATCH + 1)
    elimination = BLOCKS_MIN * (searched + 2 + 2)  # in turn, the rest
    restoration_s = trial_s * BLOCKS_MIN * (searched + 2 + 2)  # put back in turn, the rest
    finals = BLOCKS_MIN * (finalists + 1) if finalists > 1 else 0
    confirmation = BLOCKS_MIN * _PROOF_ARMS
    elsewhere = BLOCKS_MIN * ARMS_MAX * conditions
    needed_s = trial_s * (screening + search + finals + elimination + confirmation + elsewhere)
    if needed_s > budget_s:
        raise messages.too_small_budget(budget_s, needed_s, settings, trial_s)
    spare_s = budget_s - needed_s
    restores = spare_s >= 2 * restoration_s
    spare_s -= restoration_s if restores else 0.0
    batches = _BATCHES_MIN + int(spare_s * _SEARCH_SHARE // (trial_s * (BATCH + 1)))
    robust_share = _ROBUST_SHARE if conditions else 0.0
    return Amounts(
        pairs,
        batches,
        finalists,
        trial_s * (elimination + finals) + spare_s * _ELIMINATION_SHARE,
        trial_s * confirmation + spare_s * (1 - _SEARCH_SHARE - _ELIMINATION_SHARE - robust_share),
        needed_s,
        robust_s=trial_s * elsewhere + spare_s * robust_share,
        restoration_s=restoration_s if restores else 0.0,
    )


def batches_of(steps: Amounts, configurations: int) -> int:
    """Batches of a search in a space of so many configurations: of few, all are seen twice, and that is enough."""
    return min(steps.batches, max(2, -(-2 * configurations // BATCH)))


def front_amounts(budget_s: float, trial_s: float, settings: int, *, points: int) -> Amounts:
    """The steps for several objectives: no elimination. Raises `UsageError` where the budget is too small."""
    pairs = rows_needed(settings)
    screening = 2 * pairs + batches_needed(settings, PAIRS_A_BATCH)
    arms = points + _PROOF_ARMS - 1
    needed_s = trial_s * (screening + _BATCHES_MIN * (BATCH + 1) + BLOCKS_MIN * arms)
    if needed_s > budget_s:
        raise messages.too_small_budget(budget_s, needed_s, settings, trial_s)
    spare_s = budget_s - needed_s
    batches = _BATCHES_MIN + int(spare_s * _FRONT_SEARCH_SHARE // (trial_s * (BATCH + 1)))
    blocks = min(BLOCKS_MAX, BLOCKS_MIN + int(spare_s * (1 - _FRONT_SEARCH_SHARE) // (trial_s * arms)))
    return Amounts(pairs, batches, points, 0.0, trial_s * arms * blocks, needed_s, blocks)
