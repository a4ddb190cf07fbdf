"""pgbench as a load: options to arguments, its three text streams to values.

pgbench has no machine-readable output in any version, so its summary (`summary`), its progress report (`progress`) and
its per-transaction log (`log`) are parsed; what is not understood is an error, never a silent number.
"""

from pgassay.load.pgbench.driver import PgbenchLoad

__all__ = ["PgbenchLoad"]
