"""What is said of real drives before a run: lower case, no full stop."""

from collections.abc import Sequence

from pgassay.bench.drive_counters import WAL


def not_told(owner: str, kind: str, device: str, responses: Sequence[str]) -> str:
    """For a real drive or an image that does not count what these responses are computed from."""
    return f"{_named(owner, kind, device)} does not report what is needed for {', '.join(responses)}"


def one_drive(kind: str, device: str, response: str) -> str:
    """For WAL apart from the data, but on the same real drive, whose counters are the data's."""
    return f"{_named(WAL, kind, device)} is one drive with the data and counts once, so no {response}"


def whole_drive(responses: Sequence[str], owner: str, kind: str, device: str, *, kept_here: bool, trim: str) -> str:
    """A real drive counts all that it holds: snapshots that are kept there, and what is deleted and not trimmed.

    `trim` is how the drive would be told of deleted files; empty where it is told.
    """
    held = ["all snapshots (--snapshots-in DIR keeps them on another drive)"] if kept_here else []
    held += [f"what earlier trials have deleted ({trim} tells it)"] if trim else []
    counted = f"{_named(owner, kind, device)} counts all that it holds"
    return f"{counted}, for {', '.join(responses)} also {' and '.join(held)}: ratios come out nearer to 1"


def _named(owner: str, kind: str, device: str) -> str:
    return f"the drive of {'the WAL' if owner == WAL else 'the data'} ({kind} on {device})"
