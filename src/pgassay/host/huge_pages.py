"""Huge pages of the kernel's pools ("HugeTLB Pages"): how many there are, getting more, and who really uses them.

A server says itself how many it needs from PostgreSQL 15 on (manual, "Linux Huge Pages"); before, the greatest virtual
size of a server without them gives the number. Memory is compacted before any are asked for, since the free memory
behind a huge page must be contiguous.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from pgassay.interfaces.errors import HostError
from pgassay.interfaces.hosting import HostChanges
from pgassay.study.units import format_bytes

NEEDED = "shared_memory_size_in_huge_pages"
TRIES = 3
_BASE_BYTES = 4096


@dataclass(frozen=True)
class Pool:
    """The pool of one page size: pages in all, free ones, and free ones that are promised already.

    `surplus` are pages that the pool no longer owns and that go when their users end.
    """

    total: int
    free: int
    reserved: int
    surplus: int = 0

    @property
    def owned(self) -> int:
        """What the pool keeps by itself: `nr_hugepages` as it was written last."""
        return self.total - self.surplus


def folder(page_bytes: int, root: Path) -> Path:
    """The kernel's files for one page size."""
    return root / f"sys/kernel/mm/hugepages/hugepages-{page_bytes // 1024}kB"


def sizes(root: Path) -> tuple[int, ...]:
    names = (each.name for each in (root / "sys/kernel/mm/hugepages").glob("hugepages-*kB"))
    return tuple(sorted(int(name.removeprefix("hugepages-").removesuffix("kB")) * 1024 for name in names))


def default_size(root: Path) -> int | None:
    """The size that `huge_page_size = 0` means, in bytes, by /proc/meminfo."""
    try:
        found = re.search(r"^Hugepagesize:\s+(\d+) kB$", (root / "proc/meminfo").read_text("utf-8"), re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) * 1024 if found else None


def pool(page_bytes: int, root: Path) -> Pool:
    place = folder(page_bytes, root)
    return Pool(*(int((place / name).read_text("ascii")) for name in _COUNTS))


def available(root: Path) -> bool:
    """Are pages of the default size free as the machine is now, or would the kernel add some (nr_overcommit_hugepages)?

    Else a server with its default `huge_pages = try` starts without them.
    """
    size = default_size(root)
    if size is None:
        return False
    try:
        found = pool(size, root)
        more = folder(size, root) / "nr_overcommit_hugepages"
        return found.free > found.reserved or (more.exists() and int(more.read_text("ascii")) > 0)
    except OSError:
        return False


_COUNTS = ("nr_hugepages", "free_hugepages", "resv_hugepages", "surplus_hugepages")


def obtain(changes: HostChanges, page_bytes: int, needed: int, root: Path) -> int:
    """Grow the pool until `needed` pages are free besides those of others; returns how many pages were added.

    They are free for everybody: a PostgreSQL with its default `huge_pages = try` that starts now may take them first.
    Raises `HostError`.
    """
    place = folder(page_bytes, root)
    was = pool(page_bytes, root)
    target = was.total + max(0, needed - (was.free - was.reserved))
    if target == was.total:
        return 0
    compact = root / "proc/sys/vm/compact_memory"
    for attempt in range(TRIES):
        if compact.exists():
            compact.write_text("1", encoding="ascii")  # ours: a file of the kernel
        if attempt == 0:
            # A server that took pages of ours may hold them still: they are surplus, and not to be there for ever.
            changes.write(place / "nr_hugepages", str(target), str(was.owned))
        else:
            (place / "nr_hugepages").write_text(str(target), encoding="ascii")  # ours: a file of the kernel
        now = pool(page_bytes, root)
        if now.free - now.reserved >= needed:
            return target - was.total
    raise HostError(
        f"the server needs {needed} huge pages of {format_bytes(page_bytes)}, and this "
        f"machine could free only {now.free - now.reserved}",
        code="hugepage_error",
    )


@dataclass(frozen=True)
class SharedMemory:
    """A process's shared mappings: the largest page that any lies in, and the bytes in huge pages."""

    page_bytes: int
    huge_bytes: int


def shared_memory(smaps: str) -> SharedMemory:
    """From /proc/pid/smaps; a mapping in pages larger than the base page is one of a huge page pool."""
    page, huge, size, shared = _BASE_BYTES, 0, 0, False
    for line in smaps.split("\n"):
        if re.match(r"^[0-9a-f]+-[0-9a-f]+ ", line):
            shared = line.split(" ", 2)[1].endswith("s")
        elif shared and line.startswith("Size:"):
            size = int(line.split()[1]) * 1024
        elif shared and line.startswith("KernelPageSize:"):
            found = int(line.split()[1]) * 1024
            page = max(page, found)
            huge += size if found > _BASE_BYTES else 0
    return SharedMemory(page, huge)


def peak_bytes(pid: int) -> int:
    """The greatest virtual size that a process has had (VmPeak); raises `OSError` when it is gone."""
    text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    found = re.search(r"^VmPeak:\s+(\d+) kB$", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0
