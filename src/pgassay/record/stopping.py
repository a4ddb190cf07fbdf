"""How a run is asked to end: a file in its directory that its runner looks for between blocks.

Anybody who may write there may ask, also with touch(1); the runner takes the file away when it has ended, and when it
begins. It ends as by Ctrl-C, but with the block whole: `pgassay resume` goes on with the next one.
"""

import os
from pathlib import Path

from pgassay.record.disk import Disk
from pgassay.record.errors import as_record_error

FILE = "stop"
REASON = "asked to stop after a block"
"""What the journal then says."""

ASKED = frozenset((REASON, SIGNAL := "signal", REBOOT := "reboot between blocks"))
"""What it says of a run that somebody ended early; any other reason is a fault."""


def ask(run: Path) -> None:
    """Ask the runner of this run to end with the block in hand; asked twice is asked once."""
    with as_record_error(run, "ask for a stop"):
        os.close(os.open(run / FILE, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o644))


def is_asked(disk: Disk, run: Path) -> bool:
    """Was it asked? A directory of that name is none of ours, and asks nothing."""
    return disk.exists(run / FILE) and not disk.is_directory(run / FILE)


def forget(disk: Disk, run: Path) -> None:
    """As if nobody had asked."""
    if is_asked(disk, run):
        disk.remove(run / FILE)
