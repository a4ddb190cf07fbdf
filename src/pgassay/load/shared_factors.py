"""The options that every driver has, and those that several share, as factors from their one description."""

from pgassay.bench.load import LoadOptions
from pgassay.bench.options import OptionFactor, factors_of
from pgassay.load.options import PgbenchClientOptions, ThreadedOptions, WarehouseOptions

EVERY = factors_of(LoadOptions)
_SHARED: dict[str, OptionFactor] = {
    each.option.name: each
    for of in (PgbenchClientOptions, ThreadedOptions, WarehouseOptions)
    for each in factors_of(of)
}
PROTOCOL = _SHARED["protocol"]
CLIENTS = _SHARED["clients"]
WAREHOUSES = _SHARED["warehouses"]
THREADS = _SHARED["threads"]
JOBS = _SHARED["jobs"]
TRANSACTIONS = _SHARED["transactions"]
RATE = _SHARED["rate"]
LATENCY_LIMIT = _SHARED["latency_limit"]
MAX_TRIES = _SHARED["max_tries"]
KEEP_LOG = _SHARED["keep_log"]
