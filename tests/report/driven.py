"""A run of the study of FILLFACTOR on two drives, with planted effects."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from pgassay.probe.registry import Probes
from pgassay.record.directory import RunDirectory
from pgassay.record.formats import RunHeader
from pgassay.record.reading import Run
from pgassay.record.values import LevelRecord, TrialRecord
from pgassay.study import builtin
from pgassay.study.document import Overrides, read, resolve, write
from pgassay.study.responses import Better, Response, Status

BLOCKS = 6
MB = float(1 << 20)
PHYSICAL = {("ssd", "100"): 500 * MB, ("ssd", "75"): 600 * MB, ("csd", "100"): 230 * MB, ("csd", "75"): 235 * MB}
QPS = {"oltp_update_non_index": {"100": 1000.0, "75": 1200.0}, "oltp_delete": {"100": 2000.0, "75": 2000.0}}
WAL = {"oltp_update_non_index": {"100": 4000.0, "75": 2500.0}, "oltp_delete": {"100": 900.0, "75": 900.0}}
HOT = {"100": 0.30, "75": 0.90}
WA = {"ssd": 1.5, "csd": 0.6}
HEAP_RATIO = 2.2
STARTED_NS = 1_700_000_000 * 10**9

RATIO = Response("heap_compression_ratio", "logical / compressed bytes of tables", "ratio", Better.HIGHER)


def make_driven(path: Path, named: Mapping[str, str] | None = None) -> Run:
    """Six blocks of the quick size; trials of one block share their noise. The drives may be `named` otherwise."""
    levels = (f"drive.data={','.join(named.values())}",) if named else ()
    name = "fillfactor-drive"
    document = resolve(name, read(name, builtin.find(name)[1]), Overrides(size="quick", levels=levels))
    qps = Response("qps", "queries per second", "1/s", Better.HIGHER)
    tps = Response("tps", "transactions per second", "1/s", Better.HIGHER)
    header = RunHeader(
        name, "2026-01-02T03:04:05Z", 1, (qps, tps, RATIO, *Probes().responses), ("pgassay", "run", name), "0.1.0"
    )
    chance = np.random.default_rng(7)
    with RunDirectory.create(path, header, write(document), {"cpu": {"model": "planted"}}) as run:
        for block in range(1, BLOCKS + 1):
            common = float(chance.normal(0.0, 0.05))
            for scenario in QPS:
                for drive, fill in PHYSICAL:
                    _commit(run, block, scenario, (drive, (named or {}).get(drive, drive)), fill, common, chance)
        run.finish("all blocks are done")
    return Run.open(path)


def _commit(
    run: RunDirectory,
    block: int,
    scenario: str,
    drives: tuple[str, str],
    fill: str,
    common: float,
    chance: np.random.Generator,
) -> None:
    """A trial on the drive that is like the first of `drives`, and named like the second."""
    drive, named = drives

    def around(value: float, share: float = 0.005) -> float:
        return value * float(np.exp(chance.normal(0.0, share)))

    staging = run.begin_trial(run.next_number)
    number = staging.number
    updates = scenario == "oltp_update_non_index"
    speed = around(QPS[scenario][fill] * float(np.exp(common)))
    responses: dict[str, float | None] = {
        "physical_bytes": around(PHYSICAL[drive, fill], 0.001),
        "qps": speed,
        "tps": speed,
        "wal_bytes_per_transaction": around(WAL[scenario][fill]),
        "hot_share": around(HOT[fill], 0.002) if updates else None,
        "write_amplification": around(WA[drive]),
        "nand_bytes_per_transaction": around(9000.0 * WA[drive]),
        "heap_compression_ratio": HEAP_RATIO,
    }
    levels = {"drive.data": named, "drive.timing": "off", "table.fillfactor": fill, "load.scenario": scenario}
    record = TrialRecord(
        number=number,
        block=block,
        attempt=1,
        treatment=f"drive.data={named}, table.fillfactor={fill}",
        condition=f"load.scenario={scenario}, load.threads=4",
        covariate="",
        levels={each: LevelRecord(typed, typed, typed) for each, typed in levels.items()},
        status=Status.VALID,
        started_wall_ns=STARTED_NS + number * 10**10,
        finished_wall_ns=STARTED_NS + number * 10**10 + 9 * 10**9,
        responses=responses,
        counters={
            "stored.heap_logical_bytes": 200 * MB,
            "stored.heap_compressed_bytes": 200 * MB / HEAP_RATIO,
            "stored.wal_logical_bytes": 64 * MB,
            "stored.wal_compressed_bytes": 16 * MB,
        },
        regime={"window_s": 10.0, "warmup_s": 2.0, "cache": "prewarmed", "age": "none"},
    )
    run.commit_trial(staging, record, ())
