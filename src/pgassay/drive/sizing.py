"""How large drives are that nobody gave a size, and what memory their tables take; pure.

Usually with room to spare. Closely (`capacity = auto`) so that a trial writes as much of a drive as it can: what write
amplification says depends on how often the flash is turned over, not on how large it is, as long as there are enough
superblocks (research on scaled drives: within 0.1 % from 4096 on, 0.3 % from 1024).
"""

from collections.abc import Mapping
from math import log
from typing import Any

from pgassay.bench.store import Needs

COMPRESSING = "compressing"
"""The flash model's kind that packs compressed blocks; any other maps whole pages."""

_STEP_BYTES = 256 << 20
_CAPACITY_MIN_BYTES = 1 << 30
_SLACK = 1.2
"""A drive that is sized by the study's data has this much more room than they need."""
_CLOSE_STEP_BYTES = 16 << 20
_GROWTH = 1.15
"""What a load adds to its tables, and how far estimates of them are off."""
_FILE_SYSTEM_SHARE = 0.08
"""Of ext4: blocks reserved for root, inode tables, bitmaps."""
_JOURNAL_BYTES = 48 << 20
_SUPERBLOCKS = 2048
_PAGE_BYTES = 4096
_PAGES_MIN, _PAGES_MAX = 16, 16384
_SHAPES = frozenset({"pages_per_block", "channels", "dies_per_channel", "planes_per_die", "flash_pages_per_block"})
_OVER_PROVISIONING = 0.07
"""The model's, where none is given."""
LEAST_SHARE = 0.04
"""Compressed blocks are taken to be no smaller than this share of 4 KiB on average: the smaller, the more of them on
flash. Of pgbench_accounts `pgassay compressibility` leaves a fourteenth, at FILLFACTOR 50 a 28th, which granules of 64
bytes make a 21st."""
_GRANULARITY_BYTES = 64
"""The model's, where none is given: what the smallest block takes of flash."""
_PACKED_BYTES = 8.0
"""Of a packed extent, as promised."""
_NUMBER_BYTES, _WIDE_NUMBER_BYTES, _NARROW_BLOCKS = 3, 4, 1 << 24
"""Of a packed extent: the number of its block, on drives with more blocks a longer one."""
_PLACE_BYTES = 8
"""Of memory for each block of 4 KiB that the host sees: where its contents lie."""
_PROGRAM_BYTES = 16 << 20
"""The program itself, segments of its store that are being filled or emptied, and tables rounded to huge pages."""


def sized(needed_bytes: int) -> int:
    """The capacity of a drive that nobody gave one: room for what the study needs, in steps of 256 MiB."""
    wanted = max(_CAPACITY_MIN_BYTES, int(needed_bytes * _SLACK))
    return _up(wanted, _STEP_BYTES)


def closely(needs: Needs, least_bytes: int) -> int:
    """The capacity that is just enough, in steps of 16 MiB."""
    content = needs.data_bytes * _GROWTH + needs.wal_least_bytes
    wanted = int(content / (1 - _FILE_SYSTEM_SHARE)) + _JOURNAL_BYTES
    return _up(max(wanted, least_bytes), _CLOSE_STEP_BYTES)


def scaled_flash(flash: Mapping[str, Any], capacity_bytes: int) -> dict[str, Any]:
    """The flash with superblocks of a size that leaves about two thousand of them; a shape that was given stays."""
    if _SHAPES & set(flash):
        return dict(flash)
    pages = capacity_bytes // _PAGE_BYTES // _SUPERBLOCKS
    rounded = 1 << max(0, pages - 1).bit_length()
    return {**flash, "pages_per_block": min(max(rounded, _PAGES_MIN), _PAGES_MAX)}


def memory_bytes(flash: Mapping[str, Any], capacity_bytes: int, snapshots: int, share: float = LEAST_SHARE) -> int:
    """Memory that an emulated drive takes at most beside its contents, in use for a long time.

    A compressing drive's flash holds blocks of `share` of 4 KiB on average, of its granularity at least. The blank
    drive is a snapshot that takes nothing, but while one is aged the state before and the one after are both there.
    """
    model, kept = _model_bytes(flash, share, capacity_bytes // _PAGE_BYTES)
    block_bytes = _PLACE_BYTES + model + (_PLACE_BYTES + kept) * (snapshots + 1)
    return _PROGRAM_BYTES + int(capacity_bytes / _PAGE_BYTES * block_bytes)


def model_bytes(flash: Mapping[str, Any], user_bytes: int, share: float) -> int:
    """Memory of the flash model alone, without an emulated drive around it; `share` as in `memory_bytes`."""
    model, _ = _model_bytes(flash, share, user_bytes // _PAGE_BYTES)
    return int(user_bytes / _PAGE_BYTES * model)


def _model_bytes(flash: Mapping[str, Any], share: float, blocks: int) -> tuple[float, float]:
    """The flash model's tables for each block that the host sees, and at most what a snapshot keeps of them; see
    docs/flash-model.md, "Speed and memory", and docs/emulated-drive.md, "Contents"."""
    physical = _physical(flash)
    if flash.get("kind") == COMPRESSING:
        granularity = _granularity(flash)
        smallest = max(share, granularity / _PAGE_BYTES)
        return 16 / 3 + 6.5 * physical / smallest, packed_bytes(physical * _PAGE_BYTES / granularity, blocks)
    return 4 + 4.125 * physical, 4


def packed_bytes(granules: float, blocks: int) -> float:
    """Of an extent in a snapshot: its size, its block, and how many granules are dead before it, seven bits a byte;
    that logarithm is at most what it is of `granules`, their mean."""
    number = _NUMBER_BYTES if blocks <= _NARROW_BLOCKS else _WIDE_NUMBER_BYTES
    return max(_PACKED_BYTES, 2 + number + 1 + log(max(granules, 1.0), 1 << 7))


def _granularity(flash: Mapping[str, Any]) -> int:
    found = flash.get("granularity_bytes")
    return min(found, _PAGE_BYTES) if isinstance(found, int) and found >= 1 else _GRANULARITY_BYTES


def _physical(flash: Mapping[str, Any]) -> float:
    """Usable flash over user capacity. What cannot be is left to the drive to refuse, by name."""
    share, ratio = flash.get("spare_of_physical"), flash.get("over_provisioning")
    if isinstance(share, int | float) and 0 <= share < 1:
        return 1 / (1 - share)
    return 1 + (ratio if isinstance(ratio, int | float) and ratio >= 0 else _OVER_PROVISIONING)


def _up(wanted: int, step: int) -> int:
    return -(-wanted // step) * step
