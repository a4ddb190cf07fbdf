"""What this machine can do of each cost in a second, as far as the record knows; the rest is named as not known.

Only the processors are known without a measurement of their own. Server and load program share them, so their costs
are added.
"""

from collections.abc import Mapping
from math import nan
from typing import Any

from pgassay.analysis.bounds import Capacity

CPU = "cpu_us_per_transaction"
"""Server and load program together: a cost of the report's own."""

_PARTS = ("server_cpu_us_per_transaction", "client_cpu_us_per_transaction")
_NOT_MEASURED = (
    ("wal_bytes_per_transaction", "WAL"),
    ("disk_written_bytes_per_transaction", "writing to the device"),
    ("disk_read_bytes_per_transaction", "reading from the device"),
    ("disk_flushes_per_transaction", "flushes of the device"),
)


def capacities(host: Mapping[str, Any], *, cores_varied: bool) -> tuple[Capacity, ...]:
    """Of the machine that the record was made on; NaN where a capacity is not known."""
    count, source = (nan, "the study itself varies the cores") if cores_varied else _processors(host)
    rest = (Capacity(name, title, nan, "not measured") for name, title in _NOT_MEASURED)
    return (Capacity(CPU, "CPU (server and load program)", count * 1e6, source), *rest)


def costs_with_cpu(costs: Mapping[str, float | None]) -> dict[str, float | None]:
    """The costs with that of all CPU added; None unless both parts are known."""
    parts = [costs.get(name) for name in _PARTS]
    whole = None if any(part is None for part in parts) else sum(part for part in parts if part is not None)
    return {**costs, CPU: whole}


def _processors(host: Mapping[str, Any]) -> tuple[float, str]:
    cpu = host.get("cpu")
    count = cpu.get("usable_processors") if isinstance(cpu, Mapping) else None
    if not isinstance(cpu, Mapping) or not isinstance(count, int) or count < 1:
        return nan, "the record does not tell the processors"
    quota = _quota(cpu.get("cgroup_limit"))
    if quota is not None and quota < count:
        return quota, f"a control group allows {quota:g} processors"
    return float(count), f"{count} usable processors, hyper-threads counted as whole ones"


def _quota(text: object) -> float | None:
    """`cpu.max` of a control group: `200000 100000` is two processors, `max 100000` no limit."""
    words = text.split() if isinstance(text, str) else []
    if len(words) != 2 or not all(word.isdigit() for word in words) or int(words[1]) == 0:
        return None
    return int(words[0]) / int(words[1])
