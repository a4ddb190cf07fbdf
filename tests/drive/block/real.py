"""Real block drives for tests: in a place that the servers' account may enter; skipped by name where mounts are not."""

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from pgassay.drive import sessions
from pgassay.drive.attacher import Attacher
from pgassay.drive.block.daemon import RealDaemon
from pgassay.drive.block.filesystems import Filesystem
from pgassay.drive.block.kernel import LinuxKernel, detach_loop
from pgassay.drive.options import DriveOptions, scaled_pages
from pgassay.host.accounts import choose
from pgassay.host.runner import LocalRunner
from pgassay.interfaces.errors import BenchError
from pgassay.interfaces.store import Drive, Needs
from pgassay.lab.drives import local_attacher


@cache
def mounting() -> str:
    """Why loop devices and mounts are not available here; empty if they are."""
    kernel = LinuxKernel(LocalRunner(choose()))
    try:
        kernel.require(Filesystem())
    except BenchError as refusal:
        return refusal.message
    with tempfile.TemporaryDirectory() as folder:
        image, point = Path(folder, "probe"), Path(folder, "mnt")
        image.touch()
        os.truncate(image, 64 << 20)
        point.mkdir()
        try:
            device = kernel.attach(image)
            try:
                kernel.make(device, Filesystem(), "pgassay-test")
                kernel.mount(device, point, Filesystem())
                kernel.unmount(point)
            finally:
                kernel.detach(device)
        except BenchError as refusal:
            return refusal.message
    return ""


def require(kind: str, filesystem: str = "ext4") -> None:
    """Skip unless such a drive is available here."""
    if mounting():
        pytest.skip(f"mounts: {mounting()}")
    try:
        LinuxKernel(LocalRunner(choose())).require(Filesystem(filesystem))
        if kind in ("ssd", "csd"):
            RealDaemon().require()
    except BenchError as refusal:
        pytest.skip(f"{kind} on {filesystem}: {refusal.message}")


@contextmanager
def place() -> Iterator[Path]:
    """A directory on a real file system that everybody may enter; what is left in it is given back."""
    with tempfile.TemporaryDirectory(prefix="drive-", dir="/var/tmp") as name:
        path = Path(name)
        path.chmod(0o755)
        try:
            yield path
        finally:
            sessions.undo_block_drives(path)


@contextmanager
def emulated_devices(place: Path) -> Iterator[Callable[..., Path]]:
    """Makes an emulated drive as a block device without a file system."""
    require("csd")
    home, program, kernel, found = place / "home", RealDaemon(), LinuxKernel(LocalRunner(choose())), list[Path]()

    def made(kind: str, size_mib: int, over_provisioning: float = 0.07) -> Path:
        home.mkdir()
        levels = {"data": kind, "data.capacity": f"{size_mib}MB", "data.over_provisioning": f"{over_provisioning}"}
        described = DriveOptions.from_levels(levels).data.described
        assert described is not None
        size_bytes = size_mib << 20
        described = described.with_values(
            {"drive.pages_per_block": scaled_pages(size_bytes), "emulation.store_bytes": 5 * size_bytes // 2}
        )
        program.start(home, described.core.configuration("prepared", home))
        found.append(kernel.attach(program.disk(home)))
        return found[0]

    try:
        yield made
    finally:
        for each in found:
            detach_loop(each)
        program.end(home)


def attacher(directory: Path) -> Attacher:
    """As a workbench has it."""
    account = choose()
    return replace(local_attacher(LocalRunner(account), account), allow_volatile=True)


def attach(directory: Path, data: str, **levels: str) -> Drive:
    """The drives of these levels; `wal`, `data_capacity`, `state` …: the first underscore is a dot."""
    wanted = {
        "data": data,
        "data.capacity": "512MB",
        **{name.replace("_", ".", 1): each for name, each in levels.items()},
    }
    if data == "directory":
        del wanted["data.capacity"]
    return attacher(directory).attach(
        DriveOptions.from_levels(wanted), directory, Needs(64 << 20, 64 << 20, 2, 128 << 20)
    )


def succeeded(*command: str) -> str:
    """Run a tool of the system; its output."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
