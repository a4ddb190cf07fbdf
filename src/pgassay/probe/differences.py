"""From two readings of the same counters to what happened between them; pure.

A cumulative counter that went down was reset (a crash, pg_stat_reset): its difference is None, never negative. The
"difference" of a gauge is its value at the end.
"""

from collections.abc import Mapping, Sequence

from pgassay.bench.counters import Meter, Reading

Differences = Mapping[str, float | None]
"""`source.name` to difference (gauges: last value)."""


def differences(
    before: Sequence[Reading], after: Sequence[Reading], meters: Mapping[str, Meter]
) -> dict[str, float | None]:
    """Every meter's difference; None where either reading lacks it or it was reset.

    Several readings of one source: the first before and the last after count.
    """
    first = {reading.source: reading for reading in reversed(before)}
    last = {reading.source: reading for reading in after}
    found: dict[str, float | None] = {}
    for full_name, meter in meters.items():
        source, _, name = full_name.partition(".")
        old, new = first.get(source), last.get(source)
        end = new.values.get(name) if new is not None else None
        start = old.values.get(name) if old is not None else None
        found[full_name] = difference(start, end) if meter.cumulative else end
    return found


def difference(start: float | None, end: float | None) -> float | None:
    """End minus start; None where one is missing or the counter was reset between."""
    if start is None or end is None or end < start:
        return None
    return end - start
