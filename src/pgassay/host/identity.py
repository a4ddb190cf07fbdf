"""Which machine this is, as a hash: for files that stay on it, so that a home directory shared by two is no confusion.

From /etc/machine-id (machine-id(5), which asks to be hashed before it is used), else from the host's name.
"""

import hashlib
import platform
from pathlib import Path

_PURPOSE = "pgassay"


def host_id(root: Path = Path("/")) -> str:
    """Sixteen hexadecimal digits that stay the same over reboots and say nothing else."""
    try:
        known = (root / "etc/machine-id").read_text(encoding="utf-8").strip()
    except OSError:
        known = ""
    return hashlib.sha256(f"{_PURPOSE}/{known or platform.node()}".encode()).hexdigest()[:16]
