"""The messages of `pgassay simulate`, in PostgreSQL's manner. What the model itself refuses, it words itself."""

from pgassay.errors import UsageError
from pgassay.study.units import format_size

_KEYS = "docs/drives.md has every key, its default and what it means"
_AGAIN = "record it again, or copy it again from where it is whole"
_HINTS = {
    "past the end of the drive": "give a --capacity that holds it; with --trace and none, it is the recorded drive's",
    "did not finish": "record it again: a recorder that was killed leaves no index",
    "no trailer": "its end is missing: it was cut, or its recorder was killed; record it again",
    "of the trace": _AGAIN,
    "trace ends inside": _AGAIN,
    "damaged": _AGAIN,
    "of a trace at byte": "give a file that `pgassay drive record` has written",
    "data blocks": "for example smaller blocks: --set drive.pages_per_block=64",
    "reserve blocks": "for example --set drive.reserve_blocks=2, the default",
    "invalid over-provisioning": "it is relative to user capacity, for example --over-provisioning 7%",
    "superblock bytes": "a superblock is one block of each plane of each die: docs/drives.md has its shape",
    "pools have no timing": "leave out --timing, or the pools",
}
"""By words of the model's own message; the first that fits."""


def not_an_assignment(text: str, form: str) -> UsageError:
    """`--set` or `--sweep` without a key or a value."""
    return UsageError(f'"{text}" is not of the form {form}', "for example drive.policy=fifo")


def wrong_value(key: str, value: object, reason: str) -> UsageError:
    """A value that a key cannot have."""
    return UsageError(f'invalid value "{value}" for {key}: {reason}', _KEYS)


def refused(detail: str, hint: str = "") -> UsageError:
    """The model refuses a description or an input; it says which value and why."""
    known = next((known for words, known in _HINTS.items() if words in detail), _KEYS)
    return UsageError(detail, hint or known)


def too_large(needed_bytes: int, available_bytes: int, hint: str = "") -> UsageError:
    """A drive whose tables do not fit into memory."""
    return UsageError(
        f"the model needs about {format_size(needed_bytes)} of memory, {format_size(available_bytes)} are available",
        hint or "a smaller drive with blocks as large and the same over-provisioning stands for it: docs/drives.md",
    )
