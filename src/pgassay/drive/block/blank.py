"""What a real device carries, looked at before it is written over: nothing of others, or it is left alone.

It is asked of wipefs(8), the kernel and the device itself: no signature but a file system with our label, no partition,
no mount, no swap, no holder, and without our label nothing but zeros.
"""

import errno
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from pgassay.bench.running import Runner
from pgassay.drive import messages
from pgassay.drive.block import filesystems
from pgassay.drive.block import messages as block_messages


def require_ours(device: Path, runner: Runner, sys: Path = Path("/sys/class/block")) -> None:
    """Raise unless the device is free and carries nothing, or nothing but a file system of ours."""
    try:
        if not stat.S_ISBLK(device.stat().st_mode):
            raise block_messages.no_block_device(device)
    except FileNotFoundError:
        raise block_messages.no_block_device(device) from None
    _require_free(device, sys)
    require_blank_or_ours(device, runner)


def require_blank_or_ours(device: Path, runner: Runner) -> None:
    """Raise `DriveError` for a device, which is free, with anything on it but a file system of ours."""
    found = signatures(runner, device)
    for signature in found:
        label = str(signature.get("label") or "")
        ours = signature.get("type") in filesystems.KINDS and label.startswith(f"{filesystems.LABEL}-")
        if not ours:
            raise block_messages.carries_data(device, f"{signature.get('type')}{f' labelled {label}' if label else ''}")
    place = None if found else first_data(device)
    if place is not None:
        raise block_messages.carries_unknown_data(device, place)


def signatures(runner: Runner, device: Path) -> list[dict[str, object]]:
    """What wipefs finds and leaves where it is."""
    outcome = runner.run(["wipefs", "--no-act", "--json", str(device)], privileged="reads a device", timeout_s=60.0)
    if outcome.status != 0:
        raise messages.command_failed(f"look at {device}", outcome.stderr)
    found = json.loads(outcome.stdout or "{}").get("signatures", [])
    return [each for each in found if isinstance(each, dict)]


def _require_free(device: Path, sys: Path) -> None:
    try:
        os.close(os.open(device, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))  # busy while mounted, swapped on or held
    except OSError as failure:
        if failure.errno != errno.EBUSY:
            raise messages.system_failed("open", device, failure) from failure
        raise block_messages.device_in_use(device, (failure.strerror or str(failure)).lower()) from None
    folder = sys / device.resolve().name
    held = [path.name for path in (folder / "holders").glob("*")]
    parts = [path.parent.name for path in folder.glob("*/partition")]
    if held or parts:
        raise block_messages.device_in_use(
            device, "partitions " + ", ".join(parts) if parts else "held by " + ", ".join(held)
        )


EDGE_BYTES = 1 << 20
STRETCHES = 256
STRETCH_BYTES = 64 << 10
"""16 MiB in all; a device up to 18 MiB is read whole."""


def first_data(device: Path) -> int | None:
    """Where something other than zeros lies, in bytes from the start; None where nothing was seen.

    Raises `DriveError` for a device that cannot be read.
    """
    try:
        with device.open("rb") as file:
            for place, length in _stretches(file.seek(0, os.SEEK_END)):
                file.seek(place)
                found = file.read(length)
                after_zeros = found.lstrip(b"\0")
                if after_zeros:
                    return place + len(found) - len(after_zeros)
    except OSError as failure:
        raise messages.system_failed("read", device, failure) from failure
    return None


def _stretches(size: int) -> Iterator[tuple[int, int]]:
    """Places and lengths, the ends first."""
    yield 0, EDGE_BYTES
    yield max(0, size - EDGE_BYTES), EDGE_BYTES
    step = -(-max(0, size - 2 * EDGE_BYTES) // STRETCHES)
    for number in range(STRETCHES if step else 0):
        yield EDGE_BYTES + number * step, min(step, STRETCH_BYTES)
