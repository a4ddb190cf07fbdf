"""What a report refuses, in PostgreSQL's manner: lower case, no full stop, with a hint where one helps."""

from pathlib import Path

from pgassay.errors import UsageError


def no_disk_study(path: Path) -> UsageError:
    """Capacities were asked of another study."""
    return UsageError(f'"{path}" is no run of the study disk: no valid trial of the driver fio', "pgassay run disk")


def nothing_to_diagnose(path: Path) -> UsageError:
    """No rate, or nothing that could explain it."""
    return UsageError(
        f'"{path}" has no valid trials with a rate and what it cost', "runs that others made tell no costs and no waits"
    )


def disk_study_alone(path: Path) -> UsageError:
    """There is no load on a server to diagnose."""
    return UsageError(
        f'"{path}" asked the drive by itself: nothing stops it but the drive',
        f"its capacities speak in the diagnosis of other runs: pgassay diagnose RUN --disk {path}",
    )


def one_run() -> UsageError:
    """There is nothing to compare with."""
    return UsageError("one run is no comparison", "name two runs or more, the first is compared with")


def different_studies(first: str, other: str, path: Path) -> UsageError:
    """Runs of different questions."""
    return UsageError(
        f'"{path}" is a run of the study "{other}", the first one of "{first}"', "compare runs of one study"
    )


def different_primaries(first: str, other: str, path: Path) -> UsageError:
    """Runs that decide by different responses."""
    return UsageError(f'"{path}" decides by {other}, the first run by {first}', "both must measure the same")


def no_common_arms(path: Path) -> UsageError:
    """Runs of one study without a single common combination."""
    return UsageError(
        f'"{path}" has no valid trials of any combination that the first run has',
        "pgassay show RUN lists the combinations of each",
    )


def unread_trial(number: int, reason: str) -> str:
    """A trial of which nothing can be said."""
    return f"trial {number} cannot be read and is left out: {reason}"


def unread_series(number: int, reason: str) -> str:
    """A trial whose result counts, though nothing tells how it went."""
    return f"the seconds of trial {number} cannot be read, so nothing shows how it went: {reason}"


def section_failed(name: str, error: Exception) -> str:
    """A section of another package that cannot cope with a run."""
    return f'section "{name}" of another package failed: {type(error).__name__}: {error}'


def key_taken(section: str, key: str) -> UsageError:
    """Two sections want the same key of `--json`."""
    return UsageError(f'section "{section}" writes "{key}" to --json, which another section has', "give it another key")
