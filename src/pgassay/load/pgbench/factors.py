"""pgbench's options as factors. What the loaded data depend on is of the data stage and part of a snapshot's key."""

from pgassay.bench.factor import Stage
from pgassay.load import shared_factors as shared
from pgassay.load.load_factor import LoadFactor, choice, count, multiple, path, row_bytes
from pgassay.load.pgbench.rows import READ_BYTES, READ_STORAGE, STORAGES
from pgassay.load.pgbench.scripts import parse_scripts, show_scripts


def _script(name: str, typed: str) -> str:
    return show_scripts(parse_scripts(typed))


FACTORS = (
    LoadFactor("scale", count, "pgbench -s: 100 000 accounts (about 15 MB) each", Stage.DATA, ("pgbench_branches",)),
    LoadFactor("age", multiple, "updates of every row before the snapshot: none, 2x …", Stage.DATA),
    LoadFactor("init", path, "your own schema and data: SQL for psql or a dump for pg_restore", Stage.DATA),
    LoadFactor(
        "row_bytes",
        row_bytes,
        "bytes of an account's row: 100 is pgbench's own, at most a page",
        Stage.DATA,
        asked=READ_BYTES,
    ),
    LoadFactor(
        "row_storage",
        choice(*STORAGES),
        "wide rows plain in their page, or toasted out of it",
        Stage.DATA,
        asked=READ_STORAGE,
    ),
    LoadFactor("script", _script, "tpcb-like, simple-update, select-only, or files with weights: a.sql@3,b.sql@1"),
    shared.PROTOCOL,
    shared.CLIENTS,
    shared.JOBS,
    shared.CORES,
    shared.TRANSACTIONS,
    shared.RATE,
    shared.LATENCY_LIMIT,
    shared.MAX_TRIES,
    shared.KEEP_LOG,
)
