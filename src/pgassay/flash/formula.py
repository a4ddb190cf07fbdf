"""Write amplification by formula beside the simulated one, where a formula holds (docs/drives.md).

It holds for independent writes over all that is in use. The alpha of the formulas is usable flash over what is in use:
a drive that is half empty has more to spare than it was sold with.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from pgassay import _core
from pgassay.flash.settings import Run

_BLOCK_BYTES = 4096

Class = tuple[float, float, float]
"""Blocks, their share of the writes, their mean bytes on flash."""


def write_amplification(
    drive: _core.FlashDrive,
    described: Mapping[str, Any],
    load: _core.FlashInput,
    parts: Sequence[Mapping[str, Any]],
    run: Run,
) -> float | None:
    """By formula for a checked description; None where there is none. `parts` are the load's, with their lengths."""
    compressing = described.get("kind") == "compressing"
    classes = load.popularity(described.get("granularity_bytes", 64) if compressing else 1)
    if run.trace is not None or classes is None or (compressing and not described.get("straddling", True)):
        return None
    blocks = sum(count for count, _, _ in classes)
    if not math.isclose(blocks, _blocks_in_use(drive, parts, run)):
        return None
    policy = described.get("policy", "greedy")
    if "pools" in described:
        alphas = _alphas_of_pools(drive, described["pools"], classes, parts)
        if alphas is None:
            return None
        return _core.flash_theory(policy, drive.alpha, drive.pages_per_block, classes, separated=alphas)
    live_bytes = sum(count * mean for count, _, mean in classes) if compressing else blocks * _BLOCK_BYTES
    if drive.usable_bytes <= live_bytes:
        return None
    return _core.flash_theory(
        policy,
        drive.usable_bytes / (blocks * _BLOCK_BYTES),
        drive.pages_per_block,
        classes,
        choices=described.get("choices", 2),
        compressing=compressing,
    )


def used_blocks(drive: _core.FlashDrive, run: Run) -> int:
    """Blocks that are filled first, rounded as the model rounds them."""
    return max(1, math.floor(drive.logical_blocks * run.used_share + 0.5))


def _blocks_in_use(drive: _core.FlashDrive, parts: Sequence[Mapping[str, Any]], run: Run) -> int:
    """All blocks up to the last that is filled or written: there is a formula only if the load covers them all."""
    filled = 0 if run.ageing == "none" else used_blocks(drive, run)
    return max(filled, *(int(part.get("first_block", 0)) + int(part["blocks"]) for part in parts))


def _alphas_of_pools(
    drive: _core.FlashDrive,
    pools: Sequence[Sequence[float]],
    classes: Sequence[Class],
    parts: Sequence[Mapping[str, Any]],
) -> list[float] | None:
    """The alpha of each pool if each class of blocks has one to itself, else None."""
    firsts = [part.get("first_block", 0) for part in parts]
    in_order = all(one < other for one, other in pairwise(firsts)) and not any(part.get("scattered") for part in parts)
    if not in_order or len(classes) != len(pools):
        return None
    sizes = [share * drive.logical_blocks for share, _ in pools]
    if any(abs(size - count) > 1 for size, (count, _, _) in zip(sizes, classes, strict=True)):
        return None
    return [1 + over_provisioning for _, over_provisioning in pools]
