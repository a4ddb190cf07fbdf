"""What tests of the drive need: a plain account, mount facts as told, and a small tree that looks like a cluster."""

import os
from collections.abc import Callable
from pathlib import Path

from pgassay.bench.places import Account, Mount

OURSELVES = Account(None, os.geteuid(), os.getegid())


def mounted(filesystem: str = "ext4", free_bytes: int = 1 << 40) -> Callable[[Path], Mount]:
    """A `mount_of` that tells these facts about any path."""
    return lambda path: Mount(path, Path("/"), filesystem, "/dev/sda1", "rw", 1 << 41, free_bytes, False)


def fill(directory: Path, text: str = "PG_VERSION 15\n") -> None:
    """A few files, directories, modes and a link, as in a data directory."""
    (directory / "base" / "5").mkdir(parents=True)
    (directory / "base" / "5" / "1259").write_bytes(bytes(range(256)) * 300)
    (directory / "base" / "5" / "empty").touch()
    (directory / "PG_VERSION").write_text(text)
    (directory / "PG_VERSION").chmod(0o600)
    (directory / "base").chmod(0o700)
    (directory / "link").symlink_to("base")
