"""A load like TPC-C's (specification 5.11): nine tables, five transactions and their mix, written from its text.

It is not audited and its results are no tpmC: no keying or think times, no terminals, and a database as small as asked.
"""

from pgassay.load.tpcc.driver import TpccLoad

__all__ = ["TpccLoad"]
