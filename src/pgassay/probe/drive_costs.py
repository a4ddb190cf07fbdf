"""What a transaction costs the drives by their own count, and how they stand at the window's end; pure.

All drives of a set that count are added up; None where none does. Emulated drives count what their model programs: see
docs/drives.md.
"""

from collections.abc import Mapping

from pgassay.bench.drive_counters import DATA, SMART, SMART_WAL, WAL
from pgassay.probe.differences import Differences
from pgassay.study.responses import Better, Response, Scale

_SOURCES = (DATA, WAL, SMART, SMART_WAL)

RESPONSES: tuple[Response, ...] = (
    Response(
        "host_bytes_per_transaction", "bytes that the drive was sent, per transaction", "bytes", Better.LOWER, cost=True
    ),
    Response(
        "nand_bytes_per_transaction",
        "bytes that the flash programmed, per transaction",
        "bytes",
        Better.LOWER,
        cost=True,
    ),
    Response(
        "write_amplification", "write amplification in the window (NAND / host bytes)", "ratio", Better.LOWER, cost=True
    ),
    Response("data_write_amplification", "write amplification of the drive that holds the data", "ratio", Better.LOWER),
    Response("wal_write_amplification", "write amplification of the WAL's own drive", "ratio", Better.LOWER),
    Response(
        "drive_cpu_us_per_transaction",
        "CPU of the program that emulates drives, per transaction",
        "us",
        Better.LOWER,
        cost=True,
    ),
    Response("asked_service_us", "service time that an emulated drive was asked for, mean", "us", Better.NEITHER),
    Response(
        "service_time_error",
        "how much later than that it answered, mean",
        "share",
        Better.LOWER,
        Scale.DIFFERENCE,
    ),
    Response(
        "late_answers",
        "answers that took more than a tenth longer than asked",
        "share",
        Better.LOWER,
        Scale.DIFFERENCE,
    ),
    Response("physical_bytes", "live bytes on flash at the end", "bytes", Better.LOWER),
    Response("compression_ratio", "logical / physical bytes at the end", "ratio", Better.HIGHER),
    Response(
        "drive_writes", "drive writes in the window (host bytes / capacity)", "ratio", Better.NEITHER, Scale.DIFFERENCE
    ),
)


def drive_costs(counters: Differences, transactions: int) -> dict[str, float | None]:
    """Every response of `RESPONSES`."""
    host, nand = _sum(counters, "host_bytes_written"), _sum(counters, "nand_bytes_written")
    logical, physical = _contents(counters, "logical_bytes"), _contents(counters, "physical_bytes")
    asked, timed = _sum(counters, "asked_us"), _sum(counters, "timed_requests")
    return {
        "host_bytes_per_transaction": _quotient(host, transactions),
        "nand_bytes_per_transaction": _quotient(nand, transactions),
        "write_amplification": _quotient(nand, host),
        "data_write_amplification": _amplification(counters, DATA),
        "wal_write_amplification": _amplification(counters, WAL),
        "drive_cpu_us_per_transaction": _quotient(drive_cpu_us(counters), transactions),
        "asked_service_us": _quotient(asked, timed),
        "service_time_error": _quotient(_sum(counters, "late_us"), asked),
        "late_answers": _quotient(_sum(counters, "late_requests"), timed),
        "physical_bytes": physical,
        "compression_ratio": _quotient(logical, physical),
        "drive_writes": _quotient(host, _sum(counters, "capacity_bytes")),
    }


def drive_cpu_us(counters: Differences) -> float | None:
    """Processor time of the programs that emulate drives."""
    return _sum(counters, "cpu_us")


def _amplification(counters: Mapping[str, float | None], source: str) -> float | None:
    return _quotient(counters.get(f"{source}.nand_bytes_written"), counters.get(f"{source}.host_bytes_written"))


def _sum(counters: Mapping[str, float | None], name: str) -> float | None:
    found = [value for source in _SOURCES if (value := counters.get(f"{source}.{name}")) is not None]
    return sum(found) if found else None


def _contents(counters: Mapping[str, float | None], name: str) -> float | None:
    """As `_sum`, of what the host can read where a drive tells that apart from what filled it when it was aged."""
    told = {}
    for source in _SOURCES:
        contents = counters.get(f"{source}.contents_{name}")
        told[f"{source}.{name}"] = counters.get(f"{source}.{name}") if contents is None else contents
    return _sum(told, name)


def _quotient(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole
