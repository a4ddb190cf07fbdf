"""Drives that stay until they are destroyed: made by `pgassay drive create`, mounted, for users' own work.

Each has a home `DIRECTORY/pgassay/drives/NAME/` with a daemon or an image, a mounted file system and, written last, its
facts. A home without facts is one that is being made, which its maker's lock shows, or what a killed maker left.
"""

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pgassay.drive import sessions
from pgassay.drive.block import daemon
from pgassay.drive.block.daemon import AGEING_PATIENCE_S, Daemon, SocketControl
from pgassay.drive.block.filesystems import LABEL, Filesystem
from pgassay.drive.block.image import DISK
from pgassay.drive.block.kernel import Kernel, busy, holders, mounts_below
from pgassay.drive.options import DriveOptions
from pgassay.drive.root import DRIVES, Root, alone, remove_tree, take_lock, write_durably
from pgassay.drive.sessions import POINT
from pgassay.errors import UsageError
from pgassay.files import Directory

FACTS = "drive.json"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
_USUAL_BYTES = 4 << 30


@dataclass(frozen=True)
class NamedDrive:
    """One of them as it stands. `state` is `mounted`, `stopped` (its daemon or mount is gone)."""

    name: str
    kind: str
    state: str
    home: Path
    facts: Mapping[str, Any]

    @property
    def point(self) -> Path:
        return self.home / POINT

    @property
    def emulated(self) -> bool:
        return (self.home / daemon.CONFIGURATION).exists()

    @property
    def device(self) -> Path:
        """The loop device under its file system; raises `DriveError` while it is stopped."""
        entry = next(iter(mounts_below(self.point)), None)
        if entry is None:
            raise daemon.silent(self.home, "it is stopped")
        return Path(entry.source)

    def ask(self, do: str, **values: Any) -> Mapping[str, Any]:
        """Ask its daemon; raises `UsageError` for an image."""
        if not self.emulated:
            raise UsageError(f'drive "{self.name}" is of kind {self.kind}, which has no counters and cannot be aged')
        return SocketControl(self.home).ask(do, patience_s=AGEING_PATIENCE_S, **values)


def all_drives(root: Root) -> list[NamedDrive]:
    return [_read(path.parent) for path in sorted(root.drives.glob(f"*/{FACTS}"))]


def find(root: Root, name: str) -> NamedDrive:
    known = {each.name: each for each in all_drives(root)}
    if name not in known:
        words = ", ".join(known)
        raise UsageError(
            f'there is no drive "{name}"', f"there are: {words}" if words else "pgassay drive create makes one"
        )
    return known[name]


def create(root: Root, name: str, options: DriveOptions, kernel: Kernel, program: Daemon) -> NamedDrive:
    """Make, format and mount the data's drive; raises `UsageError` or `DriveError`, and nothing of it stays then."""
    drive = options.data
    if not _NAME.fullmatch(name):
        raise UsageError(f'"{name}" cannot name a drive', "a name has letters, digits, - and _, at most 40")
    home = root.drives / name
    capacity = drive.capacity_bytes or _USUAL_BYTES
    if home.exists():
        if (home / FACTS).exists():
            raise UsageError(f'there is a drive "{name}" already', "name another, or destroy it: pgassay drive destroy")
        raise UsageError(
            f'drive "{name}" is only partly created',
            "if no other process is creating it, remove it: pgassay drive list --repair",
        )
    drive.filesystem.require_room(capacity)
    kernel.require(drive.filesystem)
    described = options.described(drive)
    if described is not None:
        described = described.with_capacity(capacity)
        program.require()
        program.check(described)
    with alone(root.path):
        with Directory.open(root.path) as ours:
            with suppress(FileExistsError):
                ours.mkdir(DRIVES, 0o755)
            with ours.inner(DRIVES) as drives:
                drives.mkdir(name, 0o755)
        lock = take_lock(home)
    try:
        if described is None:
            file = home / DISK
            with file.open("xb") as image:
                image.truncate(capacity)
        else:
            program.start(home, described.core.configuration(name, home))
            file = program.disk(home)
        device = kernel.attach(file)
        kernel.make(device, drive.filesystem, f"{LABEL}-{name}"[:12])
        (home / POINT).mkdir()
        kernel.mount(device, home / POINT, drive.filesystem)
        facts = {
            "format": 1,
            "name": name,
            "kind": drive.label,
            "capacity_bytes": capacity,
            "filesystem": asdict(drive.filesystem),
        }
        write_durably(home / FACTS, json.dumps(facts) + "\n")
    except BaseException:
        _remove(home)
        raise
    finally:
        if lock is not None:
            os.close(lock)
    return _read(home)


def destroy(drive: NamedDrive) -> None:
    """Unmount it, end its daemon, remove it with all that is on it; raises `DriveError` while it is in use."""
    for entry in mounts_below(drive.point):
        if holders(entry.point):
            raise busy(entry.point, holders(entry.point))
    _remove(drive.home)


def repair(root: Root) -> list[str]:
    """Remove drives whose program is gone, because their contents are gone with it; images stay as they are.

    One whose program serves stays, too: somebody has unmounted it, perhaps to check it, and its contents are there.
    What a killed `create` or `destroy` has left goes, too: it has no name that anybody could destroy.
    """
    done = []
    for drive in all_drives(root):
        if drive.emulated and daemon.running(drive.home) is None:
            _remove(drive.home)
            done.append(f"drive {drive.name}, whose daemon is gone")
    with alone(root.path):
        for home in sorted(root.drives.glob("*")):
            if not home.is_dir() or (home / FACTS).exists() or (lock := take_lock(home)) is None:
                continue
            try:
                _remove(home)
            finally:
                os.close(lock)
            done.append(f"drive {home.name}, which was partly created")
    return done


def _remove(home: Path) -> None:
    sessions.undo_block_drives(home)
    remove_tree(home)


def check(drive: NamedDrive, kernel: Kernel) -> Mapping[str, Any]:
    """Check its file system, unmounted for that long, and itself; raises `DamagedError`, or `DriveError` if in use."""
    made = drive.facts["filesystem"]
    filesystem = Filesystem(str(made["name"]), tuple(made["mkfs"]), tuple(made["mount_options"]))
    device = drive.device
    kernel.unmount(drive.point)
    try:
        kernel.check(device, filesystem)
        found = drive.ask("fsck") if drive.emulated else {}
    finally:
        kernel.mount(device, drive.point, filesystem)
    daemon.require_sound(found, drive.home)
    return found


def _read(home: Path) -> NamedDrive:
    try:
        facts = json.loads((home / FACTS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        facts = {}
    mounted = any(entry.point == home / POINT for entry in mounts_below(home))
    serves = not (home / daemon.CONFIGURATION).exists() or daemon.running(home) is not None
    state = "mounted" if mounted and serves else "stopped"
    return NamedDrive(home.name, str(facts.get("kind", "unknown")), state, home, facts)
