"""What a host keeps about prepared data beside the snapshots themselves: `golden/` in the drive's own directory.

`NAME.made` says in how many seconds the data of this name were made here; the folder `NAME` has pieces that are on
their way. Only a drive that is a directory has such a place: what other drives hold is not sent.
"""

from contextlib import suppress
from pathlib import Path

from pgassay.drive.options import AGED
from pgassay.lab.arms import ResolvedArm
from pgassay.lab.preparation import Prepared
from pgassay.study.drives import DriveKind

FOLDER = "golden"
_MADE = ".made"


def place_of(arm: ResolvedArm) -> Path | None:
    """The folder for an arm's data; None where they lie on a drive of their own, or came as a copy of a user's."""
    asked = arm.setup.drive
    alone = asked.data.kind is not DriveKind.DIRECTORY or asked.wal is not None or asked.state == AGED
    if alone or arm.setup.copy_of is not None:
        return None
    return arm.drive.mount().path / FOLDER


def store_of(arm: ResolvedArm) -> Path | None:
    """Where the pieces of an arm's data are while they are sent."""
    place = place_of(arm)
    return None if place is None else place / arm.data_identity


def note(arm: ResolvedArm, prepared: Prepared) -> None:
    """Keep how long making an arm's data took here; of data that were there already nothing is known."""
    place = place_of(arm) if prepared.made else None
    if place is None:
        return
    with suppress(OSError):  # a full disk: then the next plan goes by rules of thumb
        place.mkdir(mode=0o700, exist_ok=True)
        (place / f"{arm.data_identity}{_MADE}").write_text(f"{prepared.seconds:.3f}\n", encoding="ascii")


def made_s(arm: ResolvedArm) -> float | None:
    """How long making an arm's data took here, as noted; None where it was not."""
    place = place_of(arm)
    if place is None:
        return None
    try:
        return float((place / f"{arm.data_identity}{_MADE}").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
