"""Recording the write trace of any drive by hand: an emulated one notes it itself, others are listened to.

Both yield the flash model's trace format, which `pgassay simulate --trace` replays on other drives.
"""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pgassay.drive.block import messages
from pgassay.drive.block.block_events import listening

Wait = Callable[[], None]
"""Returns when the recording is to end."""


@dataclass(frozen=True)
class Recorded:
    """What a trace holds; `records` is 0 where the drive did not tell."""

    path: Path
    records: int
    written_blocks: int


def record_emulated(ask: Callable[..., Mapping[str, object]], path: Path, wait: Wait) -> Recorded:
    """The daemon writes the trace, each block with the size that it compressed to."""
    _require_new(path)
    ask("record", path=str(path))
    try:
        wait()
    finally:
        ended = ask("record", path=None).get("ended")
    told = ended if isinstance(ended, Mapping) else {}
    return Recorded(path, int(told.get("records", 0)), int(told.get("written_blocks", 0)))


def record_device(device: Path, path: Path, codec: str, wait: Wait) -> Recorded:
    """The kernel's events, then the blocks' contents from the device; raises `DriveError`, also for lost events."""
    from pgassay.drive.block import write_trace  # numpy: only who records waits for it

    _require_new(path)
    if not device.is_block_device():
        raise messages.no_block_device(device)
    with tempfile.TemporaryDirectory(prefix="pgassay-", dir=path.parent) as place:
        raw = Path(place, "events.txt")
        with listening(device, raw) as listener:
            listener.start()
            wait()
            listener.stop()
            lost = listener.lost()
        if lost:
            raise messages.events_lost(device, lost)
        with raw.open(encoding="utf-8", errors="replace") as lines:
            found = list(write_trace.requests(lines))
        return Recorded(path, len(found), write_trace.write(path, found, device, codec))


def _require_new(path: Path) -> None:
    if path.exists():
        raise messages.trace_exists(path)
    if not path.parent.is_dir():
        raise messages.no_place_for_trace(path)
