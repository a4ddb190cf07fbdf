"""TPC-C's five transactions: their mix, what is measured of each, and the options of a load of them by pgbench.

TPC-C judges the 90th percentile of latency.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from pgassay.bench.kinds import choice
from pgassay.bench.options import option
from pgassay.load.options import PROTOCOLS, CutOptions, PgbenchClientOptions, WarehouseOptions
from pgassay.load.pgbench.options import PgbenchOptions, Script
from pgassay.study.responses import Better, Response

FOLDER = Path(__file__).parent
WEIGHTS: Mapping[str, int] = {"new_order": 45, "payment": 43, "order_status": 4, "delivery": 4, "stock_level": 4}
"""The mix of clause 5.2.3 at its limits, as everybody runs it: script to weight, in pgbench's order."""
_WORDS = {name: name.replace("_", "-") for name in WEIGHTS}

BY_TYPE: tuple[Response, ...] = (
    Response("new_orders_per_minute", "new-orders per minute (tpmC-like, not audited)", "1/min", Better.HIGHER),
    *(Response(f"{name}_tps", f"{word} per second", "1/s", Better.HIGHER) for name, word in _WORDS.items()),
    *(Response(f"{name}_latency_ms", f"mean latency of {word}", "ms", Better.LOWER) for name, word in _WORDS.items()),
    *(
        Response(f"{name}_latency_p90_ms", f"90th percentile of the latency of {word}", "ms", Better.LOWER)
        for name, word in _WORDS.items()
    ),
)


@dataclass(frozen=True, kw_only=True)
class TpccOptions(WarehouseOptions, PgbenchClientOptions, CutOptions):
    """A tpcc load: warehouses, and how pgbench plays its scripts."""

    driver = "tpcc"

    protocol: str = option(choice(*PROTOCOLS), default="prepared", summary="pgbench -M: how statements are sent")

    @property
    def round_trips(self) -> float | None:
        """As its scripts are mixed."""
        return self.pgbench.round_trips

    @property
    def pgbench(self) -> PgbenchOptions:
        """What pgbench is asked: the same as its client, with the five scripts and the warehouses for a scale."""
        scripts = tuple(Script(str(FOLDER / "scripts" / f"{name}.sql"), weight) for name, weight in WEIGHTS.items())
        client = {each.name: getattr(self, each.name) for each in fields(PgbenchClientOptions)}
        return PgbenchOptions(**client, scripts=scripts, scale=self.warehouses)
