"""Counters: what probes read, and the long series that they become.

A probe reads everything that it knows in one go; cumulative counters stay raw (differences are made later, so that a
reset or a gap stays visible), gauges are values as they stand. None means "not available here", never 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Meter:
    """One thing that a probe reads: `name` with its unit last, cumulative or a gauge."""

    name: str
    unit: str
    cumulative: bool = True


@dataclass(frozen=True)
class Reading:
    """One reading of one probe: meter name to value, with both times of the moment."""

    source: str
    monotonic_ns: int
    wall_ns: int
    values: Mapping[str, float | None]


@dataclass(frozen=True)
class Sample:
    """One row of a series: `monotonic_ns`, `wall_ns`, `source`, `name`, `unit`, `value` (None where missing)."""

    monotonic_ns: int
    wall_ns: int
    source: str
    name: str
    unit: str
    value: float | None
