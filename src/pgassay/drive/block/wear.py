"""Ageing one emulated drive: one run's writes are recorded, then drawn from inside the model on the fresh snapshot.

What the file system does not use is filled to the asked live share first, and stored contents stay untouched; see
docs/drives.md, "Fresh and aged".
"""

import contextlib
from dataclasses import dataclass
from pathlib import Path

from pgassay.bench.errors import DriveError
from pgassay.drive.block.emulated import EmulatedVolume

TOLERANCE = 0.01
"""Settled when write amplification over one drive write changes by less than this share."""
TRACE = "ageing.trace"


@dataclass
class Wear:
    """See `bench.store.Ageing`."""

    volume: EmulatedVolume
    home: Path
    live_share: float
    compressed_to: float

    def begin(self) -> None:
        """See `Ageing`."""
        self.volume.record(self.home / TRACE)

    def abandon(self) -> None:
        """See `Ageing`."""
        with contextlib.suppress(DriveError):  # it may be the drive that has failed
            self.volume.record(None)
        (self.home / TRACE).unlink(missing_ok=True)

    def finish(self, key: str) -> None:
        """See `Ageing`; raises `DriveError`, too, where the record is not complete."""
        try:
            self.volume.record(None)
            self.volume.age_kept(
                key,
                mode="trace",
                trace=str(self.home / TRACE),
                live_share=self.live_share,
                compressibility=self.compressed_to,
                until=TOLERANCE,
            )
        finally:
            (self.home / TRACE).unlink(missing_ok=True)
