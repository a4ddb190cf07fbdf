"""Capacities of drives that were given none, and the memory that their tables take; pure.

Usually with room to spare. Closely (`capacity = auto`) so that a trial writes as much of a drive as it can: what write
amplification says depends on how often the flash is turned over, not on how large it is, as long as there are enough
superblocks (research on scaled drives: within 0.1 % from 4096 on, 0.3 % from 1024, of equal size). They become smaller
with the drive, though, and small ones collect less: simulated under uniform writes, of 512 pages 0.7 % less at an
over-provisioning of 7 % and 0.2 % at 28 %, of 128 pages 5 and 1.5 %, of 32 pages 18 and 6 %, of 16 pages 31 and 11 %.
"""

from pgassay._core import DriveDescription
from pgassay.bench.store import Needs

AUTO = "auto"
"""The level of a capacity as small as the data allow, so that a trial writes much of the drive."""
WAL_KEPT_BYTES = 256 << 20
"""WAL that lies in a snapshot."""
_STEP_BYTES = 256 << 20
_CAPACITY_MIN_BYTES = 1 << 30
_SLACK = 1.2
"""A drive that is sized by the study's data has this much more room than they need."""
_CLOSE_STEP_BYTES = 16 << 20
_GROWTH = 1.15
"""What a load adds to its tables, and how far estimates of them are off."""
_GROWTH_LEAST_BYTES = 64 << 20
"""What half a minute of unlimited updates adds to small tables before autovacuum comes round: 47 MB became 94."""
_FILE_SYSTEM_SHARE = 0.08
"""Of ext4: blocks reserved for root, inode tables, bitmaps."""
_JOURNAL_BYTES = 48 << 20
_SUPERBLOCKS = 2048
BLOCK_BYTES = 4096
"""A logical block, and a page of the flash."""
USUAL_PAGES = 256
"""Of a superblock whose size nothing settles (docs/drives.md)."""
_PAGES_MIN, _PAGES_MAX = 16, 16384
LEAST_SHARE = 0.04
"""Compressed blocks are taken to be no smaller than this share of 4 KiB on average: the smaller, the more of them on
flash. Of pgbench_accounts `pgassay drive compressibility` leaves a fourteenth, at FILLFACTOR 50 a 28th, which granules
of 64 bytes make a 21st."""
_PLACE_BYTES = 8
"""Of memory for each block of 4 KiB that the host sees: where its contents lie."""
_PROGRAM_BYTES = 16 << 20
"""The program itself, segments of its store that are being filled or emptied, and tables rounded to huge pages."""


def sized(needed_bytes: int) -> int:
    """The capacity in bytes of a drive that was given none: room for what the study needs, in steps of 256 MiB."""
    wanted = max(_CAPACITY_MIN_BYTES, int(needed_bytes * _SLACK))
    return _up(wanted, _STEP_BYTES)


def closely(needs: Needs, least_bytes: int) -> int:
    """The capacity that is just enough, in steps of 16 MiB."""
    grown = max(needs.data_bytes * _GROWTH, needs.data_bytes + _GROWTH_LEAST_BYTES)
    content = grown + needs.wal_least_bytes
    wanted = int(content / (1 - _FILE_SYSTEM_SHARE)) + _JOURNAL_BYTES
    return _up(max(wanted, least_bytes), _CLOSE_STEP_BYTES)


def scaled_pages(capacity_bytes: int) -> int:
    """Pages of a superblock that leave about two thousand superblocks, a power of two."""
    pages = capacity_bytes // BLOCK_BYTES // _SUPERBLOCKS
    return min(max(1 << max(0, pages - 1).bit_length(), _PAGES_MIN), _PAGES_MAX)


def memory_bytes(described: DriveDescription, snapshots: int, share: float = LEAST_SHARE) -> int:
    """Memory in bytes that an emulated drive of a known capacity takes at most besides its contents, in use for long.

    A compressing drive's flash holds blocks of `share` of 4 KiB on average, of its granularity at least. The blank
    drive is a snapshot that takes nothing, but while one is aged the state before and the one after are both there.
    """
    capacity_bytes = described.capacity_bytes
    assert capacity_bytes is not None
    model, kept = described.table_bytes_per_block(capacity_bytes, share)
    block_bytes = _PLACE_BYTES + model + (_PLACE_BYTES + kept) * (snapshots + 1)
    return _PROGRAM_BYTES + int(capacity_bytes / BLOCK_BYTES * block_bytes)


def _up(wanted: int, step: int) -> int:
    return -(-wanted // step) * step
