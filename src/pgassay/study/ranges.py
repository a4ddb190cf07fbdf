"""Ranges of levels: `128kB..8GB*2` doubles from the first to the last, `10..100+30` adds, `1..8` counts by one.

The first need not be the smaller: `8GB..128kB*2` falls. A last level that the steps do not meet is not reached beyond.
Sizes come out as PostgreSQL shows them; pure.
"""

import re
from collections.abc import Callable

from pgassay.errors import UsageError
from pgassay.study.units import BYTES_PER_UNIT, MS_PER_UNIT, format_bytes, format_number, split_quantity

LEVELS_MAX = 1000
_PAGE_BYTES = 8192
_NUMBER = r"\d+(?:\.\d+)?"
_RANGE = re.compile(rf"\s*((?:{_NUMBER})\s*[A-Za-z]*)\s*\.\.\s*((?:{_NUMBER})\s*[A-Za-z]*)\s*(?:([*+])\s*(\S+))?\s*")
_CLOSE = 1e-9


def expand(text: str) -> list[str]:
    """The levels of a range, or the text alone if it is not a range; raises `UsageError` for a range without an end."""
    found = _RANGE.fullmatch(text)
    if found is None:
        return [text]
    first, last, sign, by = found.groups()
    start, kind = _value(text, first)
    end, other = _value(text, last)
    if kind != other:
        raise _mixed_range(text)
    if sign == "*":
        factor = _number(text, by)
        if factor <= 1 or start <= 0 or end <= 0:
            raise _endless_range(text)
        values = _steps(text, start, end, lambda value: value * factor if start <= end else value / factor)
    else:
        step, unit = (1.0, kind) if sign is None else _value(text, by)
        if (sign is None and kind) or step <= 0 or unit != kind:
            raise _endless_range(text)
        values = _steps(text, start, end, lambda value: value + step if start <= end else value - step)
    return list(dict.fromkeys(_shown(value, kind) for value in values))


def _steps(text: str, start: float, end: float, onward: Callable[[float], float]) -> list[float]:
    values = []
    value = start
    while value <= end * (1 + _CLOSE) if start <= end else value >= end * (1 - _CLOSE):
        values.append(value)
        if len(values) > LEVELS_MAX:
            raise _endless_range(text)
        value = onward(value)
    return values


def _value(text: str, quantity: str) -> tuple[float, str]:
    """In bytes, ms or as it is, with which of them: `B`, `ms` or nothing."""
    split = split_quantity(quantity)
    if split is None:
        raise _endless_range(text)
    number, unit = split
    if not unit:
        return number, ""
    if unit in BYTES_PER_UNIT:
        return number * BYTES_PER_UNIT[unit], "B"
    if unit in MS_PER_UNIT:
        return number * MS_PER_UNIT[unit], "ms"
    raise _mixed_range(text)


def _number(text: str, factor: str) -> float:
    value, unit = _value(text, factor)
    if unit:
        raise _mixed_range(text)
    return value


def _shown(value: float, kind: str) -> str:
    if kind == "B":
        whole = round(value)
        return format_bytes(whole if whole < _PAGE_BYTES else round(value / _PAGE_BYTES) * _PAGE_BYTES)
    if kind == "ms":
        units = [unit for unit, length in MS_PER_UNIT.items() if abs(value / length - round(value / length)) < _CLOSE]
        unit = units[-1] if units else "us"
        return f"{format_number(round(value / MS_PER_UNIT[unit], 6))}{unit}"
    return format_number(round(value, 9))


def _mixed_range(text: str) -> UsageError:
    """Sizes and times, or numbers and sizes, in one range."""
    return UsageError(f'the range "{text}" mixes units', 'for example "128kB..8GB*2", "1..8", "10..100+30"')


def _endless_range(text: str) -> UsageError:
    """A step that leads nowhere, or a range of thousands."""
    return UsageError(
        f'the range "{text}" does not say how to get from the first level to the last, in at most 1000 steps',
        'for example "128kB..8GB*2" (doubling), "10..100+30" (adding), "1..8" (counting)',
    )
