"""The options that several drivers understand, each one object, and those that every driver has.

`EVERY` is done by the lab or means the same for any program; a driver adds from the others what it knows, by listing
them in its own `factors.py`.
"""

from pgassay.bench.factor import Stage
from pgassay.load.load_factor import (
    LoadFactor,
    choice,
    count,
    count_or_clients,
    length,
    length_or_nothing,
    limit,
    optional_count,
    rate,
    switch,
)
from pgassay.load.placing import parse_cores
from pgassay.load.yardstick import YARDSTICKS

CACHES = ("cold", "warm", "prewarmed")
CHECKPOINTS = ("cycle", "wal", "none")
PROTOCOLS = ("simple", "extended", "prepared")

EVERY = (
    LoadFactor("duration", length, "length of the measured window (pgbench -T, sysbench --time)"),
    LoadFactor("warmup", length_or_nothing, "length of a run of its own before the window"),
    LoadFactor("cache", choice(*CACHES), "the cache state that a window starts from"),
    LoadFactor("checkpoint", choice(*CHECKPOINTS), "whole checkpoint cycles by time or by WAL, or the burst after one"),
    LoadFactor("yardstick", choice(*YARDSTICKS), "what is measured after each window: sysbench cpu, where installed"),
    LoadFactor("vacuum", switch, "VACUUM before the window"),
    LoadFactor("page_space", switch, "read how much of the tables' pages is free, before the window and after it"),
    LoadFactor("compressibility", switch, "after the window, compress a sample of tables, indexes and WAL"),
    LoadFactor("maintenance", switch, "after the window, time a CHECKPOINT and a VACUUM of every page"),
)

PROTOCOL = LoadFactor("protocol", choice(*PROTOCOLS), "pgbench -M: how statements are sent")
CLIENTS = LoadFactor("clients", count, "pgbench -c: concurrent connections")
CORES = LoadFactor("cores", parse_cores, "CPUs of the program: all, a list 2-3, or rest: those not the server's")
WAREHOUSES = LoadFactor(
    "warehouses",
    count,
    "warehouses of TPC-C (about 110 MB each)",
    Stage.DATA,
    ("warehouse", "warehouse1"),
)
THREADS = LoadFactor("threads", count, "threads of the program: sysbench's connections, fio's jobs")
JOBS = LoadFactor("jobs", count_or_clients, "pgbench -j: threads of the program; clients for as many as there are")
TRANSACTIONS = LoadFactor(
    "transactions", optional_count, "pgbench -t: of each client, instead of a duration", optional=True
)
RATE = LoadFactor("rate", rate, "transactions per second offered, open loop; none for as many as possible")
LATENCY_LIMIT = LoadFactor(
    "latency_limit", limit, "pgbench -L: slower transactions count as late, or are skipped at a rate"
)
MAX_TRIES = LoadFactor("max_tries", count, "pgbench --max-tries: tries after serialization failures and deadlocks")
KEEP_LOG = LoadFactor("keep_log", switch, "keep pgbench's per-transaction log, compressed")
