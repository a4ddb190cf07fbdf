"""Randomised complete blocks: every arm still in play once, in an order that only the seed and the block decide.

Blocks come in pairs, the second in the mirrored order of the first (ABBA): a steady drift then cancels within the pair,
where free orders leave one chance in sixteen that five blocks all have the same. Arms are sorted by a hash of (seed,
pair, arm) and not shuffled: the order is the same in every Python version, does not depend on how the study lists its
arms, and leaving out an arm does not change the order of the others. Factors that are hard to change
(`design.fixed_order`) keep the study's order of levels; chance and mirror then rule within their groups.
"""

import hashlib
from collections.abc import Collection, Sequence

from pgassay.study.levels import Arm
from pgassay.study.model import Study


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
