"""May this process mount? mount(8) wants root, and the kernel wants the capability, which containers take from root.

See capabilities(7): CAP_SYS_ADMIN; the effective set is in /proc/self/status, as a mask.
"""

import os
from pathlib import Path

_SYS_ADMIN = 21
_EFFECTIVE = "CapEff:"


def may_mount(status: Path = Path("/proc/self/status")) -> bool:
    """Root with CAP_SYS_ADMIN; where the kernel does not tell, root is taken at its word."""
    if os.geteuid() != 0:
        return False
    try:
        lines = status.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return True
    mask = next((line.removeprefix(_EFFECTIVE).strip() for line in lines if line.startswith(_EFFECTIVE)), "")
    return bool(int(mask, 16) >> _SYS_ADMIN & 1) if mask else True
