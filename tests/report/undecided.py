"""A run of the study of FILLFACTOR that leaves speed open while costs settle."""

from collections.abc import Sequence
from pathlib import Path

from pgassay.probe.registry import Probes
from pgassay.record.directory import RunDirectory
from pgassay.record.formats import RunHeader
from pgassay.record.reading import Run
from pgassay.record.values import LevelRecord, TrialRecord
from pgassay.study import builtin
from pgassay.study.document import Overrides, read, resolve, write
from pgassay.study.responses import Better, Response, Status

FACTOR = "table.fillfactor"
FAST_75 = (1.45, 0.90, 1.30, 1.02, 1.22, 1.05)
"""Throughput of 75 against that of 100, block by block: about 15 % more, and far from shown."""
CLEAR_75 = (1.180, 1.120, 1.160, 1.140, 1.150, 1.130)
"""The same, shown to be more than nothing, and not whether it is more than 15 %."""
SLOW_50 = (0.80, 1.20, 1.05, 0.93, 1.10, 0.97)
WAL = {"100": 10_884.0, "75": 5_643.0, "50": 3_838.0}
SIZE = {"100": 311.5e6, "75": 392.9e6, "50": 575.5e6}
P99 = {"100": 7.1, "75": 6.4, "50": 6.2}


def make_undecided(path: Path, fast: Sequence[float] = FAST_75, primary: str = "tps") -> Run:
    """Six blocks of the quick size; the machine's own speed differs between blocks."""
    overrides = Overrides(size="quick", primary=primary)
    document = resolve("fillfactor", read("fillfactor", builtin.find("fillfactor")[1]), overrides)
    declared = (
        Response("tps", "transactions per second", "1/s", Better.HIGHER),
        Response("latency_p99_ms", "99th percentile of latency", "ms", Better.LOWER),
        *Probes().responses,
    )
    header = RunHeader("fillfactor", "2026-01-02T03:04:05Z", 1, declared, ("pgassay", "run", "fillfactor"), "0.1.0")
    host = {"cpu": {"usable_processors": 2, "cores": 2}}
    with RunDirectory.create(path, header, write(document), host) as run:
        for block, gain in enumerate(fast):
            common = (4000.0, 4400.0, 3600.0, 4100.0, 3900.0, 4250.0)[block]
            tps = {"100": common, "75": common * gain, "50": common * SLOW_50[block]}
            for level, speed in tps.items():
                _commit(run, block, level, speed)
        run.finish("the next block does not fit in the budget of 3 min")
    return Run.open(path)


def _commit(run: RunDirectory, block: int, level: str, speed: float) -> None:
    staging = run.begin_trial(run.next_number)
    number, by_turns = staging.number, 1.0 + 0.004 * (block % 3 - 1) * (1 if level == "75" else -1)
    started_ns = 1_700_000_000 * 10**9 + number * 10**10
    responses: dict[str, float | None] = {
        "tps": speed,
        "latency_p99_ms": P99[level] * (1.0 + 0.05 * (block % 2)),
        "wal_bytes_per_transaction": WAL[level] * by_turns,
        "hot_share": (0.446 if level == "100" else 0.998) + 0.002 * (block % 2),
        "database_bytes": SIZE[level] * by_turns,
        "table_bytes": SIZE[level] * by_turns * 0.85,
        "disk_flushes_per_transaction": 0.15 * by_turns,
        "server_cpu_us_per_transaction": 260.0 * by_turns,
        "client_cpu_us_per_transaction": 90.0 * by_turns,
        "wait_share_wal_flush": 0.5,
        "wait_share_client": 0.3,
        "wait_share_on_cpu": 0.1,
    }
    record = TrialRecord(
        number=number,
        block=block + 1,
        attempt=1,
        treatment=f"{FACTOR}={level}",
        condition="",
        covariate="",
        levels={FACTOR: LevelRecord(level, level, level)},
        status=Status.VALID,
        started_wall_ns=started_ns,
        finished_wall_ns=started_ns + 9 * 10**9,
        responses=responses,
        regime={
            "window_s": 8.0,
            "warmup_s": 1.0,
            "checkpoint": "wal",
            "checkpoint_cycles": 3.0,
            "cache": "prewarmed",
            "age": "none",
        },
    )
    run.commit_trial(staging, record, [])
