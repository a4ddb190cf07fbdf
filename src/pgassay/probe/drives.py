"""What drives count of themselves: emulated drives and SMART logs by one interface (`interfaces.drive_counters`).

What the drives of a set wrote is added up, and is None where one of them does not report: one drive must not pass for
both. Emulated drives count what their model programs: see docs/drives.md. A drive in its steady state has about the
same write amplification in both halves of a window (SNIA's Performance Test Specification wants the rounds of a test
within 20 % of their mean).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import ClassVar

from pgassay.interfaces.drive_counters import DATA, GAUGES, SMART, SMART_WAL, UNITS, WAL, DriveCounters
from pgassay.interfaces.probe import (
    Cost,
    Differences,
    FileReader,
    Meter,
    Probe,
    Reader,
    Reading,
    Sample,
    Target,
    per_transaction,
    quotient,
    total,
)
from pgassay.interfaces.running import Clock
from pgassay.study.drives import KERNEL, host_stands_still
from pgassay.study.responses import Better, Response, Scale

_SOURCES = (DATA, WAL, SMART, SMART_WAL)
_HOST, _NAND = "host_bytes_written", "nand_bytes_written"
_LOGICAL, _PHYSICAL = "logical_bytes", "physical_bytes"
_METERS = tuple(Meter(name, unit, name not in GAUGES) for name, unit in UNITS.items())
"""All names of `interfaces.drive_counters`, also those that a drive does not count."""
_READINGS_MIN = 3
_ABSENT = object()
"""Stands for the counter of a drive that is not there."""


class DriveReader(FileReader):
    """One drive as the source `source` (`drive`, `drive_wal`, `smart` …); what a drive does not say is None, not 0."""

    def __init__(self, source: str, read: DriveCounters, clock: Clock) -> None:
        self.meters = {source: _METERS}
        self.per_second = source not in (SMART, SMART_WAL)
        """One question to a program of ours; a SMART log costs a process, and moves slowly anyway."""
        self._source = source
        self._read = read
        self._clock = clock

    def read(self) -> tuple[Reading, ...]:
        """Ask the drive; None throughout when it does not answer."""
        counted = self._read()
        now = self._clock.monotonic_ns(), self._clock.wall_ns()
        return (Reading(self._source, *now, {name: counted.get(name) for name in UNITS}),)


def drive_cpu_us(counters: Differences) -> float | None:
    """CPU time of the programs that emulate drives; None where no drive is emulated."""
    return _sum(counters, "cpu_us")


def _sum(counters: Differences, name: str) -> float | None:
    found = [value for source in _SOURCES if (value := counters.get(f"{source}.{name}")) is not None]
    return sum(found) if found else None


def _contents(counters: Differences) -> Differences:
    """Sizes of what the host can read, where a drive counts that apart from what filled it when it was aged."""
    amounts = {}
    for source in _SOURCES:
        for name in (_LOGICAL, _PHYSICAL):
            contents = counters.get(f"{source}.contents_{name}")
            amounts[f"{source}.{name}"] = counters.get(f"{source}.{name}") if contents is None else contents
    return amounts


def _of_set(
    name: str,
    title: str,
    unit: str,
    value: Callable[[Differences], float | None],
    *,
    better: Better = Better.LOWER,
    scale: Scale = Scale.RATIO,
    cost: bool = False,
) -> Cost:
    return Cost(Response(name, title, unit, better, scale, cost), lambda counters, _: value(counters))


def stands_still(counters: Differences, source: str) -> bool:
    """Was a real drive written to, without NAND or host writes in its log? Some write theirs every few minutes only."""
    sent_alone = bool(counters.get(f"{source}.{_HOST}")) and counters.get(f"{source}.{_NAND}") == 0.0
    return source in KERNEL and (sent_alone or host_stands_still(counters, source))


def _together(name: str, still: Callable[[Differences, str], bool], counters: Differences) -> float | None:
    """Bytes of all drives together; None where one of them does not report, or stands still.

    A drive that reports nothing is there, too: all that it counts is None.
    """
    present = [source for source in _SOURCES if counters.get(f"{source}.{_HOST}", _ABSENT) is not _ABSENT]
    if not present or any(still(counters, source) for source in present):
        return None
    return total(counters, [f"{source}.{name}" for source in present])


_sent = partial(_together, _HOST, host_stands_still)
_programmed = partial(_together, _NAND, stands_still)


def _drive_writes(counters: Differences) -> float | None:
    """Of the drives that report host writes and capacity; None where one of them stands still."""
    still = any(host_stands_still(counters, source) for source in _SOURCES)
    return None if still else _ratio(_HOST, "capacity_bytes")(counters)


def _amplification(*sources: str) -> Callable[[Differences], float | None]:
    """Of the first of these that counts."""

    def value(counters: Differences) -> float | None:
        for source in sources:
            if counters.get(f"{source}.{_HOST}") is not None and not stands_still(counters, source):
                return quotient(counters.get(f"{source}.{_NAND}"), counters.get(f"{source}.{_HOST}"))
        return None

    return value


def _ratio(part: str, whole: str) -> Callable[[Differences], float | None]:
    """Of the drives that report both; one that reports a part alone would be a part of nothing."""

    def value(counters: Differences) -> float | None:
        both = [(counters.get(f"{source}.{part}"), counters.get(f"{source}.{whole}")) for source in _SOURCES]
        known = [(some, full) for some, full in both if some is not None and full is not None]
        return quotient(sum(some for some, _ in known), sum(full for _, full in known)) if known else None

    return value


def _share_of_time(name: str, title: str, part: str) -> Cost:
    """Of the time of a drive with caps; of two such drives, the one with the larger share: it holds up the load."""

    def value(counters: Differences) -> float | None:
        each = [quotient(counters.get(f"{source}.{part}"), counters.get(f"{source}.volume_us")) for source in _SOURCES]
        return max((share for share in each if share is not None), default=None)

    return _of_set(name, title, "share", value, better=Better.NEITHER, scale=Scale.DIFFERENCE)


class Drives(Probe):
    """The drives that count of themselves, each as a source of its own."""

    name = "drive"
    summary = "host and NAND writes, garbage collection, contents and service times, as the drives count them"
    costs = (
        per_transaction("host_bytes", "bytes that the drive was sent", "bytes", _sent, Scale.RATIO),
        per_transaction(
            "nand_bytes",
            "bytes that the flash programmed",
            "bytes",
            _programmed,
            Scale.RATIO,
        ),
        _of_set(
            "write_amplification",
            "write amplification in the window (NAND / host bytes)",
            "ratio",
            lambda counters: quotient(_programmed(counters), _sent(counters)),
            cost=True,
        ),
        _of_set(
            "data_write_amplification",
            "write amplification of the drive that holds the data",
            "ratio",
            _amplification(DATA, SMART),
        ),
        _of_set(
            "wal_write_amplification",
            "write amplification of the WAL's own drive",
            "ratio",
            _amplification(WAL, SMART_WAL),
        ),
        per_transaction("drive_cpu_us", "CPU of the program that emulates drives", "us", drive_cpu_us, Scale.RATIO),
        _of_set(
            "asked_service_us",
            "service time that an emulated drive was asked for, mean",
            "us",
            _ratio("asked_us", "timed_requests"),
            better=Better.NEITHER,
        ),
        _of_set(
            "service_time_error",
            "how much later than that it answered, mean",
            "share",
            _ratio("late_us", "asked_us"),
            scale=Scale.DIFFERENCE,
        ),
        _of_set(
            "late_answers",
            "answers that took more than a tenth longer than asked",
            "share",
            _ratio("late_requests", "timed_requests"),
            scale=Scale.DIFFERENCE,
        ),
        _share_of_time("iops_cap_share", "time in which a volume's cap let no further I/O pass", "ios_limited_us"),
        _share_of_time(
            "throughput_cap_share", "time in which a volume's cap of throughput let nothing pass", "bytes_limited_us"
        ),
        _share_of_time("no_credit_share", "time in which a volume had no credits for a burst", "without_credits_us"),
        _of_set(
            "physical_bytes",
            "live bytes on flash at the end",
            "bytes",
            lambda counters: _sum(_contents(counters), _PHYSICAL),
        ),
        _of_set(
            "compression_ratio",
            "logical / physical bytes at the end",
            "ratio",
            lambda counters: _ratio(_LOGICAL, _PHYSICAL)(_contents(counters)),
            better=Better.HIGHER,
        ),
        _of_set(
            "drive_writes",
            "drive writes in the window (host bytes / capacity)",
            "ratio",
            _drive_writes,
            better=Better.NEITHER,
            scale=Scale.DIFFERENCE,
        ),
    )

    meters: ClassVar[Mapping[str, tuple[Meter, ...]]] = dict.fromkeys(_SOURCES, _METERS)

    def unavailable(self, target: Target) -> str | None:
        """Emulated drives count, and real ones with a SMART log; directories and images do not."""
        return None if target.drives else "no drive here counts of itself"

    def readers(self, target: Target) -> Sequence[Reader]:
        return tuple(DriveReader(source, read, target.clock) for source, read in target.drives.items())


def amplification_by_half(samples: Sequence[Sample], started_ns: int, window_ns: int) -> dict[str, float | None]:
    """`drive.write_amplification_first`, `…_second` of a window's halves, likewise `drive_wal…`.

    `started_ns` is by the monotonic clock. Empty for drives without a series of counters.
    """
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
    known: dict[str, dict[int, float]] = {_HOST: {}, _NAND: {}}
    for each in samples:
        if each.source == source and each.name in known and each.value is not None:
            known[each.name][each.monotonic_ns] = each.value
    host, nand = known[_HOST], known[_NAND]
    return sorted((moment, value, nand[moment]) for moment, value in host.items() if moment in nand)
