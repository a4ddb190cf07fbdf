"""What all factors of the machine share: they need root, and may be given another root directory by tests."""

import os
from pathlib import Path

from pgassay.bench.factor import Factor, Stage
from pgassay.bench.server import Server
from pgassay.errors import UsageError
from pgassay.study.levels import Level

NO_ROOT = "needs root"


class HostFactor(Factor):
    """What all of them share: the machine's root directory, which tests put elsewhere."""

    stage = Stage.HOST

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root

    def unavailable(self, name: str) -> str | None:
        """Root alone may change the machine."""
        return None if os.geteuid() == 0 else NO_ROOT

    def adopt_by(self, name: str, level: Level, server: Server) -> str:
        """The steps on a server of one's own, the kernel's side and PostgreSQL's.

        From PostgreSQL's manual ("Managing Kernel Resources", "Linux Huge Pages"), the kernel's (hugetlbpage,
        transhuge) and systemd.resource-control(5). They hold for the settings that the level was measured with.
        """
        return "\n".join(self.steps(level.typed)) or f"{name} = {level.typed}: nothing to set"

    def steps(self, typed: str) -> tuple[str, ...]:
        """One sentence a step; empty where the level is what a server has anyway."""
        return ()


def not_a_host_level(name: str, typed: str, accepted: str) -> UsageError:
    """A level of another form."""
    return UsageError(f'"{name}" cannot be "{typed}"', f"it takes {accepted}")
