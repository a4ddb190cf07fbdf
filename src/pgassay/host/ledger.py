"""What was changed on this machine and is owed back, on disk before it is changed: survives SIGKILL, not a reboot.

One ledger a machine, since what it guards (huge pages, control groups) is the machine's: a lab locks it (flock(2),
which ends with its process) before its first change. Entries of another boot owe nothing: a reboot gives all back.
"""

import fcntl
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

FILE = "host-changes.jsonl"
LOCK = "host-changes.lock"


@dataclass(frozen=True)
class Change:
    """A value that stood in `path` (`kind` value), or a control group that we made there (`kind` group)."""

    kind: str
    path: str
    before: str
    boot: str


class Ledger:
    """The changes that this lab owes; `directory` is made when something is written first."""

    def __init__(self, directory: Path, boot: str) -> None:
        self._directory = directory
        self._boot = boot
        self._lock: int | None = None

    @property
    def path(self) -> Path:
        """The file."""
        return self._directory / FILE

    @property
    def held(self) -> bool:
        """Is it locked by us?"""
        return self._lock is not None

    def take(self) -> bool:
        """Lock it for this process; False while another lab has it. Taking it twice is harmless."""
        if self._lock is not None:
            return True
        self._directory.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._lock = descriptor
        return True

    def release(self) -> None:
        """Let others have it."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def owed(self) -> tuple[Change, ...]:
        """What is to be given back, in the order of the changes; a line that a crash cut short was not acted upon."""
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()
        except OSError:
            return ()
        found = []
        for line in lines:
            try:
                change = Change(**json.loads(line))
            except (ValueError, TypeError):
                continue
            if change.boot == self._boot:
                found.append(change)
        return tuple(found)

    def add(self, kind: str, path: Path, before: str = "") -> None:
        """Owe one more; on disk when this returns."""
        change = Change(kind, str(path), before, self._boot)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(change)) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def clear(self) -> None:
        """Everything is given back."""
        self.path.unlink(missing_ok=True)


def boot_of(root: Path = Path("/")) -> str:
    """Which boot of the machine this is."""
    try:
        return (root / "proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    except OSError:
        return ""
