"""What a table of a study file may hold."""

from collections.abc import Iterable

from pgassay.errors import UsageError, did_you_mean


def unknown_key(where: str, key: str, known: Iterable[str]) -> UsageError:
    """A typo in a study file."""
    words = list(known)
    return UsageError(f'unknown key "{key}" in {where}', did_you_mean(key, words, f"known keys: {', '.join(words)}"))


def wrong_type(where: str, key: str, expected: str, found: object) -> UsageError:
    """A value of another type than the key takes."""
    return UsageError(f'"{key}" in {where} must be {expected}, not {found!r}')
