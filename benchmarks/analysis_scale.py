"""Is the analysis of a very large run quick? Its time against the time that polars needs to read the series once.

13 554 trials with per-second series is the largest published study that pgassay repeats. "Analysis" is all that
`pgassay show --json` computes, from opening the record on: every trial's course from its seconds (`--recorded`: as kept
when it was committed), effects, costs, companions, verdicts. Both are timed in turn, in one process, with the files in
the page cache; critical values are computed anew each time, as a new process must. The ratios of
wall-clock and of CPU time are printed (polars reads on all processors).

    python -m benchmarks.analysis_scale [--trials 13554] [--seconds 60] [--recorded] [--directory DIR]
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import numpy as np
import polars as pl

from pgassay.analysis import boundaries
from pgassay.record.directory import RunDirectory
from pgassay.record.disk import RealDisk
from pgassay.record.formats import RunHeader
from pgassay.record.reading import Run
from pgassay.record.series import SCHEMA, compact, parquet
from pgassay.record.values import LevelRecord, TrialRecord
from pgassay.report.contents import document
from pgassay.report.findings import Findings, garbage_collection_paused
from pgassay.report.json_values import to_json
from pgassay.study.document import write
from pgassay.study.responses import Better, Response, Status

ROUNDS = 3
METERS = 108
"""As many as a real trial of pgbench has."""
PAGES = ("1kB", "2kB", "4kB", "8kB", "16kB", "32kB")
SCRIPTS = tuple(f"s{number}" for number in range(9))
COSTS = 18
NS = 10**9
KEPT = (boundaries.criticals,)
"""What a process computes once: each round pays for it."""


def study(blocks: int) -> dict[str, object]:
    """Six treatments in nine conditions."""
    return {
        "study": {"format": 1, "title": "Synthetic", "question": "How quick?"},
        "factors": {"build.block_size": list(PAGES)},
        "conditions": {"load.script": list(SCRIPTS)},
        "responses": {"primary": "tps"},
        "design": {"baseline": {"build.block_size": "8kB"}, "blocks": {"min": 5, "max": max(5, blocks)}},
    }


def responses() -> tuple[Response, ...]:
    """A rate and as many costs as a real run has."""
    costs = (
        Response(f"cost_{number}_per_transaction", f"cost {number}", "count", Better.LOWER, cost=True)
        for number in range(COSTS)
    )
    return (Response("tps", "transactions per second", "1/s", Better.HIGHER), *costs)


def record(number: int, chance: np.random.Generator, recorded: bool = False) -> TrialRecord:
    """A trial with as many levels, responses and counters as a real one."""
    arm = (number - 1) % (len(PAGES) * len(SCRIPTS))
    page, script = PAGES[arm % len(PAGES)], SCRIPTS[arm // len(PAGES)]
    noise = np.exp(chance.normal(0.0, 0.02, COSTS + 1))
    return TrialRecord(
        number=number,
        block=(number - 1) // (len(PAGES) * len(SCRIPTS)) + 1,
        attempt=1,
        treatment=f"build.block_size={page}",
        condition=f"load.script={script}",
        covariate="",
        levels={f"server.setting_{count}": LevelRecord("8kB", "8192", "8192") for count in range(10)},
        status=Status.VALID,
        started_wall_ns=number * NS,
        finished_wall_ns=number * NS + 60 * NS,
        responses={response.name: 1000.0 * float(factor) for response, factor in zip(responses(), noise, strict=True)},
        counters={f"wal.counter_{count}": float(count * number) for count in range(60)},
        settings={f"setting_{count}": "on" for count in range(20)},
        regime={"steadiness": "flat", "truncation_s": 5.0, "tps_error": 3.5, "cycle_s": None} if recorded else {},
        seed=number,
    )


class Series:
    """Hands the record a ready table instead of rows: making sixteen million rows one by one would take an hour."""

    def __init__(self, seconds: int, chance: np.random.Generator) -> None:
        self._names = np.repeat(["tps", *(f"meter_{number}" for number in range(1, METERS))], seconds)
        self._sources = np.repeat(["pgbench", *["synthetic"] * (METERS - 1)], seconds)
        self._moments = np.tile(np.arange(seconds) * NS, METERS)
        self._seconds = seconds
        self._chance = chance

    def table(self, number: int) -> pl.DataFrame:
        """A trial: flat, warming or drifting in transactions per second, counters beside."""
        tps = 1000.0 + self._chance.normal(0.0, 30.0, self._seconds)
        if number % 7 == 0:
            tps[: self._seconds // 4] *= 0.7
        if number % 11 == 0:
            tps *= np.linspace(0.8, 1.2, self._seconds)
        rest = self._chance.integers(0, 1000, (METERS - 1, self._seconds)).cumsum(axis=1)
        rest[::2] = 0  # half of a real trial's meters stand still
        return pl.DataFrame(
            {
                "trial": np.full(len(self._names), number),
                "monotonic_ns": self._moments,
                "wall_ns": self._moments + 1_700_000_000 * NS,
                "source": self._sources,
                "name": self._names,
                "unit": np.full(len(self._names), "1/s"),
                "value": np.concatenate([tps, rest.ravel()]),
            },
            schema=SCHEMA,
        )


def make(path: Path, trials: int, seconds: int, recorded: bool = False) -> None:
    """Write a synthetic run as the lab does, compacted, but without fsync."""
    chance = np.random.default_rng(1)
    series = Series(seconds, chance)
    header = RunHeader("synthetic", "2026-01-01T00:00:00Z", 1, responses(), (), "0.1.0")
    blocks = trials // (len(PAGES) * len(SCRIPTS))
    host = {"cpu": {"usable_processors": 8}}
    with patch("os.fsync"), RunDirectory.create(path, header, write(study(blocks)), host) as run:
        for number in range(1, trials + 1):
            staging = run.begin_trial(number)
            run.commit_trial(staging, record(number, chance, recorded), ())
            file = path / "trials" / f"{number:06d}" / "series.parquet"
            file.write_bytes(parquet(series.table(number)))
        run.finish("all written")
        for old in path.glob("*.parquet"):
            old.unlink()
        compact(RealDisk(), path, run.committed)


def timed(work: Callable[[Path], object], path: Path) -> tuple[float, float]:
    """Seconds that it takes, by the clock and of the processors."""
    started, used = time.perf_counter(), time.process_time()
    work(path)
    return time.perf_counter() - started, time.process_time() - used


def read_once(path: Path) -> None:
    """polars reads every row of every series, file by file."""
    for file in sorted(path.glob("series-*.parquet")):
        pl.read_parquet(file)
    last = Run.open(path).numbers[-1]
    for number in range(max(1, last // 500 * 500), last + 1):  # not compacted yet
        pl.read_parquet(path / "trials" / f"{number:06d}" / "series.parquet")


def analyse(path: Path) -> None:
    """All that `pgassay show --json` says."""
    for kept in KEPT:
        kept.cache_clear()
    with garbage_collection_paused():  # as the command does
        to_json(document(Findings(Run.open(path))))


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=13_554)
    parser.add_argument("--seconds", type=int, default=60, help="rows of series per meter and trial")
    parser.add_argument("--recorded", action="store_true", help="with every trial's course in its record")
    parser.add_argument(
        "--directory", type=Path, default=None, help="where to write (default: the temporary directory)"
    )
    options = parser.parse_args()
    if options.directory is not None:
        Path(options.directory).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.directory, prefix="analysis-scale-") as place:
        path = Path(place) / "run"
        print(
            f"{options.trials} trials, {METERS * options.seconds} rows of series each; written in", end=" ", flush=True
        )
        written_s, _ = timed(lambda where: make(where, options.trials, options.seconds, options.recorded), path)
        print(f"{written_s:.0f} s")
        reading: list[tuple[float, float]] = []
        analysing: list[tuple[float, float]] = []
        for _ in range(ROUNDS):
            reading.append(timed(read_once, path))
            analysing.append(timed(analyse, path))
            both = (*reading[-1], *analysing[-1])
            print("read once {:6.2f} s (CPU {:6.2f} s)    analyse {:6.2f} s (CPU {:6.2f} s)".format(*both), flush=True)
        for which, what in ((0, "wall-clock"), (1, "CPU")):
            ratio = statistics.median(each[which] for each in analysing)
            ratio /= statistics.median(each[which] for each in reading)
            print(
                f"ratio of {what} time, analysing ÷ reading the series once with polars: {ratio:.2f} (wanted: below 2)"
            )


if __name__ == "__main__":
    main()
