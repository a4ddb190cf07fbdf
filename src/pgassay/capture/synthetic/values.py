"""From places to texts that PostgreSQL reads: numbers at their place, and invented texts that sort as their numbers do.

An invented text begins with its number to the base 26 (or more, where a short type has no room), so that it sorts
alike in every collation, and goes on with random letters up to its width: they compress as little as what is stored
compressed already. Widths are those of the statistics, and their mean is pg_stats.avg_width.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta
from decimal import Decimal
from string import ascii_lowercase, digits, punctuation

import numpy as np
import numpy.typing as npt
import polars as pl

from pgassay.capture.errors import SyntheticError
from pgassay.capture.synthetic.domains import Floats, Integers, Slots
from pgassay.capture.synthetic.statistics import Column

_ALPHABETS = tuple(
    text.encode()
    for text in (
        ascii_lowercase,
        digits + ascii_lowercase,
        "".join(sorted(set(digits + ascii_lowercase + ascii_lowercase.upper() + punctuation) - set("\\"))),
    )
)
_SHORT_HEADER, _LONG_HEADER, _SHORT_LIMIT = 1, 4, 127
"""Bytes before a text in a row, and how long it is with the short ones (manual, "Database Page Layout")."""
_POOL_BYTES = 1 << 20
_OVERHEAD = {"json": 8, "jsonb": 14}
"""Bytes of `{"a":""}` as text, and stored (jsonb.h: header, two entries, the key)."""
_ARRAY_HEADER, _INTEGER_BYTES = 21, 4


def values(column: Column, slots: Slots, random: np.random.Generator) -> pl.Series:
    """The distinct values of a column, in the order of `slots`, as COPY reads them (text format, not yet escaped)."""
    writers: dict[str, Callable[[], Sequence[str | bytes]]] = {
        "decimal": lambda: _decimals(column, slots.slots),
        "float": lambda: [repr(number / 10**column.digits) for number in _numbers(column, slots.slots).tolist()],
        "date": lambda: _moments(_numbers(column, slots.slots).astype("m8[D]")),
        "timestamp": lambda: _moments(_numbers(column, slots.slots).astype("m8[us]")),
        "time": lambda: [str(timedelta(microseconds=number)) for number in _numbers(column, slots.slots).tolist()],
        "label": lambda: [column.labels[number] for number in slots.slots.tolist()],
        "interval": lambda: [f"{number + 1} seconds" for number in range(len(slots.slots))],
        "uuid": lambda: [
            f"{number:012x}" + tail for number, tail in zip(slots.slots.tolist(), _hex(slots, random), strict=True)
        ],
        "address": lambda: [f"10.{n >> 16 & 255}.{n >> 8 & 255}.{n & 255}" for n in range(len(slots.slots))],
        "integers": lambda: _integer_arrays(column, slots, random),
    }
    if column.kind == "integer":
        return pl.Series(column.name, _numbers(column, slots.slots))
    made = writers[column.kind]() if column.kind in writers else _texts(column, slots, random)
    return pl.Series(column.name, made, pl.String)


def escaped(texts: pl.Series) -> pl.Series:
    """As COPY's text format wants it: only values that the schema names and bytea can have what must be escaped."""
    if texts.dtype != pl.String:
        return texts
    for plain, written in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
        texts = texts.str.replace_all(plain, written, literal=True)
    return texts


def _numbers(column: Column, places: Integers) -> Integers:
    return column.offset + places * column.step


def _decimals(column: Column, places: Integers) -> list[str]:
    return [f"{Decimal(number).scaleb(-column.digits):f}" for number in _numbers(column, places).tolist()]


def _moments(since_2000: npt.NDArray[np.timedelta64]) -> list[str]:
    found = np.datetime_as_string(np.datetime64("2000-01-01") + since_2000)
    return [text.replace("T", " ") for text in found.tolist()]


def _hex(slots: Slots, random: np.random.Generator) -> list[str]:
    return [f"{number:020x}" for number in random.integers(0, 1 << 62, len(slots.slots)).tolist()]


def _integer_arrays(column: Column, slots: Slots, random: np.random.Generator) -> list[str]:
    length = max(1, round((column.average_width_bytes - _ARRAY_HEADER) / _INTEGER_BYTES))
    drawn = random.integers(0, 1_000_000, (len(slots.slots), length))
    drawn[:, 0] = np.arange(len(drawn))
    return ["{" + ",".join(map(str, row)) + "}" for row in drawn.tolist()]


def _texts(column: Column, slots: Slots, random: np.random.Generator) -> list[str]:
    """Invented texts of the right widths; a value that the schema names stays."""
    numbers = codes(len(slots.slots), column.longest, column.name)
    wide = widths(column, slots, random)
    pool = random.integers(ord("a"), ord("z") + 1, _POOL_BYTES + int(wide.max(initial=0)), np.uint8).tobytes().decode()
    starts = random.integers(0, _POOL_BYTES, len(numbers)).tolist()
    texts = [
        code + pool[start : start + max(0, width - len(code))]
        for code, start, width in zip(numbers, starts, wide.tolist(), strict=True)
    ]
    if column.kind == "bytes":
        return ["\\x" + text.encode().hex() for text in texts]
    if column.kind in ("json", "jsonb"):
        return [f'{{"a":"{text}"}}' for text in texts]
    if column.kind == "texts":
        return [f"{{{text}}}" for text in texts]
    for place in np.flatnonzero(slots.knots >= 0).tolist():
        texts[place] = column.knots[slots.knots[place]].kept or texts[place]
    return texts


def codes(count: int, longest: int | None, name: str) -> list[str]:
    """`count` different texts in rising order, as short as they can be and of one length; raises `SyntheticError`."""
    for alphabet in _ALPHABETS:
        base, length = len(alphabet), 1
        while base**length < count:
            length += 1
        if longest is None or length <= longest:
            break
    else:
        raise SyntheticError(
            f'column "{name}" has {count} distinct values of at most {longest} characters: so many cannot be invented',
            "capture the data themselves with --data dump",
        )
    left = np.arange(count) * (base**length // max(count, 1))
    letters: npt.NDArray[np.uint8] = np.empty((count, length), np.uint8)
    table = np.frombuffer(alphabet, np.uint8)
    for place in range(length - 1, -1, -1):
        letters[:, place] = table[left % base]
        left //= base
    text = letters.tobytes().decode()
    return [text[start : start + length] for start in range(0, count * length, length)]


def widths(column: Column, slots: Slots, random: np.random.Generator) -> Integers:
    """Characters of each invented value: of common values their own, of the others so that the mean is right."""
    mean = float(column.average_width_bytes)
    mean -= _SHORT_HEADER if mean <= _SHORT_LIMIT else _LONG_HEADER
    mean = max(1.0, mean - _OVERHEAD.get(column.kind, 0) - (_ARRAY_HEADER + 2 if column.kind == "texts" else 0))
    known = np.array([knot.width_bytes for knot in column.knots], np.int64)
    others = slots.knots < 0
    wide = np.zeros(len(others), np.int64)
    if column.kind == "text" and len(known):
        wide[~others] = known[slots.knots[~others]]
    else:
        others = np.ones(len(others), np.bool_)
    if column.kind == "text" and column.longest is not None:
        mean = min(mean, column.longest)
    shares, bounds = slots.shares, known[[knot.frequency is None for knot in column.knots]]
    target = (mean - float((shares * wide).sum())) / max(float(shares[others].sum()), 1e-12)
    if column.kind != "text" or not len(bounds):
        bounds = np.array([max(1, round(target))], np.int64)
    drawn = bounds[random.integers(0, len(bounds), int(others.sum()))].astype(np.float64)
    wide[others] = _scaled(drawn, shares[others], target, column.longest, random)
    return wide


def _scaled(drawn: Floats, shares: Floats, target: float, longest: int | None, random: np.random.Generator) -> Integers:
    """Whole widths in proportion to `drawn`, whose mean is `target` as far as the limits allow."""
    if not len(drawn):
        return np.empty(0, np.int64)
    mean = float((drawn * shares).sum() / shares.sum())
    scaled = drawn * (max(target, 1.0) / max(mean, 1e-9))
    whole = np.floor(scaled + random.random(len(scaled))).astype(np.int64)
    return np.clip(whole, 1, longest)
