"""`bench.load.Load` by five pgbench scripts and a PL/pgSQL function each: pgbench is wherever PostgreSQL is.

What pgbench tells of each script becomes a rate and latency by type; the consistency conditions are asked after the
window, when every counter has been read (`verify`).
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pgassay.bench.errors import LoadError
from pgassay.bench.load import LoadResult
from pgassay.bench.running import Clock, Runner
from pgassay.bench.server import Server
from pgassay.load.pgbench.driver import PgbenchLoad
from pgassay.load.pgbench.summary import parse_summary
from pgassay.load.tpcc import preparing, responses
from pgassay.load.tpcc.options import read_options
from pgassay.load.tpcc.tables import TpccTables
from pgassay.study.responses import Response

_ECHOED = ("clients", "jobs", "protocol", "duration", "transactions", "max_tries")


class TpccLoad(TpccTables):
    """TPC-C-like, not audited."""

    def __init__(self, bindir: Path, runner: Runner, clock: Clock) -> None:
        self._pgbench = PgbenchLoad(bindir, runner, clock)

    @property
    def name(self) -> str:
        """`tpcc`."""
        return "tpcc"

    @property
    def responses(self) -> tuple[Response, ...]:
        """What it can yield."""
        return responses.RESPONSES

    def check(self, options: Mapping[str, str]) -> None:
        """Refuse what cannot run; raises `UsageError`."""
        self._pgbench.check(read_options(options).pgbench)

    def create(self, server: Server, options: Mapping[str, str]) -> None:
        """Create the empty tables with their indexes, and the functions."""
        super().create(server, options)
        preparing.create_functions(server)

    def warehouses(self, options: Mapping[str, str]) -> int:
        """`load.warehouses`, with all other options checked; raises `UsageError`."""
        return read_options(options).warehouses

    def run(self, server: Server, options: Mapping[str, str], output: Path, seed: int) -> LoadResult:
        """Run the mix; every raw output of pgbench goes to `output`. A warm-up is a run of its own."""
        result = self._pgbench.run(server, read_options(options).pgbench, output, seed)
        found = dict(result.responses)
        try:
            said = parse_summary((output / "pgbench.out").read_text(encoding="utf-8"))
        except LoadError:
            pass  # pgbench's driver has named the problem
        else:
            found |= responses.of_scripts(said, responses.sketches_in(output / "pgbench_latency.json"))
        told = {name: result.read_back[f"load.{name}"] for name in _ECHOED if f"load.{name}" in result.read_back}
        return replace(
            result,
            responses=responses.complete(found),
            series=tuple(replace(sample, source=self.name) for sample in result.series),
            read_back={f"load.{name}": value for name, value in told.items()},
        )
