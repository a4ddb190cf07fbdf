"""Is the place for clusters fit? Room, kind of file system, and whether a flush really reaches the medium.

A drive without a write cache, or with one that survives power loss, may acknowledge a flush quickly and honestly; a
volatile cache cannot. No program can tell them apart for sure, so the text says what was measured.
"""

from pgassay.bench.places import Mount
from pgassay.host.devices import BlockDevice
from pgassay.host.mounts import unsuitable
from pgassay.study.findings import Finding, Severity

LOW_SPACE_SHARE = 0.05
LOW_SPACE_BYTES = 10 * 1024**3
FLUSH_SUSPICIOUS_US = 30.0
"""Less than a round trip to any drive of today but persistent memory."""
FLUSH_QUICK_US = 250.0
_GB = 1024**3


def space(mount: Mount) -> Finding:
    """Is there room for clusters?"""
    text = (
        f'{mount.free_bytes / _GB:.1f} GB are free for clusters in "{mount.path}" ({mount.filesystem}, {mount.device})'
    )
    if mount.free_bytes < max(LOW_SPACE_BYTES, LOW_SPACE_SHARE * mount.size_bytes):
        return Finding("space", Severity.WARNING, text, "free some room, or choose another place with --data-dir")
    return Finding("space", Severity.OK, text)


def kind(mount: Mount) -> Finding:
    """Does a write here reach a drive of this machine?"""
    why = unsuitable(mount)
    if why is not None:
        return Finding("filesystem", Severity.ERROR, why, "choose a directory on a drive with --data-dir")
    copying = "clones share blocks" if mount.reflink else "clones are copies: xfs and btrfs would share blocks"
    return Finding("filesystem", Severity.OK, f"{mount.filesystem} on {mount.device}; {copying}")


def flush(median_us: float | None, mount: Mount, device: BlockDevice | None) -> Finding | None:
    """Does a flush take the time that reaching the medium takes? None where it could not be measured."""
    if median_us is None:
        return None
    cache = device.write_cache if device is not None else None
    text = (
        f"a flushed write of 8kB takes {median_us:.0f} µs (median); the kernel says its cache is {cache or 'unknown'}"
    )
    if unsuitable(mount) is not None:
        return Finding("flush", Severity.ERROR, f"{text}: this is memory or a layer, not a drive", "use --data-dir")
    if median_us < FLUSH_SUSPICIOUS_US:
        return Finding(
            "flush",
            Severity.WARNING,
            f"{text}: no drive is that quick, so something acknowledges flushes that it has not made",
            "look for barrier=0, nobarrier, a disk cache mode such as unsafe in the hypervisor, or eatmydata",
        )
    if median_us < FLUSH_QUICK_US and cache == "write back":
        return Finding(
            "flush",
            Severity.NOTE,
            f"{text}: honest only if that cache survives a loss of power",
            "ask the drive's data sheet for power-loss protection, or the cloud's for durability",
        )
    return Finding("flush", Severity.OK, text)


def write_cache(device: BlockDevice | None) -> Finding | None:
    """A kernel that believes the cache to be write through sends no flushes at all."""
    if device is None or device.write_cache is None:
        return None
    if device.write_cache == "write through":
        text = f"the kernel sends {device.disk} no flushes, because it says that it has no volatile cache"
        return Finding("write_cache", Severity.NOTE, text, "make sure that it is true: the setting can be forced")
    return Finding("write_cache", Severity.OK, f"{device.disk} has a cache that the kernel flushes")


def scheduler(device: BlockDevice | None) -> Finding | None:
    """bfq and cfq arrange requests by process, which is for desktops."""
    if device is None or device.scheduler is None:
        return None
    if device.scheduler in ("bfq", "cfq"):
        remedy = f"echo mq-deadline > /sys/block/{device.disk}/queue/scheduler"
        text = f"the I/O scheduler of {device.disk} is {device.scheduler}, which favours some processes over others"
        return Finding("scheduler", Severity.WARNING, text, remedy)
    return Finding("scheduler", Severity.OK, f"the I/O scheduler of {device.disk} is {device.scheduler}")
