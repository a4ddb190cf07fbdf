"""How the values of a column are drawn: by its commonest values and its histogram, as ANALYZE found them; pure.

Whole numbers whose values lie close together (keys) are drawn by pgbench itself, each time again. Of all other columns
only real values are used: values between two bounds of a histogram would mostly not exist. See the manual, "Row
Estimation Examples", for what the statistics mean.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from random import Random

from pgassay.capture.format import Column

INTEGERS = {"smallint": 2**15 - 1, "integer": 2**31 - 1, "bigint": 2**63 - 1}
"""The integer types with their greatest values."""
_DENSE = 0.5
"""The least share of the numbers between the least and the greatest that must occur."""
_BUCKETS = 20
_STRAIGHT = 0.02
"""A histogram whose bounds lie this close to a straight line is drawn as one even range."""
_PARTS = 1_000_000
_FRESH_SPAN = 1_000_000_000


@dataclass(frozen=True)
class Values:
    """Real values with their shares of the column; the shares add up to 1."""

    values: tuple[str, ...]
    shares: tuple[float, ...]

    def sample(self, count: int, random: Random) -> list[str]:
        """`count` values in random order, each as often as its share says: evenly spaced along the distribution."""
        ends = list(accumulate(self.shares))
        start = random.random()
        found = [
            self.values[min(bisect_left(ends, (n + start) / count * ends[-1]), len(ends) - 1)] for n in range(count)
        ]
        random.shuffle(found)
        return found


def values_of(column: Column) -> Values | None:
    """The values that the statistics know: common ones, and a histogram's bounds for the rest; None without any."""
    common = sum(column.common_shares) if column.common_values else 0.0
    rest = max(0.0, 1.0 - common - (column.null_share or 0.0)) if column.histogram else 0.0
    shares = [
        *column.common_shares[: len(column.common_values)],
        *(rest / len(column.histogram) for _ in column.histogram),
    ]
    total = sum(shares)
    if total <= 0:
        return None
    return Values((*column.common_values, *column.histogram), tuple(share / total for share in shares))


def dense_range(column: Column, rows: float | None) -> tuple[int, int] | None:
    """The least and the greatest of a column of whole numbers that lie close together; None for any other column."""
    if column.type not in INTEGERS or column.n_distinct is None or len(column.histogram) < 2:
        return None
    distinct = column.n_distinct if column.n_distinct > 0 else -column.n_distinct * (rows or 0.0)
    known = [int(value) for value in (*column.histogram, *column.common_values)]
    least, most = min(known), max(known)
    return (least, most) if distinct >= _DENSE * (most - least + 1) else None


def integer_lines(name: str, column: Column) -> list[str]:
    r"""The lines of a pgbench script that set `name` to a value of a dense column: `\set p1 random(1, 1000)`."""
    bounds = [int(value) for value in column.histogram]
    lines = _range_lines(name, bounds)
    common = list(zip(column.common_values, column.common_shares, strict=False))
    if not common:
        return lines
    not_null = 1.0 - (column.null_share or 0.0)
    ends = accumulate(share / not_null for _, share in common)
    cases = " ".join(
        f"WHEN :{name}_u <= {round(end * _PARTS)} THEN {int(value)}"
        for (value, _), end in zip(common, ends, strict=True)
    )
    return [*lines, f"\\set {name}_u random(1, {_PARTS})", f"\\set {name} CASE {cases} ELSE :{name} END"]


def _range_lines(name: str, bounds: Sequence[int]) -> list[str]:
    span, last = bounds[-1] - bounds[0], len(bounds) - 1
    if all(abs((each - bounds[0]) - span * n / last) <= _STRAIGHT * span for n, each in enumerate(bounds)):
        return [f"\\set {name} random({bounds[0]}, {bounds[-1]})"]
    chosen = [bounds[round(n * last / min(_BUCKETS, last))] for n in range(min(_BUCKETS, last) + 1)]
    pairs = list(pairwise(chosen))
    cases = " ".join(f"WHEN :{name}_b = {n} THEN random({low}, {high})" for n, (low, high) in enumerate(pairs[:-1]))
    final = f"random({pairs[-1][0]}, {pairs[-1][1]})"
    return [
        f"\\set {name}_b random(0, {len(pairs) - 1})",
        f"\\set {name} CASE {cases} ELSE {final} END" if cases else f"\\set {name} {final}",
    ]


def fresh_lines(name: str, column: Column) -> list[str]:
    """The lines that set `name` to a whole number above all that a unique column holds."""
    greatest = max((int(value) for value in (*column.histogram, *column.common_values)), default=0)
    most = min(greatest + _FRESH_SPAN, INTEGERS[column.type])
    return [f"\\set {name} random({min(greatest + 1, most)}, {most})"]


def literal(value: str) -> str:
    r"""A constant of SQL that means the same to the server, to pgbench and to our player.

    Colons would be variables, and quotes, backslashes and line ends differ between readers of scripts, so each of
    these is written by its number: `E'12\x3a30'` (manual, "String Constants with C-Style Escapes").
    """
    return "E'" + "".join(each if each.isprintable() and each not in "':\\" else _escaped(each) for each in value) + "'"


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
