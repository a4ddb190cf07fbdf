"""Verdicts on effects and on thresholds, in DESIGN's words.

An effect is better, worse, equivalent within ±d, unresolved, or failed. Equivalence is judged first: a difference that
is certainly smaller than the asked resolution is of no use, even where its sign is certain. All is judged by the one
interval that is printed. Below five blocks nothing is ever decided.

A threshold passes, fails, or is not known while an interval holds both. A change is judged by the interval of its
effect, the one that a page shows. A value is judged by the interval of the treatment's own mean over the blocks
(geometric on a ratio scale), for all such means together and at every look. One rule for both: the whole interval on
the good side passes, the whole interval on the other side fails.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import isfinite, log

from pgassay.analysis.boundaries import FIRST_LOOK
from pgassay.analysis.effects import Certainty, Effect, mean_of, moderated_spread
from pgassay.analysis.forecast import blocks_on_hosts, blocks_to_verdict
from pgassay.analysis.hosts import BetweenHosts
from pgassay.analysis.numbers import change, duration, plural, tenths
from pgassay.analysis.observations import Observation, arrange, tables
from pgassay.study.levels import Place
from pgassay.study.responses import Better, Response, Scale
from pgassay.study.thresholds import Limit

SETTLED = "settled"
"""How the reason in a journal begins when an arm leaves the design because it is decided, not because it fails."""

SET_ASIDE = "set aside"
"""How it begins when an arm leaves because the rest of the budget can decide others, and not this one."""

BASELINE = ""
"""The name of the baseline among the arms that a verdict compares with."""


class Kind(StrEnum):
    """What a verdict says. `different` is for responses of which neither direction is better.

    `safe` and `unsafe` are about a treatment's own power cuts, not about a comparison (`power_cuts`).
    """

    BETTER = "better"
    WORSE = "worse"
    DIFFERENT = "different"
    EQUIVALENT = "equivalent"
    UNRESOLVED = "unresolved"
    FAILED = "failed"
    NOT_COMPARED = "not compared"
    SAFE = "safe"
    UNSAFE = "unsafe"


@dataclass(frozen=True)
class Verdict:
    """A verdict in words. `more_blocks` and `more_s` say what an unresolved one still needs; None when unknown.

    Below five blocks they are the least that it needs, and no forecast.
    """

    kind: Kind
    text: str
    more_blocks: int | None = None
    more_s: float | None = None
    against: tuple[str, ...] = (BASELINE,)
    """The labels of the arms that it compares with."""
    precise: bool = True
    """False of one that is settled while its interval is still wider than was asked for (`design.precision`)."""

    @property
    def settled(self) -> bool:
        """True when more blocks are not needed (or do not help)."""
        return self.kind is not Kind.UNRESOLVED


def verdict(
    effect: Effect,
    response: Response,
    *,
    resolution: float,
    blocks_max: int,
    block_s: float | None = None,
    failure: str | None = None,
) -> Verdict:
    """Judge `effect` at `resolution` (a share: 0.02 is ±2 %). `block_s`: seconds that one more block takes.

    `failure` says why the treatment was taken out of play, when it failed; what it showed before does not count then.
    """
    if failure is not None:
        return Verdict(Kind.FAILED, failed(failure))
    if effect.refused:
        return Verdict(Kind.NOT_COMPARED, not_compared(effect.refused))
    width = margin(effect.baseline_mean, response, resolution)
    if effect.blocks >= FIRST_LOOK and effect.bounded:
        if _within(*(effect.inner or (effect.low, effect.high)), effect.scale, width):
            return Verdict(Kind.EQUIVALENT, _equivalent(effect, response, width, resolution))
        if effect.low > effect.none or effect.high < effect.none:
            better = (effect.low > effect.none) == (response.better is Better.HIGHER)
            kind = Kind.BETTER if better else Kind.WORSE
            if response.better is Better.NEITHER:
                kind = Kind.DIFFERENT
            return Verdict(kind, f"{kind.value}: {response.title} {_amount(effect, response)}")
    left = blocks_max - effect.blocks
    if effect.blocks < FIRST_LOOK:  # a spread of so few contrasts says next to nothing of the noise
        missing, why = FIRST_LOOK - effect.blocks, effect.nothing_in_common
        more = f"at least {missing} more {plural('block', missing)} (a verdict takes {FIRST_LOOK})"
        text = f"unresolved: needs {more}{_room(missing, left)}{f'; {why}' if why else ''}"
        return Verdict(Kind.UNRESOLVED, text, missing, None if block_s is None else missing * block_s)
    total = _total(effect, width, blocks_max)
    if total is None and effect.between is not None:
        return Verdict(Kind.UNRESOLVED, more_hosts(effect.between))
    needed = None if total is None else max(1, total - effect.blocks)
    seconds = None if needed is None or block_s is None else needed * block_s
    return Verdict(Kind.UNRESOLVED, unresolved(needed, seconds, left), needed, seconds)


def _total(effect: Effect, width: float, blocks_max: int) -> int | None:
    comparisons, level, inner = effect.comparisons, effect.level, effect.inner is not None
    if effect.between is not None:
        return blocks_on_hosts(
            effect.between, width, comparisons=comparisons, blocks_max=blocks_max, level=level, inner=inner
        )
    centre = effect.estimate
    if effect.scale is Scale.RATIO:
        centre = log(centre) if isfinite(centre) and centre > 0.0 else float("nan")
    spread = moderated_spread(effect.spread, effect.blocks, effect.peers)
    together = effect.peers.contrasts if effect.peers else 1
    return blocks_to_verdict(
        spread, centre, width, comparisons=comparisons, blocks_max=blocks_max, level=level, together=together,
        inner=inner,
    )  # fmt: skip


def with_precision(found: Verdict, effect: Effect, response: Response, precision: float | None) -> Verdict:
    """The verdict, marked where it compares while the interval is still wider than ± `precision` (a share)."""
    if precision is None or found.kind not in (Kind.BETTER, Kind.WORSE, Kind.DIFFERENT, Kind.EQUIVALENT):
        return found
    ratio = effect.scale is Scale.RATIO
    half = (log(effect.high / effect.low) if ratio else effect.high - effect.low) / 2
    return replace(found, precise=half <= margin(effect.baseline_mean, response, precision))


def imported_verdict(found: Verdict, effect: Effect, objections: Sequence[str]) -> Verdict:
    """The verdict `found` on runs that somebody else made: none where lint objects, and nobody can add blocks to them.

    `objections` are lint's reasons against the whole comparison, each with its code.
    """
    if found.kind in (Kind.FAILED, Kind.NOT_COMPARED):
        return found
    if found.kind is Kind.UNRESOLVED:
        text = "these runs show neither a difference nor equivalence"
        if effect.blocks < FIRST_LOOK:
            text = f"{effect.blocks} {plural('block', effect.blocks)}, and a verdict takes {FIRST_LOOK}"
        text = "; ".join(filter(None, [text, effect.nothing_in_common, *objections]))
    elif objections:
        text = f"{found.text.replace(': ', ' by the numbers alone: ', 1)}, but {'; '.join(objections)}"
    else:
        return found
    return Verdict(Kind.UNRESOLVED, f"unresolved: {text}", against=found.against)


def margin(mean: float, response: Response, resolution: float) -> float:
    """Half the width of "equivalent", on the scale of the contrasts.

    Ratios: log(1 + resolution), so that +2 % and its inverse are alike. Shares: `resolution` itself (0.02 is two
    percentage points). Other differences: that share of `mean`, the baseline's in the response's unit.
    """
    if response.scale is Scale.RATIO:
        return log(1.0 + resolution)
    if response.unit in SHARES:
        return resolution * SHARES[response.unit]
    return resolution * abs(mean)


SHARES = {"": 1.0, "1": 1.0, "share": 1.0, "%": 100.0, "percent": 100.0}
"""Units of shares, with what a whole is in them."""


def _within(low: float, high: float, scale: Scale, width: float) -> bool:
    if scale is Scale.DIFFERENCE:
        return -width < low and high < width
    return low > 0.0 and -width < log(low) and log(high) < width


def _amount(effect: Effect, response: Response) -> str:
    """`10 % higher`, or `0.12 lower` with the unit on a difference scale."""
    word = "higher" if effect.estimate > effect.none else "lower"
    if effect.scale is Scale.RATIO:
        return f"{change(effect.estimate - 1.0, effect.low, effect.high)} {word}"
    return f"{abs(effect.estimate):.3g}{' ' + response.unit if response.unit else ''} {word}"


def _equivalent(effect: Effect, response: Response, width: float, resolution: float) -> str:
    shown = change(resolution)
    if effect.scale is Scale.DIFFERENCE and response.unit == "share":
        shown = f"{tenths(100.0 * width)} points"
    elif effect.scale is Scale.DIFFERENCE:
        shown = f"{width:.3g}{' ' + response.unit if response.unit else ''}"
    text = f"equivalent within ±{shown}"
    if effect.inner is not None and not _within(effect.low, effect.high, effect.scale, width):
        # What decided is named where the printed interval would not have decided: older rules took the inner one.
        low, high = ((end - 1.0) * 100.0 if effect.scale is Scale.RATIO else end for end in effect.inner)
        unit = " %" if effect.scale is Scale.RATIO else f" {response.unit}".rstrip()
        level = 100.0 * (1.0 - 2.0 * (1.0 - effect.level))
        text = f"{text} by its {level:.0f} % interval, {low:+.3g} to {high:+.3g}{unit}"
    if effect.low > effect.none or effect.high < effect.none:
        return f"{text} ({_amount(effect, response)})"
    return text


def more_hosts(between: BetweenHosts) -> str:
    """The verdict on a kind of host that no number of blocks on these hosts is likely to settle."""
    why = "differ too much" if between.low > 0 else "are too few to tell how far hosts differ"
    return f"unresolved: {len(between.hosts)} hosts {why}; more blocks on them will hardly help, more hosts will"


def needs(blocks: int | None, seconds: float | None) -> str:
    """What an answer would take: `needs about 12 more blocks, 25 min`; None for more blocks than a forecast reaches."""
    if blocks is None:
        return "needs more blocks than can be run"
    time = f", {duration(seconds)}" if seconds is not None else ""
    return f"needs about {blocks} more {plural('block', blocks)}{time}"


def unresolved(blocks: int | None, seconds: float | None, left: int | None = None) -> str:
    """The verdict while neither a difference nor equivalence is shown; `left` more blocks are allowed.

    `unresolved: needs about 12 more blocks, 25 min; the run had room for 5`.
    """
    return f"unresolved: {needs(blocks, seconds)}{_room(blocks, left)}"


def _room(blocks: int | None, left: int | None) -> str:
    """That the run could not have come so far by itself, where it could have gone on at all."""
    return f"; the run had room for {left}" if blocks is not None and left is not None and 0 < left < blocks else ""


def not_compared(reason: str) -> str:
    """The verdict on two that may not be compared."""
    return f"not compared: {reason}"


def not_judged_yet(blocks: int, least: int) -> str:
    """What an explanation says of a response below the `least` number of blocks, whatever its interval."""
    return f"cannot be judged yet ({blocks} {plural('block', blocks)}; a verdict takes {least})"


def failed(reason: str) -> str:
    """The verdict on a treatment without results."""
    return f"failed: {reason}" if reason else "failed: no valid trial"


class Outcome(StrEnum):
    """What became of a threshold."""

    PASS = "pass"
    FAIL = "fail"
    UNKNOWN = "not known"


@dataclass(frozen=True)
class Mean:
    """A response's mean over the blocks at one place, with its interval; unbounded below five blocks."""

    place: Place
    blocks: int
    estimate: float
    low: float
    high: float
    level: float
    comparisons: int
    method: str


@dataclass(frozen=True)
class Judgement:
    """One threshold at one place, by the effect that was found for a change, else by the mean.

    `why` says of one that is not known what keeps it from being known.
    """

    limit: Limit
    found: Mean | Effect
    outcome: Outcome
    why: str = ""

    @property
    def bounded(self) -> bool:
        return isfinite(self.found.estimate) and isfinite(self.found.high)


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
        found.append(Mean(place, mean.blocks, *ends, certainty.level, certainty.comparisons, method))
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
    return Judgement(limit, found, outcome, why)
