"""sysbench's options as factors; `load.scenario` and `load.threads` serve well as conditions.

The scenario has a word of its own, not `load.script`, since it names one of sysbench's tests and never a file.
"""

from pgassay.bench.factor import Stage
from pgassay.load import shared_factors as shared
from pgassay.load.load_factor import LoadFactor, choice, count, switch
from pgassay.load.sysbench.options import DISTRIBUTIONS, SCENARIOS

_TABLES = "FROM pg_class WHERE relkind = 'r' AND relname ~ '^sbtest[0-9]+$'"
_INDEXES = "FROM pg_class WHERE relkind = 'i' AND relname ~ '^k_[0-9]+$'"

FACTORS = (
    LoadFactor("tables", count, "sysbench --tables: sbtest1 …", Stage.DATA, asked=f"SELECT count(*) {_TABLES}"),
    LoadFactor("rows", count, "sysbench --table_size: rows of each table (about 220 bytes)", Stage.DATA, ("sbtest1",)),
    LoadFactor(
        "secondary_index",
        switch,
        "sysbench --create_secondary: an index on k beside the primary key",
        Stage.DATA,
        asked=f"SELECT CASE WHEN count(*) > 0 THEN 'on' ELSE 'off' END {_INDEXES}",
    ),
    LoadFactor("scenario", choice(*SCENARIOS), f"sysbench's test: {', '.join(SCENARIOS)}"),
    shared.THREADS,
    LoadFactor("distribution", choice(*DISTRIBUTIONS), "sysbench --rand-type: which rows are picked"),
    shared.PROTOCOL,
    shared.TRANSACTIONS,
    shared.RATE,
)
