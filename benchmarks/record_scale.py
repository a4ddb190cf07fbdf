"""Does the record of a very large run stay quick? Times of writing, compacting, opening and reading synthetic trials.

13 554 trials is the largest published study that pgassay repeats. Reading is timed with and without the compacted
files, in turn, and the ratio printed. Writing is fsynced, so its time is mostly the drive's.

    python -m benchmarks.record_scale [--trials 13554] [--seconds 60] [--directory DIR]
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

from pgassay.analysis.observations import observe
from pgassay.record import series
from pgassay.record.directory import RunDirectory
from pgassay.record.formats import RunHeader
from pgassay.record.reading import Run
from pgassay.record.series import Sampled
from pgassay.record.values import LevelRecord, TrialRecord
from pgassay.study.responses import Better, Response, Status

ROUNDS = 3
METERS = 20


class Row:
    """A row of a synthetic series."""

    unit = "1"
    source = "synthetic"

    def __init__(self, second: int, meter: int) -> None:
        self.monotonic_ns = second * 1_000_000_000
        self.wall_ns = 1_700_000_000_000_000_000 + self.monotonic_ns
        self.name = f"meter_{meter}"
        self.value = float(second * (meter + 1))


def record(number: int) -> TrialRecord:
    """A trial with as many levels, responses and counters as a real one."""
    arm = number % 54
    return TrialRecord(
        number=number,
        block=number // 54 + 1,
        attempt=1,
        treatment=f"build.block_size={arm % 6}kB",
        condition=f"load.script=s{arm // 6}",
        covariate="load.clients=4",
        levels={f"server.setting_{count}": LevelRecord("8kB", "8192", "8192") for count in range(10)},
        status=Status.VALID,
        started_wall_ns=number * 10**9,
        finished_wall_ns=number * 10**9 + 60,
        responses={f"response_{count}": number * 1.25 + count for count in range(20)},
        counters={f"pg_stat_wal.counter_{count}": float(count * number) for count in range(60)},
        settings={f"setting_{count}": "on" for count in range(20)},
        seed=number,
    )


def timed(what: str, work: Callable[[], object]) -> float:
    """Run it, print how long it took, return that in seconds."""
    started = time.perf_counter()
    work()
    took_s = time.perf_counter() - started
    print(f"{what:58s} {took_s:9.3f} s")
    return took_s


def rows_of(seconds: int) -> list[Sampled]:
    """A trial's series: every meter, every second."""
    return [Row(second, meter) for second in range(seconds) for meter in range(METERS)]


def make(path: Path, trials: int, seconds: int) -> None:
    """Write a synthetic run, compacting on the way as the lab does, but without fsync: it would take an hour."""
    header = RunHeader(
        "synthetic", "2026-01-01T00:00:00Z", 1, (Response("tps", "tps", "1/s", Better.HIGHER),), (), "0.1.0"
    )
    rows = rows_of(seconds)
    with patch("os.fsync"), RunDirectory.create(path, header, "[study]\nformat = 1\n", {}) as run:
        for number in range(1, trials + 1):
            run.commit_trial(run.begin_trial(number), record(number), rows)
        run.finish("all written")


def read_all(path: Path) -> None:
    """What a report does first: every trial's values of one response."""
    run = Run.open(path)
    assert len(observe(run.trials, "response_1")) == len(run.numbers)


def count_series(path: Path) -> None:
    """Touch every row of every series."""
    Run.open(path).series().select("value").count().collect()


def forget(path: Path) -> None:
    """Drop the run's files from the page cache (names stay cached), as after a reboot."""
    for file in path.rglob("*"):
        if file.is_file():
            descriptor = os.open(file, os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)


def compare(path: Path, what: str, read: Callable[[Path], None]) -> float:
    """Read with and without the index in turn, cold and warm; the cold ratio."""
    index = path / series.INDEX_FILE
    cold: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(ROUNDS):
        for compacted in (True, False):
            aside = index if compacted else index.rename(index.with_suffix(".aside"))
            source = "compacted" if compacted else "own files"
            forget(path)
            cold[compacted].append(timed(f"read all {what}, {source}, out of the page cache", lambda: read(path)))
            timed(f"read all {what}, {source}, in the page cache", lambda: read(path))
            aside.rename(index)
    return statistics.median(cold[False]) / statistics.median(cold[True])


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=13_554)
    parser.add_argument("--seconds", type=int, default=60, help="rows of series per meter and trial")
    parser.add_argument(
        "--directory", type=Path, default=None, help="where to write (default: the temporary directory)"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory, prefix="record-scale-") as place:
        path = Path(place) / "run"
        print(f"{options.trials} trials, {METERS * options.seconds} rows of series each")
        timed("write all, compacting on the way, without fsync", lambda: make(path, options.trials, options.seconds))
        with RunDirectory.open(path) as run:
            os.sync()  # what was written without fsync above, or it could not be forgotten below
            run.resumed()
            staging, last = run.begin_trial(options.trials + 1), record(options.trials + 1)
            timed("commit one more, fsynced", lambda: run.commit_trial(staging, last, rows_of(options.seconds)))
            timed("bring the index up to date", run.compact)
        for what, read in (("trials", read_all), ("series", count_series)):
            ratio = compare(path, what, read)
            print(f"ratio, {what} from their own files ÷ from the compacted ones, out of the page cache: {ratio:.1f}")
        timed("open to resume", lambda: RunDirectory.open(path).close())
        bytes_all = sum(file.stat().st_size for file in path.glob("*.parquet"))
        print(f"compacted files: {bytes_all / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
