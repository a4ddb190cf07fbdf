"""Is memory steady? Swap in use, transparent huge pages, overcommit, how much dirty data the kernel lets pile up."""

from pgassay.study.findings import Finding, Severity

_GB = 1024**3
DIRTY_WARNING_BYTES = 4 * _GB


def swap(total_bytes: int, free_bytes: int, swappiness: int | None) -> Finding:
    """Swap in use makes latencies of memory depend on the past."""
    used = total_bytes - free_bytes
    if total_bytes == 0:
        return Finding("swap", Severity.OK, "there is no swap")
    if used > 0.01 * total_bytes:
        return Finding(
            "swap",
            Severity.WARNING,
            f"{used / _GB:.1f} GB of swap are in use",
            "free memory, then: swapoff -a && swapon -a",
        )
    if swappiness is not None and swappiness > 10:
        return Finding(
            "swap",
            Severity.NOTE,
            f"swap is there and unused; vm.swappiness is {swappiness}",
            "sysctl vm.swappiness=1 keeps the server's memory in place",
        )
    return Finding("swap", Severity.OK, "swap is there and unused")


def transparent_huge_pages(enabled: str | None) -> Finding | None:
    """`always` lets the kernel rearrange memory in the background; None where the kernel has none."""
    if enabled is None:
        return None
    if enabled == "always":
        return Finding(
            "transparent_huge_pages",
            Severity.WARNING,
            "transparent huge pages are always on: the kernel moves memory while the server works",
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        )
    return Finding("transparent_huge_pages", Severity.OK, f"transparent huge pages are on {enabled}")


def overcommit(mode: int | None) -> Finding | None:
    """Mode 2 is what the manual advises for servers ("Linux Memory Overcommit"); 0 and 1 may end in the OOM killer."""
    if mode is None:
        return None
    if mode == 2:
        return Finding("overcommit", Severity.OK, "vm.overcommit_memory is 2: memory promised is memory there")
    return Finding(
        "overcommit",
        Severity.NOTE,
        f"vm.overcommit_memory is {mode}: a server that asks for too much is killed, not refused",
        "leave memory free beside shared_buffers and work_mem",
    )


def dirty(total_bytes: int, ratio: int, limit_bytes: int, background_ratio: int, background_bytes: int) -> Finding:
    """How much written data may wait in the page cache before the kernel stops the writers."""
    allowed = limit_bytes or total_bytes * ratio // 100
    background = background_bytes or total_bytes * background_ratio // 100
    text = f"up to {allowed / _GB:.1f} GB of writes may wait in the page cache (flushed from {background / _GB:.1f} GB)"
    if background > DIRTY_WARNING_BYTES:
        return Finding(
            "dirty",
            Severity.WARNING,
            f"{text}: short trials may end before their writes reach the drive",
            "sysctl vm.dirty_background_bytes=268435456 vm.dirty_bytes=1073741824, or measure longer",
        )
    return Finding("dirty", Severity.OK, text)
