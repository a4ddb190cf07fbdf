"""A pgbench log read the plain way: every transaction in a list, every quantile from the sorted latencies.

The oracle of the Rust reader's tests; it shares nothing with it.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Line:
    """One line of a log; ``outcome`` is the word in place of the time, or empty."""

    outcome: str
    latency_us: int
    script: int
    ended_us: int
    lag_us: int
    retries: int


def parse(paths: Iterable[Path], *, has_lag: bool = False, has_retries: bool = False) -> list[Line]:
    """The whole lines of all files; a last line without newline is left out."""
    lines = []
    for path in paths:
        for text in path.read_text().split("\n")[:-1]:
            _, _, time, script, second, microsecond, *rest = text.split(" ")
            assert len(rest) == has_lag + has_retries
            outcome, latency_us = ("", int(time)) if time.isdigit() else (time, 0)
            lag_us = int(rest[0]) if has_lag else 0
            retries = int(rest[-1]) if has_retries else 0
            ended_us = int(second) * 1_000_000 + int(microsecond)
            lines.append(Line(outcome, latency_us, int(script), ended_us, lag_us, retries))
    return lines


def quantile(latencies_us: Sequence[int], q: float) -> int:
    """The nearest-rank quantile."""
    ordered = sorted(latencies_us)
    return ordered[max(math.ceil(q * len(ordered) - 1e-9), 1) - 1]


def succeeded(lines: Iterable[Line]) -> list[Line]:
    return [line for line in lines if line.outcome == ""]


def latencies_us(lines: Iterable[Line]) -> list[int]:
    return [line.latency_us for line in succeeded(lines)]
