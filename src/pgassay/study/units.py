"""Quantities as postgresql.conf writes them: memory in B kB MB GB TB (of 1024), time in us ms s min h d, booleans.

PostgreSQL manual, section "Parameter Names and Values": units are case-sensitive, a fraction is allowed, white space
may stand between number and unit. Pure; every refusal is a `UsageError` that lists what would do.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from pgassay.errors import UsageError

BYTES_PER_UNIT: Mapping[str, int] = {"B": 1, "kB": 1024, "MB": 1024**2, "GB": 1024**3, "TB": 1024**4}
MS_PER_UNIT: Mapping[str, float] = {"us": 0.001, "ms": 1, "s": 1e3, "min": 60e3, "h": 3600e3, "d": 86400e3}

_QUANTITY = re.compile(r"\s*([+-]?(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?))\s*([A-Za-zµ%]*)\s*")
_BOOLEANS = {"true": True, "false": False, "yes": True, "no": False, "on": True, "off": False, "1": True, "0": False}
_NUMBER_MAX = 1e30
_LENGTH_MAX = 100


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
