"""How many trials each step of an advice gets; a budget in which nothing could be proved is refused, with the least."""

from dataclasses import dataclass, replace
from math import ceil

from pgassay.advise.screening import (
    SPARE,
    SPARE_APART,
    batches_needed,
    least_pairs,
    rows_needed,
)
from pgassay.errors import UsageError
from pgassay.report.formatting import counted

PAIRS_A_BATCH = 3
"""Rows with their mirrors that share one trial of the start."""
BATCH = 6
"""Proposals that share one trial of the start."""

SEARCHED_MAX = 10
"""Settings that are searched."""
LINES_MAX, LINES_QUICK = 6, 4
"""Lines that are put to the proof, unless the screening has shown more to help; and so many of the quick form."""
BLOCKS_MIN, BLOCKS_MAX = 5, 20
_BATCHES_MIN = 3
REFERENCES = 3
"""The start, the default, the rule of thumb."""
_PROOF_ARMS = 1 + REFERENCES
"""Along with the advice."""
_SEARCH_SHARE, _LINES_SHARE = 0.7, 0.2
"""Of the time to spare; the rest is the confirmation's."""
POINTS, POINTS_QUICK = 5, 3
"""Of several objectives so many points are confirmed, and so many of the quick form."""
_SEARCH_SHARE_OF_POINTS = 0.5
"""Of the time to spare, where points are confirmed; the rest is the confirmation's."""


@dataclass(frozen=True)
class Turns:
    """How many settings are screened by servers in turns, and how long a trial of one takes then."""

    settings: int
    trial_s: float


@dataclass(frozen=True)
class Least:
    """The least that each step takes, and how the time to spare is shared."""

    screening_pairs: int
    finalists: int
    """Best configurations of the search that are set against each other, or points of several objectives."""
    trial_s: float
    """How long a trial is expected to take."""
    lines_s: float
    """Of the trials of lines in and out."""
    confirmation_s: float
    takeover_s: float = 0.0
    """Of proving the default or the rule of thumb where one does better."""
    lines_max: int = LINES_MAX
    """Lines that are put to the proof, unless the screening has shown more to help."""
    turns: Turns | None = None
    screening_s: float = 0.0
    search_share: float = _SEARCH_SHARE
    lines_share: float = _LINES_SHARE


@dataclass(frozen=True)
class Amounts:
    """What each step may take."""

    least: Least
    needed_s: float
    """The least that the whole would take."""
    spare_s: float
    """What all steps have beyond the least."""
    batches: int
    """Of the search."""
    lines_s: float
    confirmation_s: float
    takeover_s: float
    """None, and what does better is not taken, where there is no time."""

    @property
    def trial_s(self) -> float:
        return self.least.trial_s


def amounts(
    budget_s: float,
    trial_s: float,
    settings: int,
    *,
    finalists: int,
    objectives: int = 1,
    references: int = REFERENCES,
    turns: Turns | None = None,
    lines_max: int = LINES_MAX,
    spent_s: float = 0.0,
) -> Amounts:
    """The steps within a budget, of which `spent_s` is gone; raises `UsageError` where it is too small, and says what
    it needs.

    `references` are how many different configurations start, default and rule of thumb are.
    """
    apart = settings - turns.settings if turns else 0
    if turns and not apart:  # then all that follows the screening is played in turns, too
        trial_s = turns.trial_s
    in_turns = rows_needed(turns.settings) if turns else 0
    pairs, lines = in_turns or rows_needed(settings), min(settings, lines_max)
    pairs += rows_needed(apart, SPARE_APART) if apart else 0
    others, spare = (apart, SPARE_APART) if turns else (settings, SPARE)
    trials = 2 * rows_needed(others, spare) + batches_needed(others, PAIRS_A_BATCH, spare) if others else 0
    screening_s = trial_s * trials + (turns.trial_s * 2 * in_turns if turns else 0.0)
    if objectives > 1:
        confirmation_s = trial_s * BLOCKS_MIN * (finalists + REFERENCES)
        least = Least(
            pairs, finalists, trial_s, 0.0, confirmation_s, screening_s=screening_s,
            search_share=_SEARCH_SHARE_OF_POINTS, lines_share=0.0,
        )  # fmt: skip
    else:
        least = Least(
            pairs,
            finalists,
            trial_s,
            lines_s=trial_s * 2 * least_pairs(lines),
            confirmation_s=trial_s * BLOCKS_MIN * (_PROOF_ARMS + lines),
            takeover_s=trial_s * BLOCKS_MIN * (references + 1) if references > 1 else 0.0,  # and what was left
            lines_max=lines_max,
            turns=turns,
            screening_s=screening_s,
        )
    finals = BLOCKS_MIN * (finalists + 1) if objectives == 1 < finalists else 0
    searched_s = trial_s * (_BATCHES_MIN * (BATCH + 1) + finals)
    needed_s = least.screening_s + searched_s + least.lines_s + least.confirmation_s
    if needed_s + spent_s > budget_s:
        given, needed = (f"{ceil(seconds / 60)} min" for seconds in (budget_s, needed_s + spent_s))
        raise UsageError(
            f"a budget of {given} is too small: {counted(settings, 'setting')}"
            f" {'needs' if settings == 1 else 'need'} at least {needed}",
            f"a trial takes about {trial_s:.3g} s: give a larger --budget, fewer settings with --only, or a shorter -T",
        )
    return _shared(least, needed_s, budget_s - spent_s - needed_s)


def _shared(least: Least, needed_s: float, spare_s: float) -> Amounts:
    """The least of each step, and its share of the time to spare."""
    takeover_s = least.takeover_s if spare_s >= least.takeover_s else 0.0
    given_s = spare_s - takeover_s
    return Amounts(
        least,
        needed_s,
        spare_s,
        _BATCHES_MIN + int(given_s * least.search_share // (least.trial_s * (BATCH + 1))),
        least.lines_s + given_s * least.lines_share,
        least.confirmation_s + given_s * (1 - least.search_share - least.lines_share),
        takeover_s,
    )


def spent(steps: Amounts, spent_s: float) -> Amounts:
    """What is left where so much was spent that is lines' in and out: theirs first, then the confirmation's.

    The confirmation keeps its least, and no step less than none: what is spent beyond that makes the whole longer.
    """
    over_s = max(0.0, spent_s - steps.lines_s)
    least_s = min(steps.confirmation_s, steps.least.confirmation_s)
    return replace(
        steps,
        lines_s=max(0.0, steps.lines_s - spent_s),
        confirmation_s=max(least_s, steps.confirmation_s - over_s),
    )


def at_pace(steps: Amounts, took_s: float, times: float, turned_times: float) -> Amounts:
    """What is left for the steps after a screening that `took_s`, whose trials took so many times their forecast.

    Trials that take turns have a pace of their own. Every step keeps its least; where there is no time even for that,
    the whole takes longer.
    """
    least = steps.least
    slower = replace(
        least,
        trial_s=times * least.trial_s,
        lines_s=times * least.lines_s,
        confirmation_s=times * least.confirmation_s,
        takeover_s=times * least.takeover_s,
        turns=replace(least.turns, trial_s=turned_times * least.turns.trial_s) if least.turns else None,
    )
    needed_s = took_s + times * (steps.needed_s - least.screening_s)
    return _shared(slower, needed_s, max(0.0, steps.needed_s + steps.spare_s - needed_s))


def batches_of(steps: Amounts, configurations: int, trial_s: float = 0.0) -> int:
    """Batches of a search in a space of so many configurations: of few, all are seen twice, and that is enough.

    Trials that take `trial_s`, longer than usual ones, are as many fewer, but no fewer than the least.
    """
    held = steps.batches
    if trial_s > steps.trial_s:
        held = min(held, max(_BATCHES_MIN, int(held * steps.trial_s / trial_s)))
    return min(held, max(2, -(-2 * configurations // BATCH)))


def unsearched_s(steps: Amounts, configurations: int, trial_s: float = 0.0) -> float:
    """What a search of so many configurations leaves of its time; none where the least takes more than that."""
    took = batches_of(steps, configurations, trial_s) * max(trial_s, steps.trial_s)
    return max(0.0, (BATCH + 1) * (steps.trial_s * steps.batches - took))


def blocks_of(steps: Amounts, arms: int) -> int:
    trials = int(steps.confirmation_s / steps.trial_s + 1e-6)
    return max(BLOCKS_MIN, min(BLOCKS_MAX, trials // arms))
