"""Thresholds against what was measured: pass, fail, or not known while an interval holds both.

A change is judged by the interval of its effect, the one that a page shows. A value is judged by the interval of the
treatment's own mean over the blocks (geometric on a ratio scale), for all such means together and at every look. One
rule for both: the whole interval on the good side passes, the whole interval on the other side fails.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite

from pgassay.analysis.boundaries import FIRST_LOOK
from pgassay.analysis.effects import Certainty, Effect, mean_of
from pgassay.analysis.explanation import not_judged_yet
from pgassay.analysis.observations import Observation, arrange, tables
from pgassay.analysis.verdicts import not_compared
from pgassay.study.levels import Place
from pgassay.study.responses import Response
from pgassay.study.thresholds import Limit


class Outcome(StrEnum):
    """What became of a threshold."""

    PASS = "pass"
    FAIL = "fail"
    UNKNOWN = "not known"


@dataclass(frozen=True)
class Mean:
    """A response's mean over the blocks at one place, with its interval; unbounded below five blocks."""

    place: Place
    response: str
    blocks: int
    estimate: float
    low: float
    high: float
    level: float
    comparisons: int
    method: str


@dataclass(frozen=True)
class Judgement:
    """One threshold at one place. The estimate is a ratio or difference for a change, else in the response's unit.

    `why` says of one that is not known what keeps it from being known.
    """

    limit: Limit
    place: Place
    outcome: Outcome
    blocks: int
    estimate: float
    low: float
    high: float
    level: float
    comparisons: int
    method: str
    why: str = ""

    @property
    def bounded(self) -> bool:
        return isfinite(self.estimate) and isfinite(self.high)


def means(
    observations: Sequence[Observation], response: Response, places: Iterable[Place], certainty: Certainty
) -> tuple[Mean, ...]:
    """The mean of each place, with an interval that shares its error rate as `certainty` says."""
    known = tables(observations, response.scale)
    found = []
    for place in places:
        table = known.get(place.cell) or arrange((), place.cell, response.scale)
        values = table.values.get(place.treatment, {}).values()
        mean = mean_of(values, response.scale, certainty)
        ends = mean.ends(response.scale)
        method = certainty.method.replace("block-wise contrasts", "the values of the blocks")
        found.append(Mean(place, response.name, mean.blocks, *ends, certainty.level, certainty.comparisons, method))
    return tuple(found)


def judge_value(limit: Limit, mean: Mean, objection: str = "") -> Judgement:
    """A threshold on a value; `objection` says why the value counts for nothing, where it does."""
    return _judgement(limit, mean, objection or _too_early(mean.blocks, mean.high))


def judge_change(limit: Limit, effect: Effect, objection: str = "") -> Judgement:
    """A threshold on a change against the baseline, by the effect's own interval."""
    refused = not_compared(effect.refused) if effect.refused else ""
    why = objection or refused or effect.nothing_in_common or _too_early(effect.blocks, effect.high)
    return _judgement(limit, effect, why)


def _too_early(blocks: int, high: float) -> str:
    if blocks < FIRST_LOOK:
        return not_judged_yet(blocks, FIRST_LOOK)
    return "" if isfinite(high) else "there is no interval"


def _judgement(limit: Limit, found: Mean | Effect, why: str) -> Judgement:
    worst, best = (found.high, found.low) if limit.relation.bounds_above else (found.low, found.high)
    if why:
        outcome = Outcome.UNKNOWN
    elif limit.relation.holds(worst, limit.value):
        outcome = Outcome.PASS
    elif limit.relation.holds(best, limit.value):
        outcome, why = Outcome.UNKNOWN, "the interval holds both"
    else:
        outcome = Outcome.FAIL
    return Judgement(
        limit, found.place, outcome, found.blocks, found.estimate, found.low, found.high, found.level,
        found.comparisons, found.method, why,
    )  # fmt: skip
