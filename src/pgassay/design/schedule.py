"""Which trial comes next, which arm leaves, when the run ends: a pure function of study, seed and history.

The caller acts on one decision, adds what came of it to the history, and asks again; so a resumed run decides as an
uninterrupted one would. Invalid trials are repeated at the end of their block. Where servers take turns
(`design.pairing`), all arms of a cell are one decision, and are repeated together.

Randomised complete blocks: every arm still in play once, in an order that only the seed and the block decide. Blocks
come in pairs, the second in the mirrored order of the first (ABBA): a steady drift then cancels within the pair, where
free orders leave one chance in sixteen that five blocks all have the same. Arms are sorted by a hash of (seed, pair,
arm) and not shuffled: the order is the same in every Python version, does not depend on how the study lists its arms,
and leaving out an arm does not change the order of the others. Factors that are hard to change (`design.fixed_order`)
keep the study's order of levels; chance and mirror then rule within their groups.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf

from pgassay.analysis.numbers import duration, plural
from pgassay.analysis.verdicts import BASELINE, SET_ASIDE, SETTLED, Verdict
from pgassay.study.levels import Arm, Combination
from pgassay.study.model import ALTERNATE, Study
from pgassay.study.responses import Status


@dataclass(frozen=True)
class FinishedTrial:
    """One committed trial: `arm` is its label, `block` and `attempt` count from 1."""

    block: int
    arm: str
    attempt: int
    status: Status


@dataclass(frozen=True)
class History:
    """Finished trials in the order they ran, arms out of play with the reason, and the time used.

    `trial_s` is what a trial is expected to take, for each arm by label; `planned_s` for arms that it does not name.
    """

    trials: tuple[FinishedTrial, ...] = ()
    drops: Mapping[str, str] = field(default_factory=dict)
    elapsed_s: float = 0.0
    planned_s: float = 0.0
    trial_s: Mapping[str, float] = field(default_factory=dict)

    @property
    def block(self) -> int:
        """The number of the current block, which counts from 1; 0 before the first."""
        return max((trial.block for trial in self.trials), default=0)

    def in_block(self, block: int) -> dict[str, FinishedTrial]:
        """The last trial of each arm in `block`, by the arm's label."""
        return {trial.arm: trial for trial in self.trials if trial.block == block}

    def outcomes_in_a_row(self, arm: str) -> int:
        """How many of the arm's last trials failed because of its settings; invalid trials do not count.

        Of a block that was run again as a whole only the last trial counts.
        """
        count, seen = 0, set[int]()
        for trial in reversed(self.trials):
            if trial.arm != arm or trial.status is Status.INVALID or trial.block in seen:
                continue
            seen.add(trial.block)
            if trial.status is not Status.OUTCOME:
                break
            count += 1
        return count

    def block_s(self, arms: tuple[str, ...]) -> float:
        """How long a block of these arms (labels) is expected to take, in seconds."""
        return sum(self.trial_s.get(arm, self.planned_s) for arm in arms)


DRIVES = "drive."
"""How the names of the factors begin that say what lies under a server."""

ATTEMPTS_MAX = 3
"""A trial is run at most this often in its block: again while it is invalid."""

OUTCOMES_MAX = 3
"""An arm whose trials fail this often in a row because of its settings is dropped."""

_FAILING = f"{OUTCOMES_MAX} trials in a row failed because of its settings"
_NOTHING_LEFT = "no treatment is left beside the baseline"

INVALID_BLOCKS_MAX = 3
"""After this many blocks in a row without one usable trial the run ends: this machine is too busy."""

GRACE = 0.1
"""Until the least number of blocks is done, a block may overrun the budget by this share: a verdict is worth it."""

RULE = 4
"""The number of the rule by which all this is decided, `stopping` included. It goes up with every change that could
make other decisions from the same record; each record says by which rule it was made. 2: horizons from the budget and
moderated variances (see `horizon`). 3: responses in `design.settle` share one error rate (see `stopping.family`). 4:
looks are planned for twice the blocks, so that a run can be extended, and equivalence is judged by the interval that is
printed (see `horizon.ruled`)."""

RULES = frozenset({1, 2, 3, 4})
"""The rules that can be decided by: a record goes on, and is checked, by the rule that it began with."""

HOPELESS = 2.0
"""An arm is set aside when it needs this many times the blocks that the whole rest of the budget could give it. The
factor is large because a forecast from five blocks is rough."""


@dataclass(frozen=True)
class RunTrial:
    block: int
    arm: Arm
    attempt: int


@dataclass(frozen=True)
class RunBlock:
    """Run `arms` of `block` at once and in turns, those of one cell; `attempt` is above 1 when they were disturbed."""

    block: int
    arms: tuple[Arm, ...]
    attempt: int


@dataclass(frozen=True)
class Drop:
    """Leave `arm` out from now on: it is settled, or it keeps failing (`failed`)."""

    arm: Arm
    reason: str
    failed: bool


@dataclass(frozen=True)
class Stop:
    reason: str


Decision = RunTrial | RunBlock | Drop | Stop


def next_decision(study: Study, seed: int, history: History, verdicts: Mapping[str, Verdict] | None = None) -> Decision:
    """The next decision. `verdicts` are those that have to be settled, by the arm's label (see `stopping`).

    They matter only between blocks; within one they may be left out.
    """
    return (
        _failing(study, history)
        or _rest_of_block(study, seed, history)
        or _settled(study, history, verdicts or {})
        or _hopeless(study, history, verdicts or {})
        or _end(study, history)
        or next_in_block(study, seed, history.block + 1, replace(history, trials=()))
        or Stop(_NOTHING_LEFT)
    )


def next_in_block(study: Study, seed: int, block: int, history: History) -> RunTrial | RunBlock | None:
    """What comes next inside one block, with nothing but its own trials in the history; None at its end.

    So a host of a fleet runs a block whole, in the order that `next_decision` would have given it.
    """
    if history.trials:
        return _rest_of_block(study, seed, history)
    arms = order(study, seed, block, in_play(study, history))
    if not arms:
        return None
    return RunBlock(block, cells(arms)[0], 1) if study.design.pairing == ALTERNATE else RunTrial(block, arms[0], 1)


def in_play(study: Study, history: History) -> tuple[Arm, ...]:
    """The arms that were not dropped, in the study's order: those that the next block holds."""
    return tuple(arm for arm in study.arms if arm.name not in history.drops)


def is_baseline(study: Study, arm: Arm) -> bool:
    return _canonical(arm.treatment) == _canonical(study.design.baseline)


def baseline_name(study: Study) -> str:
    """The baseline's label as its trials carry it, however `design.baseline` was typed."""
    baseline = _canonical(study.design.baseline)
    names = (treatment.name for treatment in study.treatments if _canonical(treatment) == baseline)
    return next(names, study.design.baseline.name)


def is_reference(study: Study, arm: Arm) -> bool:
    """Are others compared with it? None are where each is judged by its own power cuts (`design.risk`)."""
    return study.design.risk_below is None and is_baseline(study, arm)


def own_baseline(study: Study, arm: Arm) -> Arm | None:
    """The arm with the baseline's levels, but on the drives of `arm`.

    None where that is the baseline, or this arm itself, or nothing that the study has.
    """
    drives = {name: level for name, level in _canonical(arm.treatment).items() if name.startswith(DRIVES)}
    rest = {name: level for name, level in _canonical(study.design.baseline).items() if not name.startswith(DRIVES)}
    mates = (other for other in study.arms if _same_cell(arm, other) and other != arm and not is_baseline(study, other))
    return next((other for other in mates if _canonical(other.treatment) == {**rest, **drives}), None)


def _canonical(combination: Combination) -> dict[str, str]:
    return {name: level.canonical for name, level in combination.levels.items()}


def between_blocks(study: Study, seed: int, history: History) -> bool:
    """True when the block in hand is complete, which is when verdicts are looked at."""
    return _failing(study, history) is None and _rest_of_block(study, seed, history) is None


def _failing(study: Study, history: History) -> Decision | None:
    """An arm that keeps failing leaves; when a baseline does, so does every arm that is compared with it."""
    arms = in_play(study, history)
    lost = [arm for arm in arms if history.outcomes_in_a_row(arm.name) >= OUTCOMES_MAX]
    for arm in lost:
        if not is_reference(study, arm):
            return Drop(arm, _FAILING, failed=True)
    for baseline in lost:
        mates = [arm for arm in arms if _same_cell(arm, baseline) and arm != baseline]
        if len(mates) + 1 == len(arms):
            times = f"{OUTCOMES_MAX} times in a row"
            return Stop(f"the baseline ({baseline.name or 'baseline'}) failed {times} because of its settings")
        if mates:
            return Drop(
                mates[0],
                f"its baseline ({baseline.name or 'baseline'}) kept failing, so it cannot be compared with anything",
                failed=True,
            )
        return Drop(baseline, _FAILING, failed=True)
    return None


def _rest_of_block(study: Study, seed: int, history: History) -> RunTrial | RunBlock | None:
    if history.block == 0:
        return None
    if study.design.pairing == ALTERNATE:
        return _rest_in_turns(study, seed, history)
    done = history.in_block(history.block)
    arms = order(study, seed, history.block, in_play(study, history))
    for arm in arms:
        if arm.name not in done:
            return RunTrial(history.block, arm, 1)
    again = [arm for arm in arms if done[arm.name].status is Status.INVALID and done[arm.name].attempt < ATTEMPTS_MAX]
    if not again:
        return None
    budget_s = study.design.budget_s
    if budget_s is not None:
        # Repetitions on a busy machine must not use up what the budget holds for later blocks.
        again = [arm for arm in again if history.elapsed_s + history.block_s((arm.name,)) <= budget_s]
        if not again:
            return None
    # Fewest attempts first, so that every invalid trial is tried once more before any is tried twice more.
    arm = min(again, key=lambda arm: done[arm.name].attempt)
    return RunTrial(history.block, arm, done[arm.name].attempt + 1)


def _rest_in_turns(study: Study, seed: int, history: History) -> RunBlock | None:
    """The next cell of the block in hand, then those that were disturbed once more, each as a whole.

    The trials of a cell are compared slice by slice, so one of them is of no use without the others.
    """
    done = history.in_block(history.block)
    again: list[tuple[int, tuple[Arm, ...]]] = []
    for arms in cells(order(study, seed, history.block, in_play(study, history))):
        attempt = max((done[arm.name].attempt for arm in arms if arm.name in done), default=0)
        if attempt == 0:
            return RunBlock(history.block, arms, 1)
        last = [done[arm.name] for arm in arms if arm.name in done and done[arm.name].attempt == attempt]
        disturbed = len(last) < len(arms) or any(trial.status is Status.INVALID for trial in last)
        if disturbed and attempt < ATTEMPTS_MAX:
            again.append((attempt, arms))
    budget_s = study.design.budget_s
    if budget_s is not None:
        again = [
            (attempt, arms)
            for attempt, arms in again
            if history.elapsed_s + history.block_s(tuple(arm.name for arm in arms)) <= budget_s
        ]
    if not again:
        return None
    attempt, arms = min(again, key=lambda each: each[0])
    return RunBlock(history.block, arms, attempt + 1)


def _settled(study: Study, history: History, verdicts: Mapping[str, Verdict]) -> Decision | None:
    """Arms with a verdict leave, baselines when nothing is left to compare with them; the run ends with the last."""
    if history.block < study.design.blocks_min:
        return None
    arms = in_play(study, history)
    decided = {arm.name for arm in arms if arm.name in verdicts and verdicts[arm.name].settled}
    decided -= _too_coarse(study, history, verdicts)
    open_arms = [arm for arm in arms if arm.name not in decided and not is_reference(study, arm)]
    alone = [arm for arm in arms if is_reference(study, arm) and arm.name not in decided and not _has_mates(study, arm)]
    if not open_arms and not alone:
        reasons = tuple(history.drops.values())
        if aside := sum(each.startswith(SET_ASIDE) for each in reasons):
            done = f"every verdict that the budget allows is settled; {aside} {plural('treatment', aside)} set aside"
            return Stop(done)
        settled = decided or any(each.startswith(SETTLED) for each in reasons)
        return Stop("every verdict is settled" if settled else _NOTHING_LEFT)
    needed = {name for arm in open_arms for name in _against(arm, verdicts)}
    for arm in arms:
        if arm.name in decided and arm.name not in needed:
            return Drop(arm, f"{SETTLED}: {verdicts[arm.name].text}", failed=False)
    with_baseline = [arm for arm in open_arms if BASELINE in _against(arm, verdicts)]
    for arm in arms:
        if is_reference(study, arm) and arm not in alone and not any(_same_cell(arm, other) for other in with_baseline):
            return Drop(arm, f"{SETTLED}: no treatment is left to compare with it", failed=False)
    return None


def _too_coarse(study: Study, history: History, verdicts: Mapping[str, Verdict]) -> frozenset[str]:
    """Labels of the arms that stay although they have a verdict, for an interval as narrow as `design.precision`.

    They leave all the same when the rest of the budget would not bring the others to a verdict along with them.
    """
    arms = in_play(study, history)
    coarse = frozenset(arm.name for arm in arms if arm.name in verdicts and not verdicts[arm.name].precise)
    budget_s = study.design.budget_s
    if not coarse or budget_s is None:
        return coarse
    undecided = [arm for arm in arms if arm.name in verdicts and not verdicts[arm.name].settled]
    needed = max((blocks_needed(verdicts[arm.name]) for arm in undecided), default=0.0)
    block_s = history.block_s(tuple(arm.name for arm in arms))
    return coarse if needed * block_s <= budget_s - history.elapsed_s else frozenset()


def _against(arm: Arm, verdicts: Mapping[str, Verdict]) -> tuple[str, ...]:
    return verdicts[arm.name].against if arm.name in verdicts else (BASELINE,)


def _hopeless(study: Study, history: History, verdicts: Mapping[str, Verdict]) -> Drop | None:
    """An arm that the rest of the budget cannot settle is set aside if it would keep others from their verdicts.

    While there is time for all it stays, because its interval gets narrower. Its own data can only make the looks at
    it fewer, never more, so error rates hold.
    """
    design = study.design
    if design.budget_s is None or history.block < design.blocks_min:
        return None
    left_s = design.budget_s - history.elapsed_s
    arms = in_play(study, history)
    judged = [arm for arm in arms if arm.name in verdicts and not is_reference(study, arm)]
    open_arms = [arm for arm in judged if not verdicts[arm.name].settled]  # one that others are held against may stay
    still = {arm.name: blocks_needed(verdicts[arm.name]) for arm in open_arms}
    reach = {arm.name: _alone(study, history, _against(arm, verdicts), arm, left_s) for arm in open_arms}
    far = [arm for arm in open_arms if still[arm.name] > HOPELESS * reach[arm.name]]
    needed = {name for arm in open_arms if arm not in far for name in _against(arm, verdicts)}
    lost = [arm for arm in far if arm.name not in needed]
    near = [still[arm.name] for arm in open_arms if arm not in far]
    if not lost or not near or max(near) * history.block_s(tuple(arm.name for arm in arms)) <= left_s:
        return None
    if history.block_s(tuple(arm.name for arm in arms if arm not in lost)) > left_s:
        return None
    worst = max(lost, key=lambda arm: still[arm.name])
    more = verdicts[worst.name].more_blocks
    needs = "no affordable number of blocks would settle it" if more is None else f"it needs about {more} more blocks"
    why = f"{SET_ASIDE}: {needs}, so the rest of the budget goes to the treatments that it can settle"
    return Drop(worst, why, failed=False)


def blocks_needed(verdict: Verdict) -> float:
    """How many more an open verdict needs; infinite where no number is known."""
    return inf if verdict.more_blocks is None else float(verdict.more_blocks)


def _alone(study: Study, history: History, against: Collection[str], arm: Arm, left_s: float) -> float:
    """How many blocks `arm` could still get if only it and what it is compared with were run."""
    mates = [other.name for other in study.arms if other.name in against]
    if BASELINE in against:
        mates += [other.name for other in study.arms if _same_cell(arm, other) and is_reference(study, other)]
    block_s = history.block_s((arm.name, *mates))
    fit = left_s // block_s if block_s > 0.0 else inf
    return max(1.0, min(fit, study.design.blocks_max - history.block))


def _end(study: Study, history: History) -> Stop | None:
    design, done = study.design, history.block
    arms = in_play(study, history)
    if done and all(is_reference(study, arm) and _has_mates(study, arm) for arm in arms):
        return Stop(_NOTHING_LEFT)
    if done >= design.blocks_max:
        if design.blocks_asked is not None and design.budget_s is not None:
            budget = duration(design.budget_s)
            return Stop(
                f"the budget of {budget} ended the run: it holds {done} blocks of at most {design.blocks_asked}"
            )
        return Stop(blocks_done(done))
    recent = range(max(1, done - INVALID_BLOCKS_MAX + 1), done + 1)
    if len(recent) == INVALID_BLOCKS_MAX and all(
        trial.status is Status.INVALID for block in recent for trial in history.in_block(block).values()
    ):
        return Stop(f"every trial of the last {INVALID_BLOCKS_MAX} blocks was invalid: this machine is too busy")
    if design.budget_s is None or done == 0:
        return None  # the first block always runs: without it nothing at all is known
    grace = GRACE if done < design.blocks_min else 0.0
    after = history.elapsed_s + history.block_s(tuple(arm.name for arm in arms))
    if after > design.budget_s * (1.0 + grace):
        return Stop(budget_done(done, design.blocks_min, design.budget_s))
    return None


def _same_cell(one: Arm, other: Arm) -> bool:
    return one.condition == other.condition and one.covariate == other.covariate


def _has_mates(study: Study, baseline: Arm) -> bool:
    """False when the study has nothing to set against this baseline (a study of covariates alone)."""
    return any(_same_cell(arm, baseline) and not is_reference(study, arm) for arm in study.arms)


def blocks_done(blocks: int) -> str:
    """Why the run ends: it has its largest number of blocks."""
    return "the only block is done" if blocks == 1 else f"all {blocks} blocks are done"


def budget_done(blocks: int, least: int, budget_s: float) -> str:
    """Why the run ends: the next block does not fit in the budget (seconds)."""
    text = f"the next block does not fit in the budget of {duration(budget_s)}"
    if blocks < least:
        run = "was run" if blocks == 1 else "were run"
        text += f": {blocks} of at least {least} {plural('block', least)} {run}, too few for a verdict"
    return text


def order(study: Study, seed: int, block: int, arms: Collection[Arm]) -> tuple[Arm, ...]:
    ranks = {}
    for name in study.design.fixed_order:
        seen = dict.fromkeys(arm.levels[name].canonical for arm in study.arms if name in arm.levels)
        ranks[name] = {canonical: place for place, canonical in enumerate(seen)}
    pair, second = divmod(block - 1, 2)

    def key(arm: Arm) -> tuple[tuple[int, ...], bytes]:
        levels = arm.levels
        # An arm without the factor (a partial treatment) comes first in its group.
        fixed = tuple(rank[levels[name].canonical] if name in levels else -1 for name, rank in ranks.items())
        digest = hashlib.sha256(f"{seed}/{pair}/{arm.name}".encode()).digest()
        return fixed, bytes(255 - byte for byte in digest) if second else digest

    return tuple(sorted(arms, key=key))


def cells(arms: Collection[Arm]) -> tuple[tuple[Arm, ...], ...]:
    """Those that are compared with each other: the arms of one condition and covariate point, in the order given."""
    found: dict[tuple[str, str], list[Arm]] = {}
    for arm in arms:
        found.setdefault((arm.condition.name, arm.covariate.name), []).append(arm)
    return tuple(map(tuple, found.values()))


def turns(seed: int, block: int, round_: int, names: Sequence[str]) -> tuple[str, ...]:
    """The order in which the servers of an alternating block play in one of its rounds (from 1).

    Rounds come in pairs, the second in the mirrored order of the first: ABBA for two, and for more a permutation with
    its mirror. Which permutation is drawn by a hash, as the order of a block is.
    """
    pair, second = divmod(round_ - 1, 2)
    drawn = sorted(names, key=lambda name: hashlib.sha256(f"turn/{seed}/{block}/{pair}/{name}".encode()).digest())
    return tuple(reversed(drawn)) if second else tuple(drawn)


def rounds_of(duration_s: float, slice_s: float) -> int:
    """How many rounds an alternating block has: even, so that each order has its mirror, and at least two."""
    return max(2, 2 * round(duration_s / slice_s / 2))


def cautions(study: Study) -> tuple[str, ...]:
    """A sentence for the report about each factor that keeps its order inside a block."""
    return tuple(
        f"{name} keeps its order inside every block, so drift within a block would look like its effect"
        for name in study.design.fixed_order
    )
