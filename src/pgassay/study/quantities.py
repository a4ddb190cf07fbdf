"""Shares, block counts and lengths of time as a study file writes them: `2%`, `5..30`, `20min`, or bare numbers.

PostgreSQL's own quantities are in `units`; these few are the experiment's.
"""

from collections.abc import Mapping
from math import inf

from pgassay.errors import UsageError
from pgassay.study.tables import unknown_key, wrong_type
from pgassay.study.units import parse_time_s

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
        raise _bad_share(where, value) from None
    if not 0 < number < 1:
        raise _bad_share(where, value)
    return number


def blocks(value: object) -> tuple[int, int]:
    """`{min=5, max=30}`, `"5..30"`, `12` (exactly: fewer blocks only if all is settled earlier) as (min, max)."""
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
            raise _bad_blocks(value) from None
    if isinstance(low, bool) or isinstance(high, bool) or not isinstance(low, int) or not isinstance(high, int):
        raise _bad_blocks(value)
    if not 1 <= low <= high <= BLOCKS_MAX:
        raise _bad_blocks(value)
    return low, high


def seconds(where: str, value: object, *, key: str = "budget", least: float | None = None) -> float:
    """`"20min"` or a bare number of seconds: positive, or `least` and more."""
    text = typed(value).strip()
    length = float(text) if text.replace(".", "", 1).isdecimal() else parse_time_s(text)
    if not length < inf or not (length > 0 if least is None else length >= least):
        raise wrong_type(where, key, "a positive length of time", value)
    return length


def _bad_share(where: str, value: object) -> UsageError:
    """A resolution that is not a share."""
    return UsageError(f"{where} must be a share above 0 and below 100%, such as 2% or 0.02, not {value!r}")


def _bad_blocks(value: object) -> UsageError:
    """A number of blocks that cannot be."""
    return UsageError(f"blocks must be a number or MIN..MAX with 1 <= MIN <= MAX <= {BLOCKS_MAX}, not {value!r}")
