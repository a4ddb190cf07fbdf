"""tpcc's options as factors: the number of warehouses, and pgbench's own for what plays the scripts."""

from pgassay.load import shared_factors as shared

FACTORS = (
    shared.WAREHOUSES,
    shared.PROTOCOL,
    shared.CLIENTS,
    shared.JOBS,
    shared.TRANSACTIONS,
    shared.RATE,
    shared.LATENCY_LIMIT,
    shared.MAX_TRIES,
    shared.KEEP_LOG,
)
