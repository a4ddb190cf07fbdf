"""Ageing pgbench's data: as many updates as asked for, in random order, with vacuum in between, as in a server's life.

Batches of random rows in transactions of their own let pruning and HOT work between them; a VACUUM follows each fifth
of the rows, as autovacuum's default scale factor would have it. Much quicker than single-row transactions, and the same
for every treatment: the random numbers come from a fixed seed.
"""

from pgassay.bench.server import Server

BATCH_SHARE = 0.01
"""Rows of one transaction, as a share of the table: about half a row in each page."""
VACUUM_SHARE = 0.2
"""autovacuum_vacuum_scale_factor's default."""
_SEED = 0.42
_ROWS_PER_SCALE = 100_000

_SWEEP = (
    "WITH picked AS (SELECT DISTINCT 1 + floor(random() * %s)::int AS aid FROM generate_series(1, %s)),"
    " worn AS (UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid IN (SELECT aid FROM picked) RETURNING 1)"
    " SELECT count(*) FROM worn"
)


def age(server: Server, scale: int, multiple: float) -> int:
    """Update `multiple` times as many rows as the table has; returns how many updates were made."""
    rows = scale * _ROWS_PER_SCALE
    target = round(rows * multiple)
    batch = max(1, round(rows * BATCH_SHARE))
    done = vacuumed = 0
    server.query("SELECT setseed(%s)", (_SEED,))
    while done < target:
        done += int(server.query(_SWEEP, (rows, min(batch, target - done)))[0][0])
        if done - vacuumed >= rows * VACUUM_SHARE:
            server.execute("VACUUM pgbench_accounts")
            vacuumed = done
    server.execute("VACUUM (ANALYZE) pgbench_accounts")
    return done
