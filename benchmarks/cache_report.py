"""Does the report of the largest published study stay quick? 13 554 trials of `cache --as-published`, synthetic times.

The report is made in a process of its own, as `pgassay report --no-figures` does it, once to have Python's modules
compiled and the page's script put together, as any earlier report has left them, and then again; printed are the
second one's time by the clock and of the processors, and its greatest memory, against the aims of 5 s and 1 GB.

    python -m benchmarks.cache_report [--blocks 251] [--directory DIR]
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.record_scale import UnsafeDisk, timed
from pgassay.load.cacheprobe.phases import RESPONSES
from pgassay.probe.registry import Probes
from pgassay.record.decisions import Decision, Step
from pgassay.record.directory import RunDirectory
from pgassay.record.formats import RunHeader
from pgassay.record.series import Sampled
from pgassay.record.values import LevelRecord, TrialRecord
from pgassay.study import builtin
from pgassay.study.document import Overrides, read, resolve, write
from pgassay.study.levels import Arm, Level
from pgassay.study.parsing import parse_recorded
from pgassay.study.responses import Status
from pgassay.study.units import parse_memory

DECLARED = (*RESPONSES, *Probes().responses)
"""What a trial of the real study carries."""
TRIALS_PER_BLOCK = 54
AIM_S, AIM_BYTES = 5.0, 10**9
HOLDS_INDEX_BYTES = 2 << 30
RELATIONS = {"relation.table.random_bytes": 16.6e9, "relation.index.random_random_idx_bytes": 1.7e9}
REGIME: dict[str, str | float | None] = {
    "window_s": 9.5, "warmup_s": 100.0, "checkpoint": "none", "checkpoint_cycles": 0.0, "checkpoint_cut_off": None,
    "checkpoint_words": "the burst after a checkpoint", "cache": "cold", "age": "none", "start_state": "copied",
    "steadiness": "unknown", "truncation_s": None, "tps_error": None, "cycle_s": None,
}  # fmt: skip
STEPS = ("clone", "start", "settle", "measure", "stop", "give_back")
REPORT = """
import resource, sys, time
started = time.perf_counter()
from pgassay.cli import main
status = main(["report", sys.argv[1], "--no-figures"])
used = resource.getrusage(resource.RUSAGE_SELF)
print(status, time.perf_counter() - started, time.process_time(), used.ru_maxrss * 1024)
"""


class Row:
    """A row of a synthetic series."""

    unit = "B"
    source = "synthetic"

    def __init__(self, second: int, meter: int) -> None:
        self.monotonic_ns = second * 10**9
        self.wall_ns = 1_700_000_000 * 10**9 + self.monotonic_ns
        self.name = f"meter_{meter}"
        self.value = float(second * (meter + 1))


def record(number: int, block: int, arm: Arm, held: Mapping[str, Level], chance: random.Random) -> TrialRecord:
    """A trial as cacheprobe leaves one, with planted times: as many levels, counters, settings and steps."""
    levels = {name: level.typed for name, level in {**held, **arm.levels}.items()}
    holds = parse_memory(levels["server.shared_buffers"]) >= HOLDS_INDEX_BYTES
    idx1 = 0.1 * (1 + chance.gauss(0, 0.1))
    idx2 = idx1 * (1.0 if holds else 3.0) * (1 + chance.gauss(0, 0.1))
    found: dict[str, float | None] = {response.name: chance.random() for response in DECLARED}
    found |= {"idx1_ms": idx1, "idx2_ms": idx2, "seq_ms": 9000 * (1 + chance.gauss(0, 0.1))}
    found |= {"idx2_slowdown": idx2 / idx1, "probes_ms": (idx1 + idx2) / 2}
    return TrialRecord(
        number=number,
        block=block,
        attempt=1,
        treatment=arm.treatment.name,
        condition="",
        covariate="",
        levels={name: LevelRecord(typed, typed, typed) for name, typed in levels.items()},
        status=Status.VALID,
        started_wall_ns=number * 10**9,
        finished_wall_ns=number * 10**9 + 60,
        responses=found,
        counters={**{f"wal.counter_{count}": float(count * number) for count in range(60)}, **RELATIONS},
        settings={f"setting_{count}": "on" for count in range(20)},
        regime=REGIME,
        timings_s={step: chance.random() for step in STEPS},
        seed=number,
    )


def make(path: Path, blocks: int) -> None:
    """The whole run."""
    document = resolve("cache", read("cache", builtin.find("cache")[1]), Overrides(size="as-published"))
    study = parse_recorded("cache", document)
    header = RunHeader("cache", "2026-01-01T00:00:00Z", 1, DECLARED, ("pgassay", "run", "cache"), "0.1.0")
    chance = random.Random(1)
    series: list[Sampled] = [Row(second, meter) for second in range(20) for meter in range(20)]
    with RunDirectory.create(path, header, write(document), {}, UnsafeDisk()) as run:
        for block in range(1, blocks + 1):
            for arm in study.arms:
                number = run.next_number
                decided = Decision(Step.NEXT, "0" * 64, float(number), float(number), arm.name, number, block, 1)
                run.decide(decided.as_data())
                staging = run.begin_trial(number)
                run.commit_trial(staging, record(staging.number, block, arm, study.fixed, chance), series)
        run.finish("all written")


def report(path: Path, caches: Path) -> tuple[float, float, float]:
    """Seconds by the clock and of CPU, and bytes of memory at most; `caches` has compiled modules and the script."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPYCACHEPREFIX": str(caches / "bytecode"), "XDG_CACHE_HOME": str(caches / "cache")}
    command = [sys.executable, "-c", REPORT, str(path)]
    said = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    status, seconds, used, most = said.stdout.split()[-4:]
    if status != "0":
        raise SystemExit(f"pgassay report ended with status {status}")
    return float(seconds), float(used), float(most)


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--blocks", type=int, default=251)
    parser.add_argument("--directory", type=Path, default=None, help="where to write; kept if it is named")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cache-report-") as place:
        path = (options.directory or Path(place)) / "run"
        if not path.exists():
            trials = options.blocks * TRIALS_PER_BLOCK
            timed(f"write {trials} trials, without fsync", lambda: make(path, options.blocks))
        first, _, _ = report(path, Path(place))
        print(f"first report, which compiles Python's modules and puts the page's script together: {first:.1f} s")
        seconds, used, most = report(path, Path(place))
        print(f"report: {seconds:.1f} s (CPU {used:.1f} s), at most {most / 1e6:.0f} MB")
        print(f"ratio to the aims of {AIM_S:.0f} s and {AIM_BYTES / 1e9:.0f} GB:", end=" ")
        print(f"{seconds / AIM_S:.2f} and {most / AIM_BYTES:.2f}")
        size = (path / "report" / "report.html").stat().st_size
        print(f"page: {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
