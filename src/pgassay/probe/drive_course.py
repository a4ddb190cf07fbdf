"""Write amplification over a window's time: its first half against its second, from the drives' own counters; pure.

A drive in its steady state writes alike in both (SNIA's Performance Test Specification asks it of the rounds of a test,
which must stay within 20 % of their mean).
"""

from collections.abc import Sequence

from pgassay.bench.counters import Sample
from pgassay.bench.drive_counters import DATA, WAL

HOST, NAND = "host_bytes_written", "nand_bytes_written"
_READINGS_MIN = 3


def drive_course(samples: Sequence[Sample], started_ns: int, window_ns: int) -> dict[str, float | None]:
    """`drive.write_amplification_first`, `…_second`, likewise `drive_wal…`; nothing for drives without a series."""
    found: dict[str, float | None] = {}
    middle_ns, end_ns = started_ns + window_ns // 2, started_ns + window_ns
    for source in (DATA, WAL):
        both = _series(samples, source)
        if len(both) < _READINGS_MIN:
            continue
        for name, start, end in (("first", started_ns, middle_ns), ("second", middle_ns, end_ns)):
            inside = [each for each in both if start <= each[0] <= end] or [(start, 0.0, 0.0)]
            sent, programmed = (inside[-1][which] - inside[0][which] for which in (1, 2))
            found[f"{source}.write_amplification_{name}"] = programmed / sent if sent else None
    return found


def _series(samples: Sequence[Sample], source: str) -> list[tuple[int, float, float]]:
    """Moments at which both are known, with both."""
    known: dict[str, dict[int, float]] = {HOST: {}, NAND: {}}
    for each in samples:
        if each.source == source and each.name in known and each.value is not None:
            known[each.name][each.monotonic_ns] = each.value
    host, nand = known[HOST], known[NAND]
    return sorted((moment, value, nand[moment]) for moment, value in host.items() if moment in nand)
