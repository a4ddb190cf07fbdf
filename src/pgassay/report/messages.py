"""What a report refuses, in PostgreSQL's manner: lower case, no full stop, with a hint where one helps."""

from pathlib import Path

from pgassay.errors import UsageError


def no_disk_study(path: Path) -> UsageError:
    """Capacities of a drive were asked of a run of another study."""
    return UsageError(f'"{path}" is no run of the study disk: no valid trial of the driver fio', "pgassay run disk")


def nothing_to_diagnose(path: Path) -> UsageError:
    """No rate, or nothing that could explain it."""
    return UsageError(
        f'"{path}" has no valid trial with a rate and its costs', "imported runs have no costs and no waits"
    )


def disk_study_alone(path: Path) -> UsageError:
    """There is no load on a server to diagnose."""
    return UsageError(
        f'"{path}" measured a drive without a database: nothing but the drive limits it',
        f"use its capacities to diagnose another run: pgassay diagnose RUN --disk {path}",
    )


def one_run() -> UsageError:
    """A comparison of hosts was asked of a single run."""
    return UsageError("one run alone cannot be compared", "name two runs or more, the first is compared with")


def different_studies(first: str, other: str, path: Path) -> UsageError:
    """Runs of different studies cannot be compared."""
    return UsageError(
        f'"{path}" is a run of the study "{other}", the first one of "{first}"', "compare runs of one study"
    )


def different_primaries(first: str, other: str, path: Path) -> UsageError:
    """Runs whose primary responses differ cannot be compared."""
    return UsageError(f'"{path}" has the primary response {other}, the first run {first}', "both must measure the same")


def no_common_arms(path: Path) -> UsageError:
    """Runs of one study without a single common combination."""
    return UsageError(
        f'"{path}" has no valid trials of any combination that the first run has',
        "pgassay show RUN --verbose lists the combinations of each",
    )


def unread_trial(number: int, reason: str) -> str:
    """A trial of which nothing can be said."""
    return f"trial {number} cannot be read and is left out: {reason}"


def unread_series(number: int, reason: str) -> str:
    """A trial whose result counts, though its course is not known."""
    return f"the seconds of trial {number} cannot be read, so its course is not known: {reason}"


def section_failed(name: str, error: Exception) -> str:
    """A section of another package that cannot cope with a run."""
    return f'section "{name}" of another package failed: {type(error).__name__}: {error}'


def key_taken(section: str, key: str) -> UsageError:
    """Two sections want the same key of `--json`."""
    return UsageError(f'section "{section}" writes "{key}" to --json, which another section has', "give it another key")


def constant(title: str, value: str) -> str:
    """What a figure would show as a single value."""
    return f"{title}: {value} in every valid trial"


def unread_slices(number: int, reason: str) -> str:
    """A trial whose result counts, though nothing can be said of its slices."""
    return f"the slices of trial {number} cannot be read and are left out here: {reason}"
