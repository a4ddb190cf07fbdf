"""Quantities as postgresql.conf writes them: memory in B kB MB GB TB (of 1024), time in us ms s min h d, booleans.

PostgreSQL manual, section "Parameter Names and Values": units are case-sensitive, a fraction is allowed, white space
may stand between number and unit. Pure; every refusal is a `UsageError` that lists what would do.

A study file's own values are shares, blocks and times (`2%`, `5..30`, `20min`), and ranges of levels: `128kB..8GB*2`
doubles from the first level to the last, `10..100+30` adds, `1..8` counts by one. The first need not be the smaller:
`8GB..128kB*2` falls. A last level that the steps do not meet is not reached beyond.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from math import inf

from pgassay.errors import UsageError, did_you_mean

BYTES_PER_UNIT: Mapping[str, int] = {"B": 1, "kB": 1024, "MB": 1024**2, "GB": 1024**3, "TB": 1024**4}
MS_PER_UNIT: Mapping[str, float] = {"us": 0.001, "ms": 1, "s": 1e3, "min": 60e3, "h": 3600e3, "d": 86400e3}

_QUANTITY = re.compile(r"\s*([+-]?(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?))\s*([A-Za-zµ%]*)\s*")
_BOOLEANS = {"true": True, "false": False, "yes": True, "no": False, "on": True, "off": False, "1": True, "0": False}
_NUMBER_MAX = 1e30
_LENGTH_MAX = 100
_DIGITS_MAX = 30
"""More digits than make sense, and few enough that no double becomes infinite."""


def split_quantity(text: str) -> tuple[float, str] | None:
    """Number and unit (empty if none) of a text that looks like a quantity, else None; the unit is not checked.

    What is beyond all bounds (`1e999`) is no quantity: a double would make it infinite.
    """
    found = _QUANTITY.fullmatch(text)
    if not found or len(text) > _LENGTH_MAX:
        return None
    digits = found[1]
    number = float(int(digits, 16)) if "x" in digits.lower() else float(digits)
    return (number, found[2]) if abs(number) <= _NUMBER_MAX else None


def parse_memory(text: str) -> int:
    """`"8kB"`, `"1.5GB"` in bytes, rounded; a unit is required; raises `UsageError`."""
    return round(_parse(text, "an amount of memory", BYTES_PER_UNIT))


def parse_time_ms(text: str) -> float:
    """`"30s"`, `"1.5h"` in milliseconds; a unit is required; raises `UsageError`."""
    return _parse(text, "a length of time", MS_PER_UNIT)


def parse_time_s(text: str) -> float:
    """`"30s"`, `"1.5h"` in seconds; a unit is required; raises `UsageError`."""
    return parse_time_ms(text) / 1e3


def _parse(text: str, kind: str, units: Mapping[str, float]) -> float:
    quantity = split_quantity(text)
    if quantity is None or not quantity[1]:
        raise UsageError(f'"{text}" is not {kind}', f"give a number with one of the units {', '.join(units)}")
    number, unit = quantity
    if unit not in units:
        raise _unknown_unit(text, unit, units)
    return number * units[unit]


def parse_boolean(text: str) -> bool:
    """PostgreSQL's booleans: on, off, true, false, yes, no, 1, 0 and unambiguous prefixes in any letter case."""
    word = text.strip().lower()
    values = {value for name, value in _BOOLEANS.items() if word and name.startswith(word)}
    if len(values) != 1:
        raise UsageError(f'"{text}" is not a boolean', "valid values are on, off, true, false, yes, no, 1, 0")
    return values.pop()


@lru_cache(maxsize=4096)
def canonical(text: str) -> str:
    """The form in which two values of a setting are compared while no server is there to ask: bytes, ms, on or off.

    `"8kB"` and `"8192B"` become `8192B`, `"1min"` and `"60s"` `60000ms`, `"TRUE"` and `"yes"` `on`, `"1.0"` `1`; the
    result is still a value that PostgreSQL takes. Anything else is left as it is, quotes and letter case included, but
    a unit in the wrong letter case (`8KB`) raises `UsageError`.
    """
    stripped = text.strip()
    quantity = split_quantity(stripped)
    if quantity is None:
        word = stripped.lower()
        return ("on" if _BOOLEANS[word] else "off") if word in _BOOLEANS else stripped
    number, unit = quantity
    if not unit:
        return format_number(number)
    if unit in BYTES_PER_UNIT:
        return f"{format_number(number * BYTES_PER_UNIT[unit])}B"
    if unit in MS_PER_UNIT:
        return f"{format_number(round(number * MS_PER_UNIT[unit], 6))}ms"
    if any(unit.lower() == known.lower() for known in (*BYTES_PER_UNIT, *MS_PER_UNIT)):
        raise _unknown_unit(text, unit, [*BYTES_PER_UNIT, *MS_PER_UNIT])
    return stripped


def parse_whole(text: str) -> int | None:
    """The number that a text of digits alone writes, else None, as for thousands of digits, which int() refuses."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS_MAX else None


def format_number(number: float) -> str:
    """The shortest plain text: `1` for 1.0, `0.5`; whole numbers never in powers of ten."""
    return str(int(number)) if number == int(number) else repr(number)


def format_bytes(count: int) -> str:
    if count == 0:
        return "0"
    unit = next(unit for unit in reversed(tuple(BYTES_PER_UNIT)) if count % BYTES_PER_UNIT[unit] == 0)
    return f"{count // BYTES_PER_UNIT[unit]}{unit}"


def format_size(count: int) -> str:
    """For people, in PostgreSQL's units of 1024: `512B`, `72.2GB`, `108.3TB`."""
    unit = next((unit for unit in reversed(tuple(BYTES_PER_UNIT)) if count >= BYTES_PER_UNIT[unit]), "B")
    return f"{count / BYTES_PER_UNIT[unit]:.1f}".removesuffix(".0") + unit


def format_at_most(count: int) -> str:
    """As `format_size`, rounded down: what is read back is never more."""
    unit = next((unit for unit in reversed(tuple(BYTES_PER_UNIT)) if count >= BYTES_PER_UNIT[unit]), "B")
    tenths = count * 10 // BYTES_PER_UNIT[unit]
    return f"{tenths // 10}.{tenths % 10}".removesuffix(".0") + unit


def _unknown_unit(text: str, unit: str, units: Iterable[str]) -> UsageError:
    words = list(units)
    same = next((word for word in words if word.lower() == unit.lower()), None)
    advice = f"units are case-sensitive: did you mean {same}?" if same else f"valid units are {', '.join(words)}"
    return UsageError(f'invalid unit "{unit}" in "{text}"', advice)


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
