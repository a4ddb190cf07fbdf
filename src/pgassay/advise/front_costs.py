"""Which costs surely moved between configurations of a confirmation of several objectives: why it may be, and no proof.

All costs of all pairs that are asked for are one family, at 95 %, as the lab has it of a study's costs. Pure.
"""

from collections.abc import Sequence

from pgassay.advise.front import Seen
from pgassay.advise.space import Configuration
from pgassay.analysis.compare import compare
from pgassay.analysis.effects import Effect
from pgassay.analysis.explanation import surely_moved
from pgassay.study.levels import Place

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
                looks="once", arms=[Place(arm, "", "")],
            )
        ]  # fmt: skip

    return {pair: surely_moved(effects(numbers[pair[0]], numbers[pair[1]]), seen.responses) for pair in pairs}
