"""Small runs for tests: a header, trials with plausible contents, and a way to write them on any disk."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from pgassay.record.directory import RunDirectory
from pgassay.record.disk import Disk
from pgassay.record.formats import RunHeader
from pgassay.record.trials import Staging
from pgassay.record.values import LevelRecord, Reason, TrialRecord
from pgassay.study.responses import Better, Response, Status
from pgassay.testing.planted import Row
from tests.fakes.disk import FakeDisk

STUDY = '[study]\nformat = 1\ntitle = "Page size"\n'
HOST = {"cpu": {"model": "any", "cores": 2}, "governor": None}
HEADER = RunHeader(
    study="page-size",
    started_utc="2026-01-02T03:04:05Z",
    seed=42,
    responses=(
        Response("tps", "transactions a second", "1/s", Better.HIGHER),
        Response("wal_bytes_per_transaction", "WAL", "B", Better.LOWER, cost=True),
    ),
    command=("pgassay", "run", "page-size"),
    program_version="0.1.0",
)
ROOT = Path("/runs")
RUN = ROOT / "page-size"


def series(number: int, rows: int = 3) -> list[Row]:
    """A counter that grows, and one that is not available."""
    return [
        row
        for second in range(rows)
        for row in (
            Row(second * 10**9, 10**18 + second * 10**9, "pgbench", "transactions", "1", 100.0 * number + second),
            Row(second * 10**9, 10**18 + second * 10**9, "smart", "nand_bytes", "B", None),
        )
    ]


def trial(number: int, status: Status = Status.VALID, tps: float | None = 1000.0) -> TrialRecord:
    """Trial `number` of two treatments in turn."""
    size = ("4kB", "8kB")[number % 2]
    return TrialRecord(
        number=number,
        block=(number + 1) // 2,
        attempt=1,
        treatment=f"build.block_size={size}",
        condition="",
        covariate="load.clients=4",
        levels={"build.block_size": LevelRecord(size, str(int(size[0]) * 1024), str(int(size[0]) * 1024))},
        status=status,
        started_wall_ns=10**18 + number,
        finished_wall_ns=10**18 + number + 60 * 10**9,
        responses={"tps": tps, "wal_bytes_per_transaction": 512.5},
        reasons=() if status is Status.VALID else (Reason("steal", "9 % of CPU time was stolen"),),
        seed=number * 7,
    )


def clock() -> Callable[[], int]:
    """A wall clock that moves by a second with every look."""
    moments: Iterator[int] = iter(range(10**18, 2 * 10**18, 10**9))
    return lambda: next(moments)


def fake_disk() -> FakeDisk:
    """A fake disk with the directory that is to hold runs."""
    disk = FakeDisk()
    disk.make_root(ROOT)
    return disk


def create(
    disk: Disk, path: Path = RUN, host: Mapping[str, object] = HOST, beside: Mapping[str, bytes] | None = None
) -> RunDirectory:
    """A new run."""
    return RunDirectory.create(path, HEADER, STUDY, host, disk, clock(), beside)


def tool_writes(disk: Disk, path: Path, data: bytes) -> None:
    """What pgbench does to its log: written, never fsynced."""
    if isinstance(disk, FakeDisk):
        disk.tool_writes(path, data)
    else:
        path.write_bytes(data)


def stage(disk: Disk, run: RunDirectory, number: int) -> Staging:
    """Begin a trial and let a tool write its output."""
    staging = run.begin_trial(number)
    tool_writes(disk, staging.path / "pgbench.out", f"tps = {number}\n".encode() * 50)
    return staging


def commit(disk: Disk, run: RunDirectory, number: int) -> Path:
    """A whole trial."""
    return run.commit_trial(stage(disk, run, number), trial(number), series(number))
