"""What a drive counts of itself, by neutral names: one interface for emulated drives, SMART logs and diskstats.

A source reads everything in one go and leaves out what it does not know: an absent name means "not available". The
names are those of the flash model and of nvme-cli where both agree; `GAUGES` are values as they stand, all others only
grow while a drive is attached.
"""

from collections.abc import Callable, Mapping

Counted = Mapping[str, float]
"""Name to value now."""

DriveCounters = Callable[[], Counted]
"""Reads a drive now; never raises: a drive that does not answer knows nothing."""

UNITS: Mapping[str, str] = {
    "host_bytes_written": "bytes",
    "host_bytes_read": "bytes",
    "nand_bytes_written": "bytes",
    "compressed_bytes_written": "bytes",
    "gc_bytes_written": "bytes",
    "wear_levelling_bytes_written": "bytes",
    "padding_bytes_written": "bytes",
    "host_bytes_trimmed": "bytes",
    "host_flushes": "count",
    "blocks_erased": "count",
    "throttled_writes": "count",
    "rejected_writes": "count",
    "store_full_writes": "count",
    "codec_cpu_us": "us",
    "cpu_us": "us",
    "logical_bytes": "bytes",
    "physical_bytes": "bytes",
    "contents_logical_bytes": "bytes",
    "contents_physical_bytes": "bytes",
    "capacity_bytes": "bytes",
    "free_blocks": "count",
    "percentage_used": "%",
    "timed_requests": "count",
    "late_requests": "count",
    "asked_us": "us",
    "late_us": "us",
    "volume_us": "us",
    "ios_limited_us": "us",
    "bytes_limited_us": "us",
    "without_credits_us": "us",
    "credits_left": "count",
}
"""Every name with its unit. `logical_bytes` is what the host has written and not trimmed, `physical_bytes` what that
takes on flash, both with what filled an aged drive; `contents_…` is the same of what the host can read.
`throttled_writes` and `rejected_writes` are blocks, for want of flash; `store_full_writes` are requests that the
emulating program had no room for. `codec_cpu_us` and `cpu_us` are its own time. With service times, `asked_us` is what
the modelled device asked for, summed over the requests, `late_us` by how much answers came later than that, and
`late_requests` counts those that took more than a tenth longer. A drive with caps has been there for `volume_us`; for
so much of it, one more I/O would have waited for its cap of I/Os, one more block for that of throughput, and there was
no credit for a burst (absent where the drive does not burst); `credits_left` are I/Os."""

GAUGES = frozenset(
    {
        "logical_bytes",
        "physical_bytes",
        "contents_logical_bytes",
        "contents_physical_bytes",
        "capacity_bytes",
        "free_blocks",
        "percentage_used",
        "credits_left",
    }
)
"""The names that are no sums."""

DATA, WAL = "drive", "drive_wal"
SMART, SMART_WAL = "smart", "smart_wal"
"""The sources in a record: the drive of the data, and that of the WAL where it has its own; emulated ones first, then
real ones by their SMART log, which costs a process and moves slowly: read at the edges of a window only."""
NAND_WRITTEN = "nand_bytes_written"
