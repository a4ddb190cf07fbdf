"""Kinds of values that options take: how a level is written, what it means, and its canonical text.

A kind has two functions that undo each other: `parse` makes the typed value from any accepted text, `show` its one
canonical text. Two levels are the same if their canonical texts are. A room declares kinds of its own with its options.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, TypeVar

from pgassay.errors import UsageError
from pgassay.study.units import format_bytes, parse_boolean, parse_memory, parse_time_ms, parse_whole

Value = TypeVar("Value")

NONE = "none"
"""The level that asks for nothing."""
Change = Callable[[Path], Path]
"""From the path of a file or folder to another one."""


@dataclass(frozen=True)
class Kind(Generic[Value]):
    """One way to write a value.

    `parse` takes the option's full name (for its message) and the text, and raises `UsageError`; `show` gives the
    canonical text; `accepts` says in a few words what may be written.
    """

    parse: Callable[[str, str], Value]
    show: Callable[[Value], str]
    accepts: str
    takes_none: bool = False
    """Is `none` one of its levels, for None?"""
    each_path: Callable[[Value, Change], Value] | None = None
    """Of values that name files or folders: the value with each of its paths changed."""
    holds_rows: bool = False
    """Do these files hold a user's rows, as a dump or a log with its values does?"""
    rooted: Callable[[str], str] | None = None
    """Of texts with a path that `each_path` does not change, or not in this form: the text with it from the root."""

    def canonical(self, name: str, text: str) -> str:
        """The canonical text of what was typed for the option `name`; raises `UsageError`."""
        if not text.strip():
            raise no_value(name)
        return self.show(self.parse(name, text))


def no_value(name: str) -> UsageError:
    return UsageError(f'"{name}" has no value')


def not_a_choice(name: str, text: str, words: Iterable[str]) -> UsageError:
    return UsageError(f'"{name}" cannot be "{text}"', f"it takes: {', '.join(words)}")


def optional(kind: Kind[Value]) -> Kind[Value | None]:
    """The same kind, or `none` for None."""

    def each_path(value: Value | None, change: Change) -> Value | None:
        return value if value is None or kind.each_path is None else kind.each_path(value, change)

    return Kind(
        lambda name, text: None if text.strip() == NONE else kind.parse(name, text),
        lambda value: NONE if value is None else kind.show(value),
        f"{kind.accepts}, or {NONE}",
        takes_none=True,
        each_path=None if kind.each_path is None else each_path,
        holds_rows=kind.holds_rows,
    )


def whole(least: int = 1, most: int | None = None) -> Kind[int]:
    """Whole numbers from `least` to `most`; `1_000` may be written for 1000."""

    def parse(name: str, text: str) -> int:
        try:
            number = int(text.strip().replace("_", ""))
        except ValueError:
            number = least - 1
        if number < least or (most is not None and number > most):
            within = f"of at least {least}" if most is None else f"from {least} to {most}"
            raise UsageError(f'"{name}" must be a whole number {within}, not "{text}"')
        return number

    bounds = f"from {least}" if most is None else f"from {least} to {most}"
    return Kind(parse, str, f"a whole number {bounds}")


def choice(*words: str) -> Kind[str]:
    def parse(name: str, text: str) -> str:
        word = text.strip()
        if word not in words:
            raise not_a_choice(name, text, words)
        return word

    return Kind(parse, str, ", ".join(words))


def seconds(least: int = 1) -> Kind[int]:
    """A length of whole seconds from `least`: `60`, `60s` or `10min`."""

    def parse(name: str, text: str) -> int:
        stripped = text.strip()
        try:
            number = float(stripped) if is_number(stripped) else parse_time_ms(stripped) / 1e3
        except UsageError:
            number = least - 1.0
        if number != int(number) or number < least:
            wanted = f"a length of whole seconds, at least {least}s"
            raise UsageError(f'"{name}" must be {wanted}, not "{text}"', 'for example 60, "60s", "10min"')
        return int(number)

    return Kind(parse, lambda value: f"{value}s", "a length of whole seconds: 60s, 10min")


def size(least_bytes: int = 1) -> Kind[int]:
    """An amount of memory or storage in bytes, written with its unit: `8kB`, `1GB`."""

    def parse(name: str, text: str) -> int:
        try:
            count = parse_memory(text)
        except UsageError:
            count = least_bytes - 1
        if count < least_bytes:
            wanted = f"a size of at least {format_bytes(least_bytes)}"
            raise UsageError(f'"{name}" must be {wanted}, not "{text}"', 'for example "8kB", "1GB"')
        return count

    return Kind(parse, format_bytes, "a size with its unit: 8kB, 1GB")


def _parse_switch(name: str, text: str) -> bool:
    try:
        return parse_boolean(text)
    except UsageError:
        raise UsageError(f'"{name}" must be on or off, not "{text}"') from None


def _parse_path(name: str, text: str) -> Path:
    stripped = text.strip()
    if not stripped:
        raise no_value(name)
    return Path(stripped).expanduser().absolute()


SWITCH: Kind[bool] = Kind(_parse_switch, lambda value: "on" if value else "off", "on, off")
"""PostgreSQL's booleans."""
PATH: Kind[Path] = Kind(_parse_path, str, "a path", each_path=lambda path, change: change(path))
"""A file or folder as an absolute path, so that a resumed run finds it from anywhere."""
ROWS: Kind[Path] = replace(PATH, holds_rows=True)
"""The same, of a user's data."""


def is_number(text: str) -> bool:
    """Is it a plain decimal number without sign, exponent or unit?"""
    return parse_whole(text.replace(".", "", 1)) is not None
