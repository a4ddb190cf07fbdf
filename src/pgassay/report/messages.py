"""What a report refuses, in PostgreSQL's manner: lower case, no full stop, with a hint where one helps."""

from pathlib import Path

from pgassay.errors import UsageError


def different_studies(first: str, other: str, path: Path) -> UsageError:
    """Runs of different studies cannot be compared."""
    return UsageError(
        f'"{path}" is a run of the study "{other}", the first one of "{first}"', "compare runs of one study"
    )


def different_primaries(first: str, other: str, path: Path) -> UsageError:
    """Runs whose primary responses differ cannot be compared."""
    return UsageError(f'"{path}" has the primary response {other}, the first run {first}', "both must measure the same")


def unread_trial(number: int, reason: str) -> str:
    """A trial of which nothing can be said."""
    return f"trial {number} cannot be read and is left out: {reason}"
