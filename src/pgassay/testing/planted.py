"""A whole run with planted effects on a fake disk or a real one: what a report must find is known beforehand."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pgassay.probe.registry import Probes
from pgassay.record.directory import RunDirectory
from pgassay.record.formats import RunHeader
from pgassay.record.journal import Decision, Step
from pgassay.record.reading import Run
from pgassay.record.values import LevelRecord, Reason, TrialRecord
from pgassay.study import builtin
from pgassay.study.document import Overrides, read, resolve, write
from pgassay.study.responses import Better, Response, Status

FACTOR = "table.fillfactor"
TPS = {"100": 1000.0, "75": 1200.0, "50": 1001.0}
WAL = {"100": 4000.0, "75": 2500.0, "50": 4000.0}
HOT = {"100": 0.30, "75": 0.90, "50": 0.30}
SIZE = {"100": 100e6, "75": 125e6, "50": 200e6}
BLOCKS = 8


@dataclass(frozen=True)
class Row:
    monotonic_ns: int
    wall_ns: int
    source: str
    name: str
    unit: str
    value: float | None


@dataclass(frozen=True)
class Where:
    """The host of a block, how many times better 75 is there and then, and on which day it ran."""

    host: str = ""
    better: float = 1.0
    day: float = 0.0


def make_run(
    path: Path,
    *,
    finished: bool = True,
    discarded: bool = True,
    fixed: Sequence[str] = (),
    more: Mapping[str, Mapping[str, float]] | None = None,
    hosts: Mapping[str, float] | None = None,
    days: float = 0.0,
    drift: float = 1.0,
    kept: Mapping[str, bytes] | None = None,
    levels: Mapping[str, LevelRecord] | None = None,
) -> Run:
    """Eight blocks of the quick fillfactor study: 75 is 20 % better, 50 the same within 0.1 %.

    `fixed` as by --set; `more` responses, each by level. `hosts` run the blocks in turn: 75 is so many times better on
    each of them. Blocks are `days` apart, and 75 is `drift` times better each day.
    Each trial has the files `kept`, and further `levels` that all share.
    """
    overrides = Overrides(size="quick", fixed=fixed)
    document = resolve("fillfactor", read("fillfactor", builtin.find("fillfactor")[1]), overrides)
    header = RunHeader(
        study="fillfactor",
        started_utc="2026-01-02T03:04:05Z",
        seed=1,
        responses=(
            Response("tps", "transactions per second", "1/s", Better.HIGHER),
            Response("latency_p99_ms", "99th percentile of latency", "ms", Better.LOWER),
            *Probes().responses,
        ),
        command=("pgassay", "run", "fillfactor", "--quick"),
        program_version="0.1.0",
    )
    host: dict[str, object] = {
        "cpu": {"model": "planted"}, "mounts": [{"path": "/x", "filesystem": "ext4"}], "swap": None,
    }  # fmt: skip
    if hosts:
        kernels = {name: {"facts": {"cpu": {"model": "planted"}, "kernel": {"release": name}}} for name in hosts}
        host["fleet"] = kernels
    chance = random.Random("report")
    with RunDirectory.create(path, header, write(document), host) as run:
        if discarded:
            _commit(run, 1, "100", chance, Status.INVALID)
        named = tuple((hosts or {"": 1.0}).items())
        for block in range(1, BLOCKS + 1):
            noise = chance.gauss(0, 0.10)
            for level in TPS:
                name, better = named[block % len(named)]
                day = days * block
                where = Where(name, better * drift**day, day)
                _commit(run, block, level, chance, Status.VALID, noise, more, where, kept, levels)
        if discarded:
            _commit(run, BLOCKS, "50", chance, Status.OUTCOME)
        run.decide(Decision(Step.STOP, "0" * 64, 1.0, 1.0, reason="every verdict is settled").as_data())
        if finished:
            run.finish("every verdict is settled")
    return Run.open(path)


def _commit(
    run: RunDirectory,
    block: int,
    level: str,
    chance: random.Random,
    status: Status,
    noise: float = 0.0,
    more: Mapping[str, Mapping[str, float]] | None = None,
    where: "Where | None" = None,
    kept: Mapping[str, bytes] | None = None,
    levels: Mapping[str, LevelRecord] | None = None,
) -> None:
    staging = run.begin_trial(run.next_number)
    for name, content in (kept or {}).items():
        (staging.path / name).write_bytes(content)
    where = where or Where()
    factor = (1 + noise + chance.gauss(0, 0.004)) * (where.better if level == "75" else 1.0)
    responses: dict[str, float | None] = {
        "tps": TPS[level] * factor,
        "latency_p99_ms": 4000 / (TPS[level] * factor),
        "wal_bytes_per_transaction": WAL[level] * (1 + chance.gauss(0, 0.005)),
        "hot_share": HOT[level] + chance.gauss(0, 0.003),
        "database_bytes": SIZE[level] * 1.2,
        "table_bytes": SIZE[level] * (1 + chance.gauss(0, 0.001)),
        "full_page_images_per_transaction": None,
        **{name: values[level] * (1 + chance.gauss(0, 0.001)) for name, values in (more or {}).items()},
    }
    number = staging.number
    started = 1_700_000_000_000_000_000 + number * 10_000_000_000 + round(where.day * 86_400 * 10**9)
    record = TrialRecord(
        number=number,
        block=block,
        attempt=1,
        host=where.host,
        treatment=f"{FACTOR}={level}",
        condition="",
        covariate="",
        levels={
            FACTOR: LevelRecord(level, level, level), "load.cache": LevelRecord("prewarmed", "prewarmed"),
            **(levels or {}),
        },
        status=status,
        started_wall_ns=started,
        finished_wall_ns=started + 9_000_000_000,
        responses=responses if status is Status.VALID else {},
        reasons=() if status is Status.VALID else (Reason("steal" if status is Status.INVALID else "aborted", "why"),),
        settings={"shared_buffers": "512MB", "work_mem": "4MB" if level == "100" else "8MB"},
        regime={
            "window_s": 8.0, "warmup_s": 1.0, "checkpoint": "wal", "checkpoint_cycles": 3.0 if level == "100" else 1.0,
            "cache": "prewarmed", "age": "none",
        },
    )  # fmt: skip
    series = [
        Row(second * 10**9, started + second * 10**9, "pgbench", "tps", "1/s", TPS[level]) for second in range(1, 9)
    ]
    run.commit_trial(staging, record, series)
