"""Which costs changed with the response, in one sentence, which also says when none did.

An association and no proof: the sentence says "with", never "because". A cost counts as moved when its interval, valid
for all costs together, leaves out no effect, it moved by more than `LEAST`, and it is not `negligible`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, log

from pgassay.analysis.boundaries import FIRST_LOOK
from pgassay.analysis.effects import Effect
from pgassay.analysis.numbers import change, plural
from pgassay.analysis.verdicts import not_compared, not_judged_yet
from pgassay.study.responses import Better, Response, Scale

LEAST = 0.01
"""Costs that moved by less than this share explain nothing that a study could see."""

TRACE_BYTES, TRACE = 1.0, 0.001
"""Less than a byte of a transaction, or less than one of anything in a thousand transactions, is no cost of them."""

SHOWN = 3
"""At most this many costs are named; the table has them all."""


@dataclass(frozen=True)
class Explanation:
    """One sentence, and the effects behind it: `along` moved with the response, `against` the other way."""

    text: str
    along: tuple[Effect, ...]
    against: tuple[Effect, ...]


def explain(
    effect: Effect, costs: Sequence[Effect], responses: Sequence[Response], work: str = "transaction"
) -> Explanation:
    """Say which of `costs` (of the same treatment, condition and covariate; others are ignored) moved with `effect`.

    `work` is what they are costs of, as in "per transaction". Where the response is a cost itself, it is not its own
    reason, and is left out.
    """
    by_name = {response.name: response for response in responses}
    others = (cost for cost in costs if cost.response != effect.response)
    mine = [cost for cost in others if cost.place == effect.place and cost.response in by_name]
    moved = sorted((cost for cost in mine if has_moved(cost, by_name[cost.response])), key=size, reverse=True)
    response = by_name[effect.response]
    head = f"{', '.join(filter(None, effect.place))}: {response.title} {_change(effect, response)}"
    if not mine and not effect.refused:
        return Explanation(f"{head}; no cost per {work} was measured that could explain it", (), ())
    if effect.refused:
        rest = f"; of the costs, which can be compared: {_listed(moved, by_name)}" if moved else ""
        return Explanation(f"{head}{rest}", (), tuple(moved))
    if not _differs(effect):
        text = f", although {_listed(moved, by_name)}" if moved else f", and neither can any cost per {work}"
        return Explanation(f"{head}{text}", (), tuple(moved))
    good = (effect.estimate > effect.none) != (response.better is Better.LOWER)  # did it move to the good side?
    along: list[Effect] = []
    against: list[Effect] = []
    for cost in moved:
        better = by_name[cost.response].better
        improved = (cost.estimate > cost.none) == (better is Better.HIGHER)
        (along if better is Better.NEITHER or improved == good else against).append(cost)
    if not along:
        text = f"{head}; no cost per {work} moved with it, so the costs measured do not explain it"
    else:
        text = f"{head}, with {_listed(along, by_name)}"
    if against:
        text += f", although {_listed(against, by_name)}"
    return Explanation(text, tuple(along), tuple(against))


def _differs(effect: Effect) -> bool:
    return effect.blocks >= FIRST_LOOK and effect.bounded and (effect.low > effect.none or effect.high < effect.none)


def has_moved(cost: Effect, response: Response) -> bool:
    """Does its interval leave out no effect, is it more than `LEAST`, and of an amount that anybody pays for?"""
    if not _differs(cost) or negligible(cost, response):
        return False
    if cost.scale is Scale.RATIO:
        return abs(log(cost.estimate)) >= log(1.0 + LEAST)
    whole = abs(cost.baseline_mean)
    return abs(cost.estimate) >= LEAST * whole if isfinite(whole) else True


def moved_in_words(costs: Iterable[Effect], responses: Mapping[str, Response]) -> tuple[str, ...]:
    """Those that surely moved, in words, the largest first, at most `SHOWN`."""
    sure = [each for each in costs if has_moved(each, responses[each.response])]
    return tuple(
        f"{responses[each.response].title} {amount(each, responses[each.response])}"
        for each in sorted(sure, key=size, reverse=True)[:SHOWN]
    )


def negligible(cost: Effect, response: Response) -> bool:
    """Is it next to nothing of a transaction with either treatment: the WAL that a server writes when nobody does?"""
    other = cost.baseline_mean * cost.estimate if cost.scale is Scale.RATIO else cost.baseline_mean + cost.estimate
    least = TRACE_BYTES if response.unit in ("B", "bytes") else TRACE
    return max(abs(cost.baseline_mean), abs(other)) < least


def size(cost: Effect) -> float:
    """How far a cost moved, so that ratios and differences can be ranked together."""
    if cost.scale is Scale.RATIO:
        return abs(log(cost.estimate)) if cost.estimate > 0.0 else 0.0
    whole = max(abs(cost.baseline_mean), abs(cost.baseline_mean + cost.estimate))
    return abs(cost.estimate) / whole if whole > 0.0 else 0.0


def share_explained(part: Effect, whole: Effect) -> tuple[float, float, float] | None:
    """How much of a change in per cent another one makes up: the ratio of both, its least and its greatest value.

    Both intervals must hold together, as those of costs do. None where `whole` cannot be distinguished from no change.
    """
    if not (part.informative and _differs(whole) and whole.informative):
        return None
    ends = [(mine - 1.0) / (all_ - 1.0) for mine in (part.low, part.high) for all_ in (whole.low, whole.high)]
    return (part.estimate - 1.0) / (whole.estimate - 1.0), min(ends), max(ends)


def _change(effect: Effect, response: Response) -> str:
    if effect.refused:
        return f"was {not_compared(effect.refused)}"
    if effect.blocks < FIRST_LOOK:
        return not_judged_yet(effect.blocks, FIRST_LOOK)
    if not effect.bounded:
        return "cannot be judged yet"
    if not _differs(effect):
        return "cannot be distinguished from the baseline's"
    return amount(effect, response)


def amount(effect: Effect, response: Response) -> str:
    """`24 % higher`, from 3 on `3.10 times the baseline's`; on a difference scale with the unit."""
    if effect.scale is Scale.RATIO:
        if effect.estimate >= 3.0:  # as in tables, which write smaller changes in per cent
            return f"{effect.estimate:.2f} times the baseline's"
        word = "higher" if effect.estimate > 1.0 else "lower"
        return f"{change(effect.estimate - 1.0, effect.low, effect.high)} {word}"
    word = "higher" if effect.estimate > 0.0 else "lower"
    if response.unit == "share":
        return f"{abs(effect.estimate) * 100:.3g} percentage points {word}"
    unit = "" if response.unit in ("", "count") else f" {response.unit}"
    value = abs(effect.estimate)
    return f"{value:,.0f}{unit} {word}" if value >= 1000 else f"{value:.3g}{unit} {word}"


def _listed(costs: Sequence[Effect], by_name: dict[str, Response]) -> str:
    parts = [f"{by_name[cost.response].title} {amount(cost, by_name[cost.response])}" for cost in costs[:SHOWN]]
    rest = len(costs) - SHOWN
    if rest > 0:
        parts.append(f"{rest} more {plural('cost', rest)}")
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
