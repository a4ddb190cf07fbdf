"""How many modelled drives fit into memory: their tables grow with the drive, and a sweep simulates one a core.

A machine that runs out of memory ends programs that others may need more, so what does not fit is refused before.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from pgassay.bench.places import available_memory_bytes
from pgassay.errors import UsageError
from pgassay.flash.settings import Description
from pgassay.study.units import format_size

MEMORY_SHARE_MAX = 0.9
"""Of the memory that the system calls available."""
_BLOCK_BYTES = 4096
_MAP_BYTES = 6
"""At most, for each block that a compressing drive promises beyond its user capacity."""
_SIZES_BYTES = 4
"""For each block of a compressing drive while it is filled: the size that the load gives it."""
_USER_BYTES_MAX = 1 << 44


def at_once(descriptions: Sequence[Description], wanted: int) -> int:
    """How many to simulate side by side, `wanted` at most; `UsageError` if the largest does not fit alone."""
    largest = max(map(forecast_bytes, descriptions))
    available = int(available_memory_bytes() * MEMORY_SHARE_MAX)
    if largest > available:
        raise too_large(largest, available)
    return max(1, min(wanted, available // max(1, largest)))


def forecast_bytes(description: Description) -> int:
    """About what the model of this drive takes; 0 for what cannot be a drive (the model will say why) and for one that
    is as large as its trace says (it has been emulated in memory before)."""
    drive = description.drive
    if drive.user_bytes is None or not 0 < drive.user_bytes < _USER_BYTES_MAX:
        return 0
    compresses = drive.kind == "compressing"
    share = min(map(_mean_share, description.input)) if compresses else 1.0
    block_bytes, _ = drive.table_bytes_per_block(drive.user_bytes, share)
    more = 0
    if compresses:
        logical_bytes = drive.capacity_bytes or 0
        more = max(0, logical_bytes - drive.user_bytes) * _MAP_BYTES + logical_bytes * _SIZES_BYTES
    return int(drive.user_bytes / _BLOCK_BYTES * block_bytes) + more // _BLOCK_BYTES


def _mean_share(part: Mapping[str, Any]) -> float:
    """What is left of the blocks of an input on average, from what its `sizes` say; a hundredth at least."""
    total, before = 0.0, 0.0
    for sizes in part.get("sizes", [{"bytes": _BLOCK_BYTES}]):
        up_to = sizes.get("up_to", 1.0)
        total += (up_to - before) * _mean_bytes(sizes)
        before = up_to
    return max(0.01, min(1.0, total / _BLOCK_BYTES))


def _mean_bytes(sizes: Mapping[str, Any]) -> float:
    if "between" in sizes:
        return float(sum(sizes["between"]) / 2)
    if "weights" in sizes:
        weights = sizes["weights"]
        return float(sum(size * weight for size, weight in weights) / sum(weight for _, weight in weights))
    if "quantiles" in sizes:
        knots = pairwise(sizes["quantiles"])
        return float(sum((right[0] - left[0]) * (left[1] + right[1]) / 2 for left, right in knots))
    return float(sizes.get("bytes", _BLOCK_BYTES))


def too_large(needed_bytes: int, available_bytes: int, hint: str = "") -> UsageError:
    """A drive whose tables do not fit into memory."""
    return UsageError(
        f"the model needs about {format_size(needed_bytes)} of memory, {format_size(available_bytes)} are available",
        hint or "a smaller drive with blocks as large and the same over-provisioning stands for it: docs/drives.md",
    )
