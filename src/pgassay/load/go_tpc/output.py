"""What go-tpc prints with `--output json`: an array a line, each element one kind of transaction; pure.

All values are texts. Lines of other words stand between them. Its histogram has one significant digit and nothing below
1 ms, so percentiles are coarse; means come from sums and are not.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_ERROR = "_ERR"
_SUMMARY, _CURRENT = "[Summary]", "[Current]"
_FAILED = ("failed to", "panic:", "Error:", "execute run failed", "unknown ")


@dataclass(frozen=True)
class Operation:
    """One kind of transaction over a stretch of the run. `name` as go-tpc has it (NEW_ORDER); `failed` ones apart."""

    name: str
    failed: bool
    count: int
    per_minute: float
    average_ms: float
    p90_ms: float


@dataclass(frozen=True)
class Said:
    """A whole run: `seconds` are its intervals in order, `summary` is empty if it never came to its end."""

    seconds: tuple[tuple[Operation, ...], ...]
    summary: tuple[Operation, ...]
    new_orders_per_minute: float | None


def parse(text: str) -> Said:
    """All lines that are JSON arrays of objects; the others are passed over."""
    seconds: list[tuple[Operation, ...]] = []
    summary: tuple[Operation, ...] = ()
    rate: float | None = None
    for rows in _arrays(text):
        prefix = str(rows[0].get("Prefix", "")).strip()
        if "tpmC" in rows[0]:
            rate = _number(rows[0]["tpmC"])
        elif prefix == _SUMMARY:
            summary = _operations(rows)
        elif prefix == _CURRENT:
            seconds.append(_operations(rows))
    return Said(tuple(seconds), summary, rate)


def first_failure(text: str) -> str | None:
    """The first line that says that something failed before or beside the transactions."""
    for line in text.splitlines():
        if any(sign in line for sign in _FAILED) and not line.startswith("["):
            return line.strip()
    return None


def committed(operations: Sequence[Operation]) -> int:
    """Transactions that ended as they should."""
    return sum(each.count for each in operations if not each.failed)


def failed(operations: Sequence[Operation], threads: int) -> int:
    """Transactions that failed; at the end every thread may have one under way, which go-tpc counts as failed."""
    return max(0, sum(each.count for each in operations if each.failed) - threads)


def _arrays(text: str) -> list[list[Mapping[str, Any]]]:
    found = []
    for line in text.splitlines():
        if line.startswith("[{"):
            try:
                rows = json.loads(line)
            except ValueError:
                continue  # cut short with the program
            if all(isinstance(row, dict) for row in rows):
                found.append(rows)
    return found


def _operations(rows: Sequence[Mapping[str, Any]]) -> tuple[Operation, ...]:
    return tuple(
        Operation(
            name=str(row.get("Operation", "")).removesuffix(_ERROR),
            failed=str(row.get("Operation", "")).endswith(_ERROR),
            count=int(_number(row.get("Count")) or 0),
            per_minute=_number(row.get("TPM")) or 0.0,
            average_ms=_number(row.get("Avg(ms)")) or 0.0,
            p90_ms=_number(row.get("90th(ms)")) or 0.0,
        )
        for row in rows
    )


def _number(text: object) -> float | None:
    try:
        return float(str(text))
    except ValueError:
        return None
