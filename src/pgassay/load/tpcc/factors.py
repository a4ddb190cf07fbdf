"""tpcc's options as factors: the number of warehouses, and pgbench's own for what plays the scripts."""

from pgassay.bench.factor import Stage
from pgassay.load import shared_factors as shared
from pgassay.load.load_factor import LoadFactor, count

FACTORS = (
    LoadFactor("warehouses", count, "warehouses of the tpcc load (about 110 MB each)", Stage.DATA, "warehouse"),
    shared.PROTOCOL,
    shared.CLIENTS,
    shared.JOBS,
    shared.TRANSACTIONS,
    shared.RATE,
    shared.LATENCY_LIMIT,
    shared.MAX_TRIES,
    shared.KEEP_LOG,
)
