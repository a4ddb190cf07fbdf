"""Numbers for a reader: three significant digits, units said once, intervals in brackets."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import inf, isfinite

from pgassay.analysis.effects import Effect, informative_change
from pgassay.analysis.numbers import decimals_of, in_full, per_cent, plural, tenths
from pgassay.study.responses import Response, Scale

_NAME = re.compile(r"(pgassay|pgbench|sysbench|fio)\b|\S*[._=][a-z0-9]")
MISSING = "–"
UNKNOWN = "not known"
PROVISIONAL = "provisional, no verdict"
"""What is said of numbers from fewer blocks than a verdict takes."""
NO_COST = "no cost of a transaction explains space; the tables below show what takes it, and what changed with speed"
BYTES = ("B", "bytes")
KB_FROM, MB_FROM = 10240, 10485760
"""pg_size_pretty's steps: a unit from ten of it on."""


@lru_cache(maxsize=1024)
def place(*names: str) -> str:
    """Treatment, condition and covariate as one label, without those that a study does not have."""
    return ", ".join(name for name in names if name)


def sentence(text: str) -> str:
    """A text as it begins a sentence: a name that begins it (`host.huge_pages=2MB`, `pgassay`) stays as it is."""
    return text if _NAME.match(text) else f"{text[:1].upper()}{text[1:]}"


def capital(text: str) -> str:
    """A title as it stands by itself, whatever begins it."""
    return f"{text[:1].upper()}{text[1:]}"


def sized(size: str, name: str) -> str:
    """`4 clients`, `1 client`; of a curve `1, 2, 4 clients`."""
    return f"{size} {name.removesuffix('s')}" if size == "1" else f"{size} {name}"


def counted(count: int, noun: str) -> str:
    """A number with its noun: `1 block`, `5 blocks`."""
    return f"{count} {plural(noun, count)}"


def number(value: float | None) -> str:
    """Three significant digits: `1234.5` as `1,230`, `6.9` as `6.90`, `0.01234` as `0.0123`; a dash without one."""
    if value is None or not isfinite(value):
        return MISSING
    rounded = float(f"{value:.3g}")
    size = abs(rounded)
    if size >= 100:
        return f"{rounded:,.0f}"
    if size >= 10:
        return f"{rounded:.1f}"
    return f"{rounded:.2f}" if size >= 1 else in_full(rounded)


def unit(response: Response) -> str:
    """The unit as people write it; empty where the numbers say it (per cent) or there is none (counts)."""
    if response.unit in ("share", "count"):
        return ""
    return "µs" if response.unit == "us" else response.unit


def titled(response: Response) -> str:
    """`Latency, ms`: the title with its unit."""
    name, title = unit(response), capital(response.title)
    return f"{title}, {name}" if name else title


def scale_of(values: Iterable[float], response: Response) -> tuple[float, str]:
    """What an axis divides by, and its unit: bytes in the steps of 1024 that `quantity` takes, all else as it is."""
    if response.unit not in BYTES:
        return 1.0, unit(response)
    divisor, step = byte_step(max((abs(value) for value in values if isfinite(value)), default=0.0))
    return divisor, step if divisor > 1.0 else unit(response)


def byte_step(count: float) -> tuple[float, str]:
    """What so many bytes are divided by, and the unit that they then have, in pg_size_pretty's steps up to MB."""
    if count >= MB_FROM:
        return 1048576.0, "MB"
    return (1024.0, "kB") if count >= KB_FROM else (1.0, "B")


def share(value: float | None, decimals: int = 1) -> str:
    """A share in per cent; a dash for what is not known."""
    return MISSING if value is None else per_cent(value, decimals)


def quantity(value: float | None, response: Response) -> str:
    """A response's value with its unit where the unit is not plain from the column."""
    if value is None or not isfinite(value):
        return MISSING
    if response.unit == "share":
        return per_cent(value, 1)
    return _in_bytes(value, abs(value)) if response.unit in BYTES else number(value)


def quantities(values: Sequence[float | None], response: Response) -> list[str]:
    """Values that are read next to each other, as `quantity` writes the greatest: bytes of one size in one unit.

    Those of less than a hundredth of the greatest keep a unit of their own.
    """
    known = [abs(value) for value in values if value is not None and isfinite(value)]
    if response.unit not in BYTES or not known:
        return [quantity(value, response) for value in values]
    most = max(known)
    return [
        _in_bytes(value, most) if value is not None and most / 100 <= abs(value) < inf else quantity(value, response)
        for value in values
    ]


def _in_bytes(value: float, unit_of: float) -> str:
    divisor, step = byte_step(unit_of)
    return f"{number(value / divisor)} {step}" if divisor > 1.0 else number(value)


def effect(effect: Effect, response: Response) -> str:
    """`+10.4 % [+8.1, +12.7]`, or a difference in the response's unit; before there is an interval what blocks show."""
    if effect.refused:
        return MISSING
    if not effect.bounded:
        if not effect.contrasts:
            return "no interval yet"
        seen = [value for _, value in effect.contrasts]
        shown = interval(effect.estimate, min(seen), max(seen), effect.scale, response)
        if len(seen) == 1:
            value, _, rest = shown.partition(" [")
            return f"{value}{rest.partition(']')[2]}, {PROVISIONAL}"
        return f"{shown.replace(' [', ' (blocks ').replace(', ', ' to ').replace(']', ')')}, {PROVISIONAL}"
    return interval(effect.estimate, effect.low, effect.high, effect.scale, response)


def interval(estimate: float, low: float, high: float, scale: Scale, response: Response) -> str:
    """An estimate with its interval, as `effect` writes it."""
    values = (estimate, low, high)
    if scale is Scale.RATIO:
        return ratio_interval(estimate, low, high)
    if response.unit == "share":
        return points_interval(estimate, low, high)
    return "{} [{}, {}] {}".format(
        *(f"{'+' if value >= 0 else ''}{number(value)}" for value in values), unit(response)
    ).strip()


def value_interval(estimate: float, low: float, high: float, response: Response) -> str:
    """A value with its interval: `1,230 [1,200, 1,260]`, with the unit behind it where the numbers do not say it."""
    shown = quantities((estimate, low, high), response)
    named = "" if response.unit in (*BYTES, "1/s", "ratio", "1") else f" {unit(response)}"
    ends = f"[{shown[1]}, {shown[2]}]" if isfinite(low) and isfinite(high) else "[no interval yet]"
    return f"{shown[0]} {ends}{named}".rstrip()


def ratio_interval(estimate: float, low: float, high: float) -> str:
    """A ratio with its interval, in per cent, from three on as a factor."""
    if not informative_change(low, high, Scale.RATIO):
        shown = f"×{number(estimate)}" if estimate >= 3 else f"{_signed((estimate - 1) * 100)} %"
        return f"{shown} [{UNKNOWN}]"
    values = (estimate, low, high)
    if max(values) >= 3:
        return "×{} [×{}, ×{}]".format(*map(number, values))
    decimals = decimals_of(low * 100, high * 100)
    return "{} % [{}, {}]".format(*(_signed((value - 1) * 100, decimals) for value in values))


def points_interval(estimate: float, low: float, high: float) -> str:
    """A difference of two shares with its interval, in percentage points."""
    decimals = decimals_of(low * 100, high * 100)
    return "{} points [{}, {}]".format(*(_signed(value * 100, decimals) for value in (estimate, low, high)))


def _signed(value: float, decimals: int = 1) -> str:
    shown = tenths(abs(value), decimals)
    return f"{'-' if value < 0 else '+'}{shown}" if shown.strip("0.") else shown


def duration(seconds: float | None) -> str:
    """Seconds as a reader says them: `90` as `1 min 30 s`; a dash for what is not known."""
    if seconds is None or not isfinite(seconds):
        return MISSING
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.0f} s"
    if whole < 3600:
        return f"{whole // 60} min" + (f" {whole % 60} s" if whole % 60 and whole < 600 else "")
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def size(count: float | None) -> str:
    """Bytes rounded for a reader, in PostgreSQL's units (of 1024)."""
    if count is None:
        return MISSING
    for unit, scale in (("GB", 1 << 30), ("MB", 1 << 20), ("kB", 1 << 10)):
        if count >= scale:
            return f"{number(count / scale)} {unit}"
    return f"{count:.0f} B"
