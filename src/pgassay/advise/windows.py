"""Which settings a measured window is too short for, and with which window and budget they would be tried.

The budget is the least that an advice of so many settings takes with trials that are so much longer.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import ceil

from pgassay.advise import messages
from pgassay.advise.knowledge import Setting
from pgassay.advise.space import Space


@dataclass(frozen=True)
class Longer:
    """A window that is long enough for settings that are left out, and the least budget for all that it tries."""

    names: tuple[str, ...]
    window_s: float
    budget: str
    """As `--budget` takes it."""

    @property
    def text(self) -> str:
        """As a plan says it."""
        return messages.with_longer_windows(self.names, f"-T {self.window_s:.0f} --budget {self.budget}")


def longer_windows(
    settings: Iterable[Setting], space: Space, window_s: float, needed_s: Callable[[int, float], float]
) -> tuple[Longer, ...]:
    """The windows that would try more of the settings, the shortest first.

    `needed_s` says how long an advice of so many settings takes at least, with trials that are so much longer.
    """
    reasons = space.left_out
    short = [each for each in settings if reasons.get(each.name) == messages.short_window(each.window_s, window_s)]
    found = []
    for longest in sorted({each.window_s for each in short}):
        more = len([each for each in short if each.window_s <= longest])
        names = tuple(each.name for each in short if each.window_s == longest)
        budget = budget_text(needed_s(len(space.dimensions) + more, longest - window_s))
        found.append(Longer(names, longest, budget))
    return tuple(found)


def budget_text(seconds: float) -> str:
    """A budget that holds so many seconds, in whole minutes or hours."""
    return f"{ceil(seconds / 60)}min" if seconds <= 7200 else f"{ceil(seconds / 3600)}h"
