"""Programs at the same addresses each time (ADDR_NO_RANDOMIZE of personality(2)), as `setarch -R` starts them: what
caches and branches collide is then the same in each start.
"""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_FIXED = 0x0040000
"""ADDR_NO_RANDOMIZE of personality(2)."""
_ASK = 0xFFFFFFFF


@contextmanager
def fixed_addresses(wanted: bool) -> Iterator[None]:
    """Programs that are started meanwhile, and theirs, get the same addresses each time; other programs keep theirs.

    Raises `OSError` where that is not permitted (a container's seccomp filter).
    """
    if not wanted:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    before = libc.personality(_ASK)
    if before == -1 or libc.personality(before | _FIXED) == -1:
        raise OSError(ctypes.get_errno(), "personality")
    try:
        yield
    finally:
        libc.personality(before)


def is_fixed(pid: int) -> bool:
    """Does a process have the same addresses each time?"""
    return bool(int(Path(f"/proc/{pid}/personality").read_text(encoding="ascii"), 16) & _FIXED)
