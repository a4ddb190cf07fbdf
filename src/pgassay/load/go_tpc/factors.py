"""go-tpc's options as factors: those that the tpcc load and sysbench have too, under the same names."""

from pgassay.load import shared_factors as shared

FACTORS = (shared.WAREHOUSES, shared.THREADS, shared.TRANSACTIONS)
