"""Runs between fork and exec of an emulated drive's daemon: `python -I -S _launch.py GROUP|- PROGRAM ARGS…`.

Moves itself into the root memory cgroup: a drive that shares a limited one with its users waits for memory that only
its own writes can free (docs/drives.md, "Memory cgroups"). Also asks to be spared when memory runs out.
Imports nothing of pgassay.
"""

import contextlib
import os
import sys
from pathlib import Path

NOT_RUN = 127
_SPARED = "-1000"


def main(arguments: list[str]) -> int:
    """Become the daemon; returns only when that fails."""
    group, *command = arguments
    try:
        if group != "-":
            Path(group).write_text(str(os.getpid()), encoding="utf-8")  # ours: a file of the kernel
        with contextlib.suppress(OSError):  # wants CAP_SYS_RESOURCE; without it the drive may be killed as others may
            Path("/proc/self/oom_score_adj").write_text(_SPARED, encoding="utf-8")  # ours: a file of the kernel
        os.execv(command[0], command)
    except OSError as error:
        print(f"{command[0]}: could not be run: {error.strerror}", file=sys.stderr)
    return NOT_RUN


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
