"""A run over clients with a planted curve: two cores of two hardware threads, and a yardstick that bends alike."""

from pathlib import Path

import numpy as np

from pgassay.record.directory import RunDirectory
from pgassay.record.formats import RunHeader
from pgassay.record.reading import Run
from pgassay.record.values import LevelRecord, TrialRecord
from pgassay.study.document import write
from pgassay.study.responses import Better, Response, Status

CLIENTS = (1, 2, 3, 4, 5, 6, 7, 8)
CORES, PROCESSORS, GAIN = 4, 8, 0.6
READ, WRITE = "load.script=select-only", "load.script=tpcb-like"
CONTENTION, COHERENCY = 0.05, 0.02
BLOCKS = 5
STARTED_NS = 1_700_000_000 * 10**9
SCRIPTS = {"load.script": "select-only"}
STUDY = {
    "study": {"format": 1, "title": "Scaled", "question": "How far?"},
    "conditions": {"load.script": ["tpcb-like", "select-only"]},
    "covariates": {"load.clients": list(CLIENTS)},
    "responses": {"primary": "tps"},
    "design": {"blocks": {"min": 5, "max": 8}},
    "claims": [
        {"text": "bends at the cores", "source": "s", "response": "kink_per_core", "treatment": SCRIPTS, "low": 0.85,
         "high": 1.15},
        {"text": "adds nine tenths", "source": "s", "response": "smt_gain", "treatment": SCRIPTS, "low": 0.9},
        {"text": "computes alike", "source": "s", "response": "smt_gain_of_yardstick", "low": 0.5, "high": 0.75},
    ],
}  # fmt: skip


def make_scaled(
    path: Path, *, cores: int = CORES, processors: int = PROCESSORS, speed: float = 1.0, sysbench: bool = True
) -> Run:
    """Reading bends at four clients and gains 0.6 of a client beyond; writing follows the scalability law."""
    chance = np.random.default_rng(3)
    tps = Response("tps", "transactions per second", "1/s", Better.HIGHER)
    yardstick = Response("cpu_yardstick_per_s", "events of sysbench cpu", "1/s", Better.HIGHER)
    header = RunHeader("scaled", "2026-01-02T03:04:05Z", 1, (tps, yardstick), ("pgassay",), "0.1.0")
    host = {"cpu": {"usable_processors": processors, "cores": cores}}
    with RunDirectory.create(path, header, write(STUDY), host) as run:
        for block in range(1, BLOCKS + 1):
            for script in (READ, WRITE):
                for clients in CLIENTS:
                    _commit(run, block, script, clients, speed * float(np.exp(chance.normal(0.0, 0.01))), sysbench)
        run.finish("all blocks are done")
    return Run.open(path)


def lines(clients: int) -> float:
    return min(clients, CORES) + GAIN * max(0, clients - CORES)


def law(clients: int) -> float:
    return clients / (1 + CONTENTION * (clients - 1) + COHERENCY * clients * (clients - 1))


def _commit(run: RunDirectory, block: int, script: str, clients: int, noise: float, sysbench: bool) -> None:
    staging = run.begin_trial(run.next_number)
    number = staging.number
    levels = {"load.script": script.partition("=")[2], "load.clients": str(clients)}
    record = TrialRecord(
        number=number,
        block=block,
        attempt=1,
        treatment="",
        condition=script,
        covariate=f"load.clients={clients}",
        levels={name: LevelRecord(typed, typed, typed) for name, typed in levels.items()},
        status=Status.VALID,
        started_wall_ns=STARTED_NS + number * 10**10,
        finished_wall_ns=STARTED_NS + number * 10**10 + 9 * 10**9,
        responses={
            "tps": noise * (10_000.0 * lines(clients) if script == READ else 1000.0 * law(clients)),
            "cpu_yardstick_per_s": 2000.0 * lines(clients) * noise if sysbench else None,
            "waits_client_share": 0.1,
            "waits_wal_flush_share": 0.8 if script == WRITE else 0.0,
            "waits_on_cpu_share": 0.1 if script == WRITE else 0.9,
            "cpu_busy_share": min(1.0, clients / CORES),
        },
        regime={"window_s": 60.0, "warmup_s": 0.0, "cache": "warm", "age": "none"},
    )
    run.commit_trial(staging, record, ())
