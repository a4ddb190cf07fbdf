"""sysbench-tpcc's options as factors; where its Lua files lie is one of them, since nothing installs them."""

from pgassay.load import shared_factors as shared
from pgassay.load.load_factor import LoadFactor, path

FACTORS = (
    shared.WAREHOUSES,
    shared.THREADS,
    shared.PROTOCOL,
    shared.TRANSACTIONS,
    LoadFactor("lua", path, "folder of sysbench-tpcc's Lua files; none for that of a tpcc.lua in PATH", optional=True),
)
