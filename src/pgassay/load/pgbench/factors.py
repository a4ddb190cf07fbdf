"""pgbench's options as factors, from their one description."""

from pgassay.bench.options import factors_of
from pgassay.load.pgbench.options import PgbenchOptions

FACTORS = factors_of(PgbenchOptions)
