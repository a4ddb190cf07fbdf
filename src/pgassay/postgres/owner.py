"""Whose is a running cluster or a socket directory: a file that names the pgassay process that made it.

After a crash or SIGKILL of that process, what it left is told from what another, living pgassay still uses.
"""

import json
import os
from pathlib import Path

from pgassay.postgres.processes import started_ticks

FILE = "PGASSAY_OWNER"


def write(directory: Path) -> None:
    """Say that `directory` is in use by this process."""
    ours = {"pid": os.getpid(), "started_ticks": started_ticks(os.getpid()), "boot": _boot()}
    (directory / FILE).write_text(json.dumps(ours) + "\n", encoding="utf-8")


def remove(directory: Path) -> None:
    """Say that it is no longer in use."""
    (directory / FILE).unlink(missing_ok=True)


def abandoned(directory: Path) -> bool:
    """Did the process that used `directory` end without saying so? False where no file says anything."""
    path = directory / FILE
    if path.is_symlink() or not path.is_file():
        return False
    try:
        owner = json.loads(path.read_text(encoding="utf-8"))
        pid, ticks, boot = int(owner["pid"]), owner["started_ticks"], str(owner["boot"])
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return boot != _boot() or bool(started_ticks(pid) != ticks)


def _boot() -> str:
    """Which boot of the machine this is."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    except OSError:
        return ""
