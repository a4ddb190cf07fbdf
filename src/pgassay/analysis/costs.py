"""The same inference on costs per transaction: steadier than speed, and what explains it.

All costs of a study form one family: the explanation picks the ones that moved, and picking among twenty intervals of
95 % would find one that moved by chance. They stay labelled secondary, since the primary's error control is its own.
"""

from collections.abc import Mapping, Sequence

from pgassay.analysis.compare import LEVEL, Looks, compare
from pgassay.analysis.effects import Effect
from pgassay.analysis.observations import Observation
from pgassay.analysis.observed import arms
from pgassay.study.levels import Place
from pgassay.study.responses import Response


def costs(
    observations: Mapping[str, Sequence[Observation]],
    responses: Sequence[Response],
    baseline: str,
    *,
    blocks_max: int,
    looks: Looks = "every block",
    level: float = LEVEL,
    only: Place | None = None,
) -> tuple[Effect, ...]:
    """Effects on every response with `cost=True` that has observations (by name), simultaneous over all of them.

    `only` names the one (treatment, condition, covariate) to give, with intervals as wide as among all.
    """
    chosen = [response for response in responses if response.cost and observations.get(response.name)]
    family = sum(_comparisons(observations[response.name], baseline) for response in chosen)
    return tuple(
        effect
        for response in chosen
        for effect in compare(
            observations[response.name],
            response,
            baseline,
            blocks_max=blocks_max,
            comparisons=max(1, family),
            looks=looks,
            level=level,
            arms=None if only is None else [only],
            equivalence=False,
        )
    )


def _comparisons(observations: Sequence[Observation], baseline: str) -> int:
    return sum(treatment != baseline for treatment, _, _ in arms(observations))
