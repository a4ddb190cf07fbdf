"""Every message of the study layer, in PostgreSQL's manner: lower case, no full stop, with a hint where one helps."""

from collections.abc import Iterable

from pgassay.errors import UsageError, did_you_mean


def unknown_key(where: str, key: str, known: Iterable[str]) -> UsageError:
    """A typo in a study file."""
    words = list(known)
    return UsageError(f'unknown key "{key}" in {where}', did_you_mean(key, words, f"known keys: {', '.join(words)}"))


def wrong_type(where: str, key: str, expected: str, found: object) -> UsageError:
    """A value of another type than the key takes."""
    return UsageError(f'"{key}" in {where} must be {expected}, not {found!r}')


def set_needs_value(text: str, option: str) -> UsageError:
    """An override that is not NAME=VALUE."""
    return UsageError(f'{option} takes NAME=VALUE, not "{text}"', f"for example {option} load.scale=100")


def in_four_digits(by: float) -> str:
    """A scale's number: `250`, `931.3`, `13500`, `1e+300`."""
    return f"{float(f'{by:.4g}'):.15g}"


AS_MANY_AS_OPENED = "no more than are opened: the shared memory of each does not shrink"
"""Why a model has fewer connections than its original."""


WITHOUT_PROCESSES = "of memory without what the server's processes take"
"""What a number that has memory in it is about."""
