"""pgbench as a load: options to arguments, its three text streams to values.

pgbench has no machine-readable output in any version, so its summary and progress (`output`) and its per-transaction
log (`log`) are parsed; what is not understood is an error, never a silent number.
"""

from pgassay.bench.load import Driver, Load, Tools
from pgassay.load.pgbench.options import PgbenchOptions


def _make(options: PgbenchOptions, tools: Tools) -> Load:
    from pgassay.load.pgbench.driver import PgbenchLoad

    return PgbenchLoad(options, tools)


DRIVER = Driver(PgbenchOptions, _make, "PostgreSQL's own benchmark, or your scripts in it")
