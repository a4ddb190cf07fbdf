"""A run of two crossed factors along a covariate, with planted effects and trials that warm up, drift or are flat."""

from pathlib import Path

import numpy as np

from pgassay.record.directory import RunDirectory
from pgassay.record.formats import RunHeader
from pgassay.record.reading import Run
from pgassay.record.values import LevelRecord, TrialRecord
from pgassay.study.document import write
from pgassay.study.responses import Better, Response, Status
from pgassay.testing.planted import Row

PAGES = {"4kB": 1.2, "8kB": 1.0}
WAL = {"16kB": 1.5, "8kB": 1.0}
CLIENTS = {"1": 500.0, "8": 2000.0}
BLOCKS = 6
PROCESSORS = 2
CPU_US = 400.0
STARTED_NS = 1_700_000_000 * 10**9
STUDY = {
    "study": {"format": 1, "title": "Crossed", "question": "Which page, which WAL block?"},
    "factors": {"build.block_size": ["8kB", "4kB"], "build.wal_block_size": ["8kB", "16kB"]},
    "covariates": {"load.clients": ["1", "8"]},
    "responses": {"primary": "tps"},
    "design": {"baseline": {"build.block_size": "8kB", "build.wal_block_size": "8kB"}, "blocks": {"min": 5, "max": 8}},
}


def make_crossed(path: Path) -> Run:
    """4 kB pages multiply by 1.2; by 1.8 where WAL blocks are 16 kB, which by themselves do nothing."""
    chance = np.random.default_rng(11)
    cost = Response("server_cpu_us_per_transaction", "server CPU, per transaction", "us", Better.LOWER, cost=True)
    client = Response("client_cpu_us_per_transaction", "client CPU, per transaction", "us", Better.LOWER, cost=True)
    wal = Response("wal_bytes_per_transaction", "WAL, per transaction", "bytes", Better.LOWER, cost=True)
    tps = Response("tps", "transactions per second", "1/s", Better.HIGHER)
    header = RunHeader("crossed", "2026-01-02T03:04:05Z", 1, (tps, cost, client, wal), ("pgassay",), "0.1.0")
    host = {"cpu": {"usable_processors": PROCESSORS, "cgroup_limit": "max 100000"}}
    with RunDirectory.create(path, header, write(STUDY), host) as run:
        for block in range(1, BLOCKS + 1):
            for clients in CLIENTS:
                for page in PAGES:
                    for wal_block in WAL:
                        _commit(run, block, page, wal_block, clients, chance)
        run.finish("all blocks are done")
    return Run.open(path)


def _commit(
    run: RunDirectory, block: int, page: str, wal_block: str, clients: str, chance: np.random.Generator
) -> None:
    staging = run.begin_trial(run.next_number)
    number = staging.number
    factor = PAGES[page] * (WAL[wal_block] if page == "4kB" else 1.0)
    tps = CLIENTS[clients] * factor * float(np.exp(chance.normal(0.0, 0.005)))
    seconds = tps + chance.normal(0.0, 0.01 * tps, 120)
    if number == 3:
        seconds[:20] *= 0.6
    if number == 4:
        seconds *= np.linspace(0.5, 1.5, 120)
    recorded = {"steadiness": "cyclic", "truncation_s": None, "tps_error": 12.5, "cycle_s": 20.0} if number == 5 else {}
    levels = {"build.block_size": page, "build.wal_block_size": wal_block, "load.clients": clients}
    record = TrialRecord(
        number=number,
        block=block,
        attempt=1,
        treatment=f"build.block_size={page}, build.wal_block_size={wal_block}",
        condition="",
        covariate=f"load.clients={clients}",
        levels={name: LevelRecord(typed, typed, typed) for name, typed in levels.items()},
        status=Status.VALID,
        started_wall_ns=STARTED_NS + number * 10**10,
        finished_wall_ns=STARTED_NS + number * 10**10 + 9 * 10**9,
        responses={
            "tps": tps,
            "server_cpu_us_per_transaction": 0.75 * CPU_US,
            "client_cpu_us_per_transaction": 0.25 * CPU_US,
            "wal_bytes_per_transaction": 900.0,
        },
        regime={"window_s": 60.0, "warmup_s": 0.0, "cache": "warm", "age": "none", **recorded},
    )
    series = [
        Row(second * 10**9, second * 10**9, source, "tps", "1/s", float(value))
        for source in ("pgbench_warmup", "pgbench")
        for second, value in enumerate(seconds if source == "pgbench" else seconds[:5] / 9)
    ]
    run.commit_trial(staging, record, series)
