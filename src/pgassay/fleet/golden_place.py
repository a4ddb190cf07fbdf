"""What a host keeps about prepared data beside the snapshots themselves: `golden/` in the drive's own directory.

`NAME.made` says in how many seconds the data of this name were made here; the folder `NAME` has pieces that are on
their way. Only a drive that is a directory has such a place: what other drives hold is not sent.
"""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pgassay.drive.options import AGED
from pgassay.lab.arms import ResolvedArm
from pgassay.lab.preparation import Prepared
from pgassay.study.drives import DriveKind

FOLDER = "golden"
_MADE = ".made"


@dataclass(frozen=True)
class GoldenPlace:
    """What a host keeps about the data of one name."""

    folder: Path
    data: str
    """Their name (`ResolvedArm.data_identity`)."""

    @property
    def store(self) -> Path:
        """Where their pieces are while they are sent."""
        return self.folder / self.data

    @property
    def _noted(self) -> Path:
        return self.folder / f"{self.data}{_MADE}"

    @property
    def made_s(self) -> float | None:
        """How long making them took here, as noted; None where it was not."""
        try:
            return float(self._noted.read_text(encoding="ascii"))
        except (OSError, ValueError):
            return None

    def note(self, seconds: float) -> None:
        """Keep how long making them took here."""
        with suppress(OSError):  # a full disk: then the next plan goes by rules of thumb
            self.folder.mkdir(mode=0o700, exist_ok=True)
            self._noted.write_text(f"{seconds:.3f}\n", encoding="ascii")


def place_of(arm: ResolvedArm) -> GoldenPlace | None:
    """The place of an arm's data; None where they lie on a drive of their own, or came as a copy of a user's."""
    asked = arm.setup.drive
    alone = asked.data.kind is not DriveKind.DIRECTORY or asked.wal is not None or asked.state == AGED
    if alone or arm.setup.copy_of is not None:
        return None
    return GoldenPlace(arm.drive.mount().path / FOLDER, arm.data_identity)


def note(arm: ResolvedArm, prepared: Prepared) -> None:
    """Keep how long making an arm's data took here; of data that were there already nothing is known."""
    place = place_of(arm) if prepared.made else None
    if place is not None:
        place.note(prepared.seconds)
