"""Lists on disk of one JSON object a line, written before what they tell of is done.

So a line that a crash cut short was not acted upon, and a reader passes over it.
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pgassay import untrusted
from pgassay.locks import FileLock


def whole(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of whole lines, in order; none where there is no file."""
    try:
        lines = untrusted.read_bytes(path).splitlines()
    except OSError:
        return
    for line in lines:
        try:
            found = untrusted.json(line)
        except ValueError:
            continue
        if isinstance(found, dict):
            yield found


class LockedList:
    """A list to which one process at a time adds; its directory is made when something is written first."""

    def __init__(self, path: Path, lock: Path) -> None:
        self.path = path
        self._lock = FileLock(lock)

    @property
    def held(self) -> bool:
        return self._lock.held

    def take(self) -> bool:
        """Lock it for this process; False while another one has it. Taking it twice is harmless."""
        return self._lock.take()

    def release(self) -> None:
        self._lock.release()

    def append(self, line: Mapping[str, Any], head: Mapping[str, Any] | None = None) -> None:
        """Add one line, to a new list after its `head`; on disk, with the file's name, when this returns."""
        new = not self.path.exists()
        text = json.dumps(line) + "\n"
        if new and head is not None:
            text = json.dumps(head) + "\n" + text
        elif not new and self.path.stat().st_size and not self.path.read_bytes().endswith(b"\n"):
            text = "\n" + text  # a crash cut the last line short
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "a", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if new:
            descriptor = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def clear(self) -> None:
        self.path.unlink(missing_ok=True)  # ours: in the state directory
