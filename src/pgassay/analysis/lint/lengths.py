"""Which runs ended early, where a plan is known and where only the other runs tell how long a run should last.

Without a plan a run is short when it lasted less than 95 % of the median run of its condition, and either another run
of its own arm lasted longer by as much, or it lasted less than half. An arm that was merely run for another time is not
short.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median_high

SHORT = 0.95
"""A run shorter than this share of what was planned (or of its like) is short."""

HALF = 0.5
"""Below this share of the usual length even an arm's only run is no whole run."""


@dataclass(frozen=True)
class Length:
    """How long a run lasted, and should have; None where it is not known."""

    arm: str
    condition: str
    seconds: float | None
    planned_s: float | None


def fell_short_of(lengths: Sequence[Length]) -> tuple[float | None, ...]:
    """For each run the length in seconds that it did not reach; None for a whole run and for one of unknown length."""
    known = [each for each in lengths if each.seconds is not None]
    by_condition: dict[str, list[float]] = {}
    longest: dict[str, float] = {}
    for each in known:
        seconds = each.seconds or 0.0
        by_condition.setdefault(each.condition, []).append(seconds)
        longest[each.arm] = max(seconds, longest.get(each.arm, 0.0))
    usual = {condition: median_high(found) for condition, found in by_condition.items()}
    return tuple(_target(each, usual.get(each.condition), longest.get(each.arm)) for each in lengths)


def _target(each: Length, usual_s: float | None, longest_s: float | None) -> float | None:
    if each.seconds is None:
        return None
    if each.planned_s is not None:
        return each.planned_s if each.seconds < SHORT * each.planned_s else None
    if usual_s is None or longest_s is None or each.seconds >= SHORT * usual_s:
        return None
    alone = each.seconds >= SHORT * longest_s
    return None if alone and each.seconds >= HALF * usual_s else usual_s
