"""What is said of real drives before a run: lower case, no full stop."""

from collections.abc import Sequence

from pgassay.bench.drive_counters import WAL


def not_told(owner: str, kind: str, device: str, responses: Sequence[str]) -> str:
    """For a real drive or an image that does not count what these responses are computed from."""
    whose = "the WAL" if owner == WAL else "the data"
    return f"the drive of {whose} ({kind} on {device}) does not report what is needed for {', '.join(responses)}"


def one_drive(kind: str, device: str, response: str) -> str:
    """For WAL apart from the data, but on the same real drive, whose counters are the data's."""
    return f"the drive of the WAL ({kind} on {device}) is one drive with the data and counts once, so no {response}"
