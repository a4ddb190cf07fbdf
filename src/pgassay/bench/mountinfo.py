"""Mounts as the kernel lists them (proc(5), "/proc/pid/mountinfo", "/proc/pid/mounts").

Anybody with a FUSE file system chooses the name of a place, in any bytes. The kernel writes blanks and line feeds of
names in octal, and nothing else that Unicode calls a blank or the end of a line: fields and lines end at these alone.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

MOUNTINFO = Path("/proc/self/mountinfo")
_ESCAPES = (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\"))


@dataclass(frozen=True)
class MountEntry:
    """A line: where it is mounted, its file system, its device or other source, its options (the mount's, then the
    type's), and the file system's `MAJ:MIN`."""

    point: Path
    filesystem: str
    source: str
    options: tuple[str, ...]
    number: str


def parse_mountinfo(text: str) -> list[MountEntry]:
    """All mounts in the kernel's order; a later one hides an earlier one at the same place."""
    found = []
    for line in text.split("\n"):
        head, dash, tail = line.partition(" - ")
        left, right = head.split(" "), tail.split(" ")
        if dash and len(left) >= 6 and len(right) >= 3:
            options = tuple(dict.fromkeys(f"{left[5]},{right[2]}".split(",")))
            found.append(MountEntry(Path(_plain(left[4])), right[0], _plain(right[1]), options, left[2]))
    return found


def parse_mounts(text: str) -> list[tuple[str, str, tuple[str, ...]]]:
    """Of each line of /proc/mounts the place, the type and the options."""
    lines = (line.split(" ") for line in text.split("\n"))
    return [(_plain(words[1]), words[2], tuple(words[3].split(","))) for words in lines if len(words) >= 4]


def _plain(text: str) -> str:
    """Blanks and the like are written in octal: `\\040`."""
    for octal, character in _ESCAPES:
        text = text.replace(octal, character)
    return text


def mounts() -> list[MountEntry]:
    """All mounts as they are now."""
    return parse_mountinfo(MOUNTINFO.read_text(encoding="utf-8", errors="surrogateescape"))


def holding(path: Path, entries: Iterable[MountEntry]) -> MountEntry | None:
    """The mount that a resolved path lies on: the longest mount point above it, the last one of equals."""
    above = [entry for entry in entries if path.is_relative_to(entry.point)]
    return max(enumerate(above), key=lambda each: (len(each[1].point.parts), each[0]))[1] if above else None
