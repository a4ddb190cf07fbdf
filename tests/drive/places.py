"""What tests of the drive need: a plain account, mount facts as given, and a small tree that looks like a cluster."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pgassay.drive.attacher import Attacher
from pgassay.drive.options import DriveOptions
from pgassay.interfaces.places import Account, Mount
from pgassay.interfaces.store import Drive, Needs
from tests.fakes.block import FakeDaemon, FakeKernel
from tests.fakes.runner import FakeRunner

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


def attacher(free_bytes: int = 1 << 40, **options: Any) -> Attacher:
    """One that needs no root: fake kernel, fake daemon, and as much memory whatever else runs here."""
    machine = (FakeRunner(), FakeKernel(), FakeDaemon(), OURSELVES, mounted(free_bytes=free_bytes))
    return Attacher(*machine, memory=lambda: 64 << 30, **options)


def on_fakes(
    place: Path, data: str, wal: str = "", *, free_bytes: int = 1 << 40, store_bytes: int | None = None, **more: str
) -> Drive:
    """The drives of these levels, without a real kernel; `more` as `drive.NAME` levels with `_` for the dot."""
    wanted = {
        "data": data,
        **({"wal": wal} if wal else {}),
        **{name.replace("_", ".", 1): value for name, value in more.items()},
    }
    for owner, level in (("data", data), ("wal", wal)):
        if store_bytes is not None and level in ("ssd", "csd"):
            wanted[f"{owner}.store_bytes"] = f"{store_bytes}B"
    return attacher(free_bytes).attach(DriveOptions.from_levels(wanted), place, Needs(64 << 20, 64 << 20, 2, 128 << 20))
