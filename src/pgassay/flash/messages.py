"""The messages of `pgassay simulate`, in PostgreSQL's manner. What the model itself refuses, it words itself."""

from collections.abc import Iterable
from pathlib import Path

from pgassay.errors import UsageError
from pgassay.study.units import format_at_most, format_size

_KEYS = "docs/flash-model.md has every key, its default and what it means"
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
    "superblock bytes": "a superblock is one block of each plane of each die: docs/flash-model.md has its shape",
    "pools have no timing": "leave out --timing, or the pools",
}
"""By words of the model's own message; the first that fits."""


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


def not_a_table(name: str) -> UsageError:
    """A value where the description has a table."""
    form = "[input], or [[input]] for each of several" if name == "input" else f"[{name}]"
    return UsageError(f'"{name}" must be a table', f"write {form} on a line of its own and its keys below")


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
        hint
        or "a smaller drive with blocks as large and the same over-provisioning stands for it: docs/flash-model.md",
    )


def does_not_compress() -> UsageError:
    """Compressed sizes for a drive that ignores them."""
    return UsageError(
        "input.compressed_to has no effect on a page-mapped drive", "give --kind compressing, or leave it out"
    )


def data_beyond_drive(live_bytes: float, capacity_bytes: int) -> UsageError:
    """More is stored than the drive has."""
    there, wanted = format_size(capacity_bytes), format_size(int(live_bytes))
    return UsageError(f"the data need {wanted}, the drive has {there}", "give a larger --capacity, or fewer --data")


def simulate_less(*, by_option: bool) -> str:
    """How less of a drive is simulated: the load fewer times side by side, or a smaller part of the drive each."""
    if by_option:
        return "give a smaller --simulated"
    return (
        "at least as much of the drive is simulated as falls to the data of the run: give a smaller --capacity,"
        " more --data, or a run with less data"
    )


def simulated_too_large(size_bytes: int, most_bytes: int, hint: str) -> UsageError:
    """More of a drive than a simulation gets to the end of."""
    size, most = format_size(size_bytes), format_at_most(most_bytes)
    return UsageError(f"{size} of the drive would have to be simulated, at most {most} can be", hint)


def writes_beyond_data() -> UsageError:
    """The recording writes more blocks than the host is said to have stored."""
    return UsageError("the recorded load writes more blocks than are live", "give a larger --live-share")


def nothing_to_predict(path: Path) -> UsageError:
    """No treatment has a write signature."""
    return UsageError(
        f"{path} holds no write signature",
        "a run has one for each emulated drive that was aged: drive.data=ssd or csd with drive.state=aged",
    )


def no_treatment_in_common() -> UsageError:
    """For runs that are led to the real size together."""
    return UsageError(
        "the runs have no treatment in common whose drive was aged",
        "give runs of one study at several scales: pgassay run STUDY --scale 1/1000, and again with --scale 1/250",
    )


def runs_of_one_size() -> UsageError:
    """For several runs whose data are as large."""
    return UsageError(
        "the data of two runs differ by less than a tenth, so they tell nothing of other sizes",
        "give runs at several scales, or one of these",
    )
