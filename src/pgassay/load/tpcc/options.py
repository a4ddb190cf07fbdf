"""The options of a tpcc load, each declared once: warehouses, and how pgbench plays the five scripts."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from pgassay.bench.kinds import choice
from pgassay.bench.options import option
from pgassay.load.options import PROTOCOLS, PgbenchClientOptions, WarehouseOptions
from pgassay.load.pgbench.options import PgbenchOptions, Script

FOLDER = Path(__file__).parent
WEIGHTS: Mapping[str, int] = {"new_order": 45, "payment": 43, "order_status": 4, "delivery": 4, "stock_level": 4}
"""The mix of clause 5.2.3 at its limits, as everybody runs it: script to weight, in pgbench's order."""


@dataclass(frozen=True, kw_only=True)
class TpccOptions(WarehouseOptions, PgbenchClientOptions):
    """A tpcc load: warehouses, and how pgbench plays its scripts."""

    driver = "tpcc"

    protocol: str = option(choice(*PROTOCOLS), default="prepared", summary="pgbench -M: how statements are sent")

    @property
    def pgbench(self) -> PgbenchOptions:
        """What pgbench is asked: the same as its client, with the five scripts and the warehouses for a scale."""
        scripts = tuple(Script(str(FOLDER / "scripts" / f"{name}.sql"), weight) for name, weight in WEIGHTS.items())
        client = {each.name: getattr(self, each.name) for each in fields(PgbenchClientOptions)}
        return PgbenchOptions(**client, scripts=scripts, scale=self.warehouses)
