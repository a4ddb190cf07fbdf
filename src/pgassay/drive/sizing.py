"""How large drives are that nobody gave a size, and what memory their tables take; pure.

Usually with room to spare. Closely (`capacity = auto`) so that a trial writes as much of a drive as it can: what write
amplification says depends on how often the flash is turned over, not on how large it is, as long as there are enough
superblocks (research on scaled drives: within 0.1 % from 4096 on, 0.3 % from 1024).
"""

from collections.abc import Mapping
from typing import Any

from pgassay.bench.store import Needs

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
TABLES_BYTES = 32
"""Of memory for each block of 4 KiB that the host sees: the drive's map, the model's, its reverse map."""
SNAPSHOT_BYTES = 29
"""The same of a snapshot, as measured; see docs/emulated-drive.md."""


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


def tables_bytes(capacity_bytes: int, snapshots: int) -> int:
    """Memory beside the contents; the blank drive is a snapshot too."""
    return capacity_bytes // _PAGE_BYTES * (TABLES_BYTES + SNAPSHOT_BYTES * (snapshots + 1))


def _up(wanted: int, step: int) -> int:
    return -(-wanted // step) * step
