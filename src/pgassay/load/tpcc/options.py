"""The options of a tpcc load: warehouses, and what its pgbench needs."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pgassay.load import values

FOLDER = Path(__file__).parent
WEIGHTS: Mapping[str, int] = {"new_order": 45, "payment": 43, "order_status": 4, "delivery": 4, "stock_level": 4}
"""The mix of clause 5.2.3 at its limits, as everybody runs it: script to weight, in pgbench's order."""
_PGBENCH = ("protocol", "clients", "jobs", "duration", "transactions", "rate", "latency_limit", "max_tries", "keep_log")
DEFAULTS: Mapping[str, str] = {"warehouses": "1", "protocol": "prepared"}


@dataclass(frozen=True)
class Options:
    """A tpcc load; `pgbench` are the levels for pgbench, its scripts and scale among them."""

    warehouses: int
    pgbench: Mapping[str, str]


def read_options(levels: Mapping[str, str]) -> Options:
    """The options for these levels (names without `load.`); raises `UsageError`."""
    given = {**DEFAULTS, **levels}
    warehouses = values.parse_count("load.warehouses", given["warehouses"])
    scripts = "\n".join(f"{FOLDER / 'scripts' / name}.sql@{weight}" for name, weight in WEIGHTS.items())
    passed = {name: given[name] for name in _PGBENCH if name in given}
    return Options(warehouses, {**passed, "script": scripts, "scale": str(warehouses)})
