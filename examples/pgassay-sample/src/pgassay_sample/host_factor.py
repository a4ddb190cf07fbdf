"""The factor `host.swappiness`: how willingly the kernel swaps processes out (sysctl/vm in the kernel's documentation).

Written before the server starts and given back after the trial, also when pgassay is killed: every change goes through
`hosting.changes`, which notes what was there before.
"""

import os
from pathlib import Path

from pgassay.interfaces.factor import Factor, Readable, Stage
from pgassay.interfaces.hosting import Hosting
from pgassay.interfaces.kinds import whole
from pgassay.interfaces.server import Server
from pgassay.study.levels import Level

PATH = Path("/proc/sys/vm/swappiness")
PERCENT = whole(least=0, most=200)


class Swappiness(Factor):
    """See the head of this module; `path` is the kernel's file, which a test puts elsewhere."""

    pattern = "host.swappiness"
    stage = Stage.HOST
    summary = "how willingly the kernel swaps processes out to keep files cached"
    accepts = PERCENT.accepts

    def __init__(self, path: Path = PATH) -> None:
        self.path = path

    def parse(self, name: str, typed: str) -> Level:
        """A whole number; raises `UsageError`."""
        return Level(typed, PERCENT.canonical(name, typed))

    def unavailable(self, name: str) -> str | None:
        """Only root may write it, and in some containers nobody may."""
        return None if os.access(self.path, os.W_OK) else f'it takes the right to write "{self.path}"'

    def apply(self, name: str, level: Level, hosting: Hosting) -> None:
        """Write it; raises `HostError`."""
        hosting.changes.write(self.path, level.canonical)

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """What the kernel says."""
        try:
            return self.path.read_text(encoding="ascii").strip()
        except OSError:
            return None

    def adopt_by(self, name: str, level: Level, server: Server) -> str | None:
        """How an administrator makes it permanent."""
        return f"put vm.swappiness = {level.canonical} into a file of /etc/sysctl.d; sysctl --system"


SWAPPINESS = Swappiness()
