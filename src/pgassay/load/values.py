"""The values of load options: from what a user types to a checked value, and to the canonical text of a level.

Every `parse_*` takes the option's full name for its message and raises `UsageError`; parsing a canonical text gives the
same value again, so the drivers read levels with the same functions.
"""

from pathlib import Path

from pgassay.errors import UsageError
from pgassay.load import messages
from pgassay.study.units import format_number, parse_boolean, parse_memory, parse_time_ms

NONE = "none"
ROW_BYTES_MIN, ROW_BYTES_MAX = 32, 31_000
"""A filler of some bytes at least; no page has more than 32 kB."""
CLIENTS = "clients"
"""As many threads as clients."""

_DIGITS_MAX = 30
"""More than anybody means, and few enough that no double becomes infinite."""


def parse_count(name: str, text: str, least: int = 1) -> int:
    """A whole number, at least `least`."""
    try:
        number = int(text.strip().replace("_", ""))
    except ValueError:
        raise messages.not_a_count(name, text, least) from None
    if number < least:
        raise messages.not_a_count(name, text, least)
    return number


def parse_optional_count(name: str, text: str) -> int | None:
    """A whole number from 1, None for `none`."""
    return None if text.strip() == NONE else parse_count(name, text)


def parse_row_bytes(name: str, text: str) -> int:
    """`2000`, `"2000B"` or `"2kB"` in bytes."""
    stripped = text.strip()
    try:
        size = int(stripped) if stripped.isdecimal() else parse_memory(stripped)
    except UsageError:
        raise messages.not_a_row(name, text, ROW_BYTES_MIN, ROW_BYTES_MAX) from None
    if not ROW_BYTES_MIN <= size <= ROW_BYTES_MAX:
        raise messages.not_a_row(name, text, ROW_BYTES_MIN, ROW_BYTES_MAX)
    return size


def parse_seconds(name: str, text: str, least: int = 1) -> int:
    """`60`, `"60s"` or `"10min"` in whole seconds."""
    stripped = text.strip()
    try:
        seconds = float(stripped) if _is_number(stripped) else parse_time_ms(stripped) / 1e3
    except UsageError:
        raise messages.not_seconds(name, text, least) from None
    if seconds != int(seconds) or seconds < least:
        raise messages.not_seconds(name, text, least)
    return int(seconds)


def parse_rate(name: str, text: str) -> float | None:
    """Transactions per second, None for `none`."""
    stripped = text.strip()
    if stripped == NONE:
        return None
    if not _is_number(stripped) or float(stripped) <= 0:
        raise messages.not_a_rate(name, text)
    return float(stripped)


def parse_limit_ms(name: str, text: str) -> float | None:
    """A latency in ms (bare numbers are ms, as pgbench's are), None for `none`."""
    stripped = text.strip()
    if stripped == NONE:
        return None
    try:
        limit_ms = float(stripped) if _is_number(stripped) else parse_time_ms(stripped)
    except UsageError:
        raise messages.not_a_limit(name, text) from None
    if limit_ms <= 0:
        raise messages.not_a_limit(name, text)
    return limit_ms


def parse_multiple(name: str, text: str) -> float:
    """`none` as 0, `"2x"` as 2."""
    stripped = text.strip()
    if stripped == NONE:
        return 0.0
    number = stripped.removesuffix("x")
    if number == stripped or not _is_number(number) or float(number) <= 0:
        raise messages.not_a_multiple(name, text)
    return float(number)


def parse_switch(name: str, text: str) -> bool:
    """PostgreSQL's booleans."""
    try:
        return parse_boolean(text)
    except UsageError:
        raise messages.not_a_switch(name, text) from None


def parse_path(name: str, text: str) -> Path | None:
    """A file as an absolute path, so that a resumed run finds it from anywhere; None for `none`."""
    stripped = text.strip()
    if not stripped:
        raise messages.no_value(name)
    return None if stripped == NONE else Path(stripped).expanduser().absolute()


def show_seconds(seconds: int) -> str:
    """The canonical form of a length."""
    return f"{seconds}s"


def show_rate(rate: float | None) -> str:
    """The canonical form of a rate."""
    return NONE if rate is None else format_number(rate)


def show_limit(limit_ms: float | None) -> str:
    """The canonical form of a latency."""
    return NONE if limit_ms is None else f"{format_number(limit_ms)}ms"


def show_multiple(multiple: float) -> str:
    """The canonical form of an age."""
    return NONE if multiple == 0 else f"{format_number(multiple)}x"


def show_path(path: Path | None) -> str:
    """The canonical form of a file."""
    return NONE if path is None else str(path)


def _is_number(text: str) -> bool:
    digits = text.replace(".", "", 1)
    return digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS_MAX
