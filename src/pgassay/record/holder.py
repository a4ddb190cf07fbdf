"""Which process writes a run just now, found without touching the run's lock.

A reader that tried the lock would hold it for a moment, and a runner that starts in that moment would be refused. The
kernel lists who holds what in /proc/locks (proc(5)); the lock file names the process that should.
"""

import os
import re
import socket
from pathlib import Path

from pgassay import untrusted
from pgassay.files import accounts_of_ours
from pgassay.record.directory import LOCK_FILE

_OWNER = re.compile(r"process (\d+) on (.+)")
_LOCK_BYTES_MAX = 4096


def holder(run: Path, proc: Path = Path("/proc")) -> int | None:
    """Its process id; None where nobody writes, or somebody on another machine or in another container.

    The lock file of another account names a process of that account, or none: it may have the number (inode) of a file
    that some other process holds on another file system.
    """
    try:
        with untrusted.open_file(run / LOCK_FILE, links=False) as file:
            facts = os.fstat(file.fileno())
            owner = _OWNER.fullmatch(file.read(_LOCK_BYTES_MAX).decode(errors="replace").strip())
        if owner is None or owner[2] != socket.gethostname():
            return None
        accounts = {facts.st_uid, (proc / owner[1]).stat().st_uid}
        listed = (proc / "locks").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    if len(accounts) > 1 and facts.st_uid not in accounts_of_ours():
        return None
    held = re.compile(rf"^\d+: FLOCK +ADVISORY +WRITE {owner[1]} [0-9a-f]+:[0-9a-f]+:{facts.st_ino} ", re.MULTILINE)
    return int(owner[1]) if held.search(listed) else None
