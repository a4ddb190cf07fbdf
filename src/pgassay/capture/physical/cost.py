"""What a server's files will cost, before they are read: bytes, time at rates that are measured now, and room here."""

import os
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from pgassay import copying
from pgassay.capture.errors import CaptureError
from pgassay.postgres import copied
from pgassay.study.units import format_size

_GROWTH = 1.02
_WAL_BYTES = 64 << 20
_PROBE_BYTES = 64 << 20
_PIECE = 1 << 20
_PACKED_BYTES = 4 << 20


@dataclass(frozen=True)
class Estimate:
    """What it will cost: bytes to be read from the source, the rate that was measured just now, and the room here."""

    bytes: int
    rate_bytes_per_s: float
    limited_by: str
    free_bytes: int
    checkpoint_s: float = 0.0
    """How long the server may take for the checkpoint that a base backup begins with."""

    @property
    def room_bytes(self) -> int:
        """With WAL that is written meanwhile."""
        return int(self.bytes * _GROWTH) + _WAL_BYTES

    @property
    def seconds(self) -> float:
        """At that rate, the checkpoint apart."""
        return self.bytes / self.rate_bytes_per_s


def require_room(estimate: Estimate, place: Path) -> None:
    """Raise `CaptureError` where the files would not fit."""
    if estimate.room_bytes > estimate.free_bytes:
        raise CaptureError(
            f'the files need {format_size(estimate.room_bytes)} in "{place}", which has '
            f"{format_size(estimate.free_bytes)} free",
            "name another place with --out; --data dump is smaller, --data synthetic smallest",
        )


def existing(path: Path) -> Path:
    """The directory itself, or the nearest above it that is there."""
    return next(each for each in (path, *path.parents) if each.is_dir())


def size_bytes(directory: Path) -> int:
    """What the files of a data directory take, and those that its links lead to; raises `ClusterError`."""
    copied.major_of(directory)
    try:
        return copying.size_bytes(directory) + sum(
            copying.size_bytes(place) for each in copied.outside(directory) if (place := each.resolve()).is_dir()
        )
    except OSError as error:
        raise not_copied(directory, str(error.strerror)) from None


def writing_rate(place: Path) -> float:
    """Bytes a second that the file system of `place` takes, by a file without a name."""
    piece = os.urandom(_PIECE)
    began = monotonic()
    with tempfile.TemporaryFile(dir=place) as file:
        for _ in range(_PROBE_BYTES // _PIECE):
            file.write(piece)
        os.fsync(file.fileno())
    return _PROBE_BYTES / (monotonic() - began)


def compressing_rate() -> float:
    """Bytes a second that one processor packs as pg_dump does, of text that does not repeat itself."""
    text = os.urandom(_PACKED_BYTES // 2).hex().encode()
    began = monotonic()
    zlib.compress(text)
    return len(text) / max(monotonic() - began, 1e-6)


def reading_rate(directory: Path) -> float:
    """Bytes a second that the largest files of a data directory are read with, out of the page cache or not."""
    found = ((each.stat().st_size, each) for each in (directory / "base").rglob("*") if each.is_file())
    files = [path for _, path in sorted(found, reverse=True)]
    done, began = 0, monotonic()
    for path in files:
        with path.open("rb", buffering=0) as file:
            while done < _PROBE_BYTES and (piece := file.read(_PIECE)):
                done += len(piece)
        if done >= _PROBE_BYTES:
            break
    return max(done, 1) / max(monotonic() - began, 1e-6)


def not_copied(directory: Path, words: str) -> CaptureError:
    """Files that cannot be read."""
    return CaptureError(
        f'could not copy "{directory}": {words}', "run as root, or as the account that owns the files, and see for room"
    )
