"""A file system of a chosen type in an image file, mounted for one test; gone afterwards whatever happens."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from pgassay.drive.block.kernel import unmount

PATIENCE_S = 300.0
"""Whoever works below it may take a moment longer to be gone."""
MAKE = {"ext4": ("mkfs.ext4", "-q"), "xfs": ("mkfs.xfs", "-q", "-m", "reflink=1"), "btrfs": ("mkfs.btrfs", "-q")}


def missing(filesystem: str) -> str:
    """Why this file system cannot be made here; empty if it can."""
    if os.geteuid() != 0:
        return "mounting needs root"
    absent = [program for program in (MAKE[filesystem][0], "mount", "umount") if shutil.which(program) is None]
    return f"{', '.join(absent)} is not installed" if absent else ""


@contextlib.contextmanager
def mounted_image(filesystem: str, directory: Path, size_bytes: int) -> Iterator[Path]:
    """Make an image of `size_bytes` in `directory`, mount it, unmount and remove it; the loop device goes with it."""
    image, point = directory / f"{filesystem}.img", directory / f"{filesystem}-mount"
    with image.open("xb") as file:
        file.truncate(size_bytes)
    point.mkdir()
    try:
        subprocess.run([*MAKE[filesystem], str(image)], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["mount", "-o", "loop", str(image), str(point)], check=True, capture_output=True)
        try:
            yield point
        finally:
            unmount(point, patience_s=PATIENCE_S)
    finally:
        point.rmdir()
        image.unlink()
