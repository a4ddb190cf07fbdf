"""What the tests of kills look for: everything of a place that outlived its makers, by what the kernel says."""

import os
from pathlib import Path

from pgassay.drive.block import kernel


def left_behind(place: Path) -> list[str]:
    """Mounts, loop devices, and processes that work below `place` or were started for it."""
    place = place.resolve()
    found = [f"mount {entry.point}" for entry in kernel.mounts_below(place)]
    found += [f"loop device {device}" for device, file in kernel.loops() if file.is_relative_to(place)]
    return found + [f"process {pid}" for pid in processes(place)]


def processes(place: Path, program: str = "") -> list[int]:
    """Processes whose directory or command line lies below `place`, and whose name begins with `program`; not ours."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal() or int(entry.name) in (os.getpid(), os.getppid()):
            continue
        try:
            words = (entry / "cmdline").read_bytes()
            here = (entry / "cwd").readlink().is_relative_to(place) or os.fsencode(place) in words
            if here and words and (entry / "comm").read_text().startswith(program):
                found.append(int(entry.name))
        except OSError:
            continue  # it ended while we looked
    return found
