"""The tpcc load: five pgbench scripts and a PL/pgSQL function each, since pgbench is wherever PostgreSQL is.

What pgbench reports of each script becomes a rate and latency by type; percentiles come from the sketches that the
pgbench driver keeps of each script.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pgassay.bench.errors import LoadError
from pgassay.bench.load import LoadResult
from pgassay.bench.server import Server
from pgassay.load import responses as shared
from pgassay.load import sketches
from pgassay.load.pgbench.driver import PgbenchLoad
from pgassay.load.pgbench.output import Summary, parse_summary
from pgassay.load.pgbench.results import RESPONSES as PGBENCH
from pgassay.load.player import Player
from pgassay.load.tpcc import tables
from pgassay.load.tpcc.options import BY_TYPE, WEIGHTS, TpccOptions
from pgassay.study.responses import Response

RESPONSES: tuple[Response, ...] = (*PGBENCH, *BY_TYPE)
_ECHOED = ("clients", "jobs", "protocol", "duration", "transactions", "max_tries")


class TpccLoad(tables.TpccTables[TpccOptions]):
    """A TPC-C-like load by pgbench, not audited."""

    responses = RESPONSES

    def check(self) -> None:
        """Raise `UsageError` for what pgbench refuses."""
        self._pgbench.check()

    @property
    def _pgbench(self) -> PgbenchLoad:
        return PgbenchLoad(self.options.pgbench, self.tools)

    def create(self, server: Server) -> None:
        """Create the empty tables with their indexes, and the functions."""
        super().create(server)
        tables.create_functions(server)

    def run(self, server: Server, output: Path, seed: int) -> LoadResult:
        """Run the mix; every raw output of pgbench goes to `output`."""
        result = self._pgbench.run(server, output, seed)
        found = dict(result.responses)
        try:
            summary = parse_summary((output / "pgbench.out").read_text(encoding="utf-8"))
        except (LoadError, FileNotFoundError):
            pass  # pgbench's driver has named the problem
        else:
            found |= of_scripts(summary, sketches_in(output / sketches.FILE))
        names = [f"load.{name}" for name in _ECHOED]
        return replace(
            result,
            responses=shared.complete(RESPONSES, found),
            series=tuple(replace(sample, source=self.name) for sample in result.series),
            read_back={name: result.read_back[name] for name in names if name in result.read_back},
        )

    @property
    def ungated(self) -> str | None:
        """What keeps pgbench's scripts of it from being played in slices."""
        return self._pgbench.ungated

    def gate(self, server: Server, seed: int, *, paired: bool = False) -> Player:
        """The five scripts by our own player, with their weights."""
        return self._pgbench.gate(server, seed, paired=paired)


def of_scripts(summary: Summary, packed: Mapping[str, str]) -> dict[str, float | None]:
    """By type, from the summary's scripts in order and their sketches (base64 by number, as text)."""
    from pgassay._core import LatencySketch

    found: dict[str, float | None] = {}
    for number, name in enumerate(WEIGHTS):
        script = next((each for each in summary.scripts if Path(each.name).stem == name), None)
        found[f"{name}_tps"] = script.tps if script else None
        found[f"{name}_latency_ms"] = script.latency_ms if script else None
        sketch = packed.get(str(number))
        p90_us = LatencySketch.from_bytes(base64.b64decode(sketch)).quantile(0.9) if sketch else None
        found[f"{name}_latency_p90_ms"] = None if p90_us is None else p90_us / 1000
    tps = found["new_order_tps"]
    found["new_orders_per_minute"] = None if tps is None else tps * 60
    return found


def sketches_in(path: Path) -> Mapping[str, str]:
    """The sketches of each script that the pgbench driver wrote; empty if it wrote none."""
    if not path.exists():
        return {}
    return {str(number): str(text) for number, text in json.loads(path.read_text("utf-8"))["scripts"].items()}
