"""A load like TPC-C's (specification 5.11): nine tables, five transactions and their mix, written from its text.

It is not audited and its results are no tpmC: no keying or think times, no terminals, and a database as small as asked.
"""

from pgassay.bench.load import Driver, Load, Tools
from pgassay.load.tpcc.options import TpccOptions


def _make(options: TpccOptions, tools: Tools) -> Load:
    from pgassay.load.tpcc.driver import TpccLoad

    return TpccLoad(options, tools)


DRIVER = Driver(TpccOptions, _make, "nine tables and five transactions like TPC-C's, not audited, played by pgbench")
