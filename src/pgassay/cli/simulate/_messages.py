"""The messages of `pgassay simulate`, in PostgreSQL's manner. What the model itself refuses, it words itself."""

from collections.abc import Iterable
from pathlib import Path

from pgassay.errors import UsageError


def not_toml(path: Path, detail: str) -> UsageError:
    """A description that cannot be parsed."""
    return UsageError(f'"{path}" is not valid TOML: {detail[:1].lower()}{detail[1:]}')


def no_file(path: Path) -> UsageError:
    """A file that cannot be opened."""
    return UsageError(f'file "{path}" does not exist')


def unknown_key(table: str, key: str, known: Iterable[str]) -> UsageError:
    """A key that the description does not have."""
    return UsageError(f'unknown key "{table}.{key}"', f"the keys of {table} are {', '.join(sorted(known))}")


def unknown_table(table: str, known: Iterable[str]) -> UsageError:
    """A table that the description does not have."""
    return UsageError(f'unknown table "{table}"', f"the tables are {', '.join(known)}")


def not_an_assignment(text: str, form: str) -> UsageError:
    """`--set` or `--sweep` without a key or a value."""
    return UsageError(f'"{text}" is not of the form {form}', "for example drive.policy=fifo")


def wrong_value(key: str, value: object, reason: str) -> UsageError:
    """A value that a key cannot have."""
    return UsageError(f'invalid value "{value}" for {key}: {reason}')


def refused(detail: str) -> UsageError:
    """The model refuses a description or an input; it says which value and why."""
    hint = "see docs/flash-model.md for what a drive can be"
    return UsageError(detail, hint)


def does_not_compress() -> UsageError:
    """Compressed sizes for a drive that ignores them."""
    return UsageError(
        "input.compressed_to has no effect on a page-mapped drive", "give --kind compressing, or leave it out"
    )
