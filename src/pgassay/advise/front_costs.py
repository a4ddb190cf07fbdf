"""Which costs surely moved between configurations of a confirmation of several objectives: why it may be, and no proof.

All costs of all pairs that are asked for are one family, at 95 %, as the lab has it of a study's costs. Pure.
"""

from collections.abc import Sequence

from pgassay.advise.front import Seen
from pgassay.advise.space import Configuration
from pgassay.analysis.compare import compare
from pgassay.analysis.effects import Effect
from pgassay.analysis.explanation import amount, moved_surely, size
from pgassay.study.levels import Place

SHOWN = 3
"""Of a pair at most."""
Pair = tuple[Configuration, Configuration]
"""A configuration, and what it is set against."""


def moved(seen: Seen, pairs: Sequence[Pair], blocks: int) -> dict[Pair, tuple[str, ...]]:
    """Of each pair the costs that surely moved, in words, the largest first."""
    numbers = {each: str(number) for number, each in enumerate(seen.configurations)}
    count = len(pairs) * len(seen.costs)

    def effects(arm: str, baseline: str) -> list[Effect]:
        return [
            effect
            for name in seen.costs
            for effect in compare(
                seen.observations[name], seen.responses[name], baseline, blocks_max=blocks, comparisons=count,
                looks="once", arms=[Place(arm, "", "")], equivalence=False,
            )
        ]  # fmt: skip

    return {pair: _words(seen, effects(numbers[pair[0]], numbers[pair[1]])) for pair in pairs}


def _words(seen: Seen, effects: Sequence[Effect]) -> tuple[str, ...]:
    sure = [each for each in effects if moved_surely(each, seen.responses[each.response])]
    return tuple(
        f"{seen.responses[each.response].title} {amount(each, seen.responses[each.response])}"
        for each in sorted(sure, key=size, reverse=True)[:SHOWN]
    )
