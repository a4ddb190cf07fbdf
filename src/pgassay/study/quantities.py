"""Values as a study file writes them: shares, blocks and times (`2%`, `5..30`, `20min`), and ranges of levels.

`128kB..8GB*2` doubles from the first level to the last, `10..100+30` adds, `1..8` counts by one. The first need not be
the smaller: `8GB..128kB*2` falls. A last level that the steps do not meet is not reached beyond. PostgreSQL's own
quantities are in `units`.
"""

import re
from collections.abc import Iterable, Mapping
from math import inf

from pgassay.errors import UsageError, did_you_mean
from pgassay.study.units import BYTES_PER_UNIT, MS_PER_UNIT, format_bytes, format_number, parse_time_s, split_quantity


def unknown_key(where: str, key: str, known: Iterable[str]) -> UsageError:
    words = list(known)
    return UsageError(f'unknown key "{key}" in {where}', did_you_mean(key, words, f"known keys: {', '.join(words)}"))


def wrong_type(where: str, key: str, expected: str, found: object) -> UsageError:
    return UsageError(f'"{key}" in {where} must be {expected}, not {found!r}')


BLOCKS_MAX = 1000
"""More blocks than any study needs. The critical values of the looks at so many take seconds to compute."""


def typed(value: object) -> str:
    """A TOML value as the text that a user would type: `true` is `on`, numbers and strings as they are."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def share(where: str, value: object) -> float:
    """`"2%"`, `"0.02"` or 0.02 as 0.02; must lie between 0 and 1."""
    text = typed(value).strip()
    try:
        number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        number = 0.0
    if not 0 < number < 1:
        raise UsageError(f"{where} must be a share above 0 and below 100%, such as 2% or 0.02, not {value!r}")
    return number


def blocks(value: object) -> tuple[int, int]:
    """`{min=5, max=30}`, `"5..30"`, `12` (exactly: fewer blocks only if all is settled earlier) as (min, max)."""
    low: object
    high: object
    if isinstance(value, Mapping):
        unknown = set(value) - {"min", "max"}
        if unknown:
            raise unknown_key("design.blocks", sorted(unknown)[0], ("min", "max"))
        high = value.get("max", 30)
        low = value.get("min", min(5, high) if isinstance(high, int) else 5)
    else:
        first, dots, second = typed(value).partition("..")
        try:
            high = int(second if dots else first)
            low = int(first) if dots else min(5, high)
        except ValueError:
            low = high = None
    if type(low) is not int or type(high) is not int or not 1 <= low <= high <= BLOCKS_MAX:
        raise UsageError(f"blocks must be a number or MIN..MAX with 1 <= MIN <= MAX <= {BLOCKS_MAX}, not {value!r}")
    return low, high


def whole_number(where: str, key: str, value: object, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise wrong_type(where, key, f"a whole number from {least} on", value)
    return value


def seconds(where: str, value: object, *, key: str = "budget", least: float | None = None) -> float:
    """`"20min"` or a bare number of seconds: positive, or `least` and more."""
    text = typed(value).strip()
    length = float(text) if text.replace(".", "", 1).isdecimal() else parse_time_s(text)
    if not length < inf or not (length > 0 if least is None else length >= least):
        raise wrong_type(where, key, "a positive length of time", value)
    return length


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
    start, kind = _measured(text, first)
    end, other = _measured(text, last)
    step, unit = (1.0, kind) if sign is None else _measured(text, by)
    if kind != other or (sign == "*" and unit):
        raise _mixed_range(text)
    leads = step > 1 and start > 0 and end > 0 if sign == "*" else step > 0 and unit == kind and (sign or not kind)
    if not leads:
        raise _endless_range(text)
    rises, values, value = start <= end, [], start
    while value <= end * (1 + _CLOSE) if rises else value >= end * (1 - _CLOSE):
        values.append(value)
        if len(values) > LEVELS_MAX:
            raise _endless_range(text)
        if sign != "*":
            value += step if rises else -step
        elif rises:
            value *= step
        else:
            value /= step
    return list(dict.fromkeys(_shown(value, kind) for value in values))


def _measured(text: str, quantity: str) -> tuple[float, str]:
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


def _shown(value: float, kind: str) -> str:
    """As PostgreSQL shows a size; a time in the largest unit that holds it exactly."""
    if kind == "B":
        whole = round(value)
        return format_bytes(whole if whole < _PAGE_BYTES else round(value / _PAGE_BYTES) * _PAGE_BYTES)
    if kind == "ms":
        units = [unit for unit, length in MS_PER_UNIT.items() if abs(value / length - round(value / length)) < _CLOSE]
        unit = units[-1] if units else "us"
        return f"{format_number(round(value / MS_PER_UNIT[unit], 6))}{unit}"
    return format_number(round(value, 9))


def _mixed_range(text: str) -> UsageError:
    return UsageError(f'the range "{text}" mixes units', 'for example "128kB..8GB*2", "1..8", "10..100+30"')


def _endless_range(text: str) -> UsageError:
    return UsageError(
        f'the range "{text}" does not say how to get from the first level to the last, in at most 1000 steps',
        'for example "128kB..8GB*2" (doubling), "10..100+30" (adding), "1..8" (counting)',
    )
