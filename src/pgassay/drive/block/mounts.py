"""What the kernel says is mounted and looped below a directory of ours: mountinfo, /sys/block, /proc.

Only reads. Paths are compared whole, so that nothing outside the directory is ever found.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_MOUNTINFO = Path("/proc/self/mountinfo")
_ESCAPES = (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\"))


@dataclass(frozen=True)
class MountEntry:
    """A line of mountinfo; `number` is the file system's `MAJ:MIN`."""

    point: Path
    filesystem: str
    source: str
    options: tuple[str, ...]
    number: str


def parse(text: str) -> list[MountEntry]:
    """All mounts, in the kernel's order (proc(5))."""
    found = []
    for line in text.splitlines():
        head, dash, tail = line.partition(" - ")
        left, right = head.split(" "), tail.split(" ")
        if dash and len(left) >= 6 and len(right) >= 3:
            options = tuple(dict.fromkeys(f"{left[5]},{right[2]}".split(",")))
            found.append(MountEntry(Path(_plain(left[4])), right[0], _plain(right[1]), options, left[2]))
    return found


def _plain(text: str) -> str:
    for octal, character in _ESCAPES:
        text = text.replace(octal, character)
    return text


def mounts() -> list[MountEntry]:
    """Every mount of this process's namespace, in the kernel's order."""
    return parse(_MOUNTINFO.read_text(encoding="utf-8"))


def mounts_below(place: Path) -> list[MountEntry]:
    """Mounts on or below `place`, the last one first: the order in which they can be undone."""
    return [entry for entry in reversed(mounts()) if entry.point.is_relative_to(place)]


def mount_over(path: Path) -> MountEntry | None:
    """The mount that `path` lies on."""
    above = [entry for entry in mounts() if path.is_relative_to(entry.point)]
    return max(enumerate(above), key=lambda each: (len(each[1].point.parts), each[0]))[1] if above else None


def loops(sys: Path = Path("/sys/block")) -> Iterator[tuple[Path, Path]]:
    """Every loop device in use, with the file behind it."""
    for folder in sorted(sys.glob("loop*")):
        try:
            name = (folder / "loop" / "backing_file").read_text(encoding="utf-8").rstrip("\n")
        except OSError:
            continue
        yield Path("/dev") / folder.name, Path(name.removesuffix(" (deleted)"))


def loops_below(place: Path) -> list[Path]:
    """Loop devices whose file lies below `place`."""
    return [device for device, file in loops() if file.is_relative_to(place)]


def holder(device: Path, proc: Path = Path("/proc")) -> tuple[int, str] | None:
    """A process in another mount namespace that has the device mounted, with its program; None where none is seen."""
    ours = (proc / "self" / "ns" / "mnt").readlink()
    for folder in sorted(proc.glob("[0-9]*"), key=lambda each: int(each.name)):
        with suppress(OSError):
            if (folder / "ns" / "mnt").readlink() == ours:
                continue
            found = parse((folder / "mountinfo").read_text(encoding="utf-8", errors="surrogateescape"))
            if any(each.source == str(device) for each in found):
                return int(folder.name), (folder / "comm").read_text(encoding="utf-8", errors="replace").rstrip("\n")
    return None


def backing_file(device: Path) -> Path | None:
    """The file behind a loop device; None if it is none, or free."""
    return next((file for loop, file in loops() if loop == device), None)


def holders(point: Path, proc: Path = Path("/proc")) -> list[str]:
    """Processes that work below `point`, for a message: `postgres (process 123)`."""
    found = []
    for entry in proc.iterdir():
        if not entry.name.isdecimal():
            continue
        with suppress(OSError):  # it ended while we looked, or belongs to somebody else
            links = [entry / "cwd", entry / "root", *(entry / "fd").iterdir()]
            if any(_leads_below(link, point) for link in links):
                name = (entry / "comm").read_text(encoding="utf-8", errors="replace").strip()
                found.append(f"{name} (process {entry.name})")
    return found


def _leads_below(link: Path, point: Path) -> bool:
    """Not one that was closed since it was listed, as of our own files the listing itself."""
    try:
        return link.readlink().is_relative_to(point)
    except OSError:
        return False
