"""ext4, xfs and btrfs: how each is made, mounted, checked and asked what it is.

Made without discard, so that an aged drive keeps its age, and with nothing left to do later (ext4's lazy
initialisation would write into a trial). mke2fs(8), mkfs.xfs(8), mkfs.btrfs(8).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pgassay.errors import UsageError
from pgassay.study.units import format_size, parse_whole

_UNSHARED = re.compile(r"\b(?:reflink|crc)=0")
"""Options of mkfs.xfs that leave it without reflinks, which it makes since 5.1 where nobody says otherwise."""
LABEL = "pgassay"
"""How the label of every file system of ours begins; twelve characters are the most that xfs takes."""


@dataclass(frozen=True)
class Kind:
    """A type of file system. `question` asks it about itself; `answers` finds what an option of mkfs became.

    An answer's key is the option as written up to its value (`-b`, `-b size=`); the pattern's group is the value.
    """

    package: str
    make: tuple[str, ...]
    check: tuple[str, ...]
    question: tuple[str, ...]
    answers: Mapping[str, str]
    capacity_min_bytes: int
    mount_options: tuple[str, ...] = ()
    shares_blocks: bool = False


KINDS: Mapping[str, Kind] = {
    "ext4": Kind(
        "e2fsprogs",
        ("mkfs.ext4", "-q", "-F", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"),
        ("e2fsck", "-fn"),
        ("dumpe2fs", "-h"),
        {
            "-b ": r"^Block size:\s+(\d+)$",
            "-I ": r"^Inode size:\s+(\d+)$",
            "-J size=": r"^(?:Total journal size|Journal size):\s+(\d+)M$",
            "-C ": r"^Cluster size:\s+(\d+)$",
            "-O ^": r"^Filesystem features:\s+(.*)$",
            "-O ": r"^Filesystem features:\s+(.*)$",
        },
        64 << 20,
    ),
    "xfs": Kind(
        "xfsprogs",
        ("mkfs.xfs", "-q", "-f", "-K"),
        ("xfs_repair", "-n"),
        ("xfs_info",),
        {
            "-b size=": r"^data\s+=\s+bsize=(\d+)",
            "-i size=": r"\bisize=(\d+)",
            "-m reflink=": r"\breflink=(\d)",
            "-m crc=": r"\bcrc=(\d)",
        },
        300 << 20,
        ("nouuid",),
        shares_blocks=True,
    ),
    "btrfs": Kind(
        "btrfs-progs",
        ("mkfs.btrfs", "-q", "-f", "-K"),
        ("btrfs", "check", "--readonly"),
        ("btrfs", "inspect-internal", "dump-super"),
        {"-n ": r"^nodesize\s+(\d+)$", "-s ": r"^sectorsize\s+(\d+)$"},
        256 << 20,
        shares_blocks=True,
    ),
}
"""By the name that mount(8) knows. `nouuid`: a clone of an xfs has its original's UUID."""


@dataclass(frozen=True)
class Filesystem:
    """What is asked for: a type, options of mkfs beyond ours, and mount options."""

    name: str = "ext4"
    mkfs: tuple[str, ...] = ()
    mount_options: tuple[str, ...] = ("noatime",)

    @property
    def kind(self) -> Kind:
        return KINDS[self.name]

    def require_room(self, capacity_bytes: int) -> None:
        """Raise `UsageError` where no such file system fits on a drive of this size."""
        least_bytes = self.kind.capacity_min_bytes
        if capacity_bytes < least_bytes:
            raise UsageError(
                f"a drive of {format_size(capacity_bytes)} is too small",
                f"give it {format_size(least_bytes)} or more",
            )

    @property
    def shares_blocks(self) -> bool:
        """Can a clone share its blocks with its snapshot there, as we make it?"""
        return self.kind.shares_blocks and not _UNSHARED.search(" ".join(self.mkfs))

    def all_mount_options(self) -> str:
        """The options for `mount -o`: those of the type, then the user's."""
        return ",".join((*self.mount_options, *self.kind.mount_options))


def confirmed(kind: Kind, options: Sequence[str], said: str) -> bool | None:
    """Do these mkfs options hold, by what the file system says of itself? None if it says nothing about one."""
    text = " ".join(options)
    for word in re.findall(r"-\S+(?: [^-]\S*)?", text):
        key = next((each for each in kind.answers if word.startswith(each)), None)
        found = re.search(kind.answers[key], said, re.MULTILINE) if key else None
        if key is None or found is None:
            return None
        wanted = word.removeprefix(key)
        if key.endswith("^"):
            if wanted in found[1].split():
                return False
        elif key == "-O ":
            if wanted not in found[1].split():
                return False
        elif _number(wanted) != _number(found[1]):
            return False
    return True


def _number(text: str) -> str:
    """`4k` and `4096` are one number."""
    scale = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}.get(text[-1:].lower(), 0)
    number = parse_whole(text[:-1] if scale else text)
    return text if number is None else str(number * (scale or 1))
