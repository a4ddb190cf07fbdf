"""What a run of page sizes takes beyond its trials: start-up, snapshots, decisions, the record, the report.

    python -m benchmarks.run_overhead [--scale 100] [--blocks 1] [--levels 2kB,4kB,8kB] [--duration 66s] [--data-dir D]
    python -m benchmarks.run_overhead --run RUN          # of a finished run: from its journal, so without its start-up

The trials themselves are their lives as the record has them, from the clone of the snapshot to its removal, with
start, settling, load and upkeep between (docs/trial.md, "The steps"); that is also what the budget counts. Overhead is
all other wall time of the command. What a trial takes beside its load is printed as well, since a user pays for it
too. The builds must be in the cache. Target: less than a minute for three page sizes at scale 100.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

from pgassay.record.journal import Kind
from pgassay.record.reading import Run
from pgassay.record.values import TrialRecord

TARGET_S = 60.0
SIZES = 3
SCALE = 100


def command(arguments: argparse.Namespace, out: Path) -> list[str]:
    """The run, as a user types it; its own snapshots are made and not kept."""
    words = [sys.executable, "-m", "pgassay", "run", "page-size", "--blocks", str(arguments.blocks), "--out", str(out)]
    words += ["--levels", f"build.block_size={arguments.levels}", "--discard-snapshots", "--allow-busy", "--seed", "1"]
    words += ["--set", f"load.scale={arguments.scale}", "--set", f"load.duration={arguments.duration}"]
    return words + (["--data-dir", str(arguments.data_dir)] if arguments.data_dir else [])


def require_builds(words: list[str]) -> None:
    """A compiler is no overhead of a run from a warm cache."""
    told = subprocess.run([*words, "--dry-run", "--json"], check=True, capture_output=True, text=True)
    missing = json.loads(told.stdout).get("unbuilt", [])
    if missing:
        names = ", ".join(each["name"] for each in missing)
        raise SystemExit(f"not in the cache: {names}; pgassay postgres build makes them")


def life_s(trial: TrialRecord) -> float:
    """From the clone to its removal."""
    return (trial.finished_wall_ns - trial.started_wall_ns) / 1e9


def loaded_s(trial: TrialRecord) -> float:
    """Warm-up and window."""
    told = (trial.regime.get("warmup_s"), trial.regime.get("window_s"))
    return sum(float(each) for each in told if isinstance(each, int | float))


def parts(run: Run, started_ns: int | None, ended_ns: int | None) -> Mapping[str, float]:
    """Seconds of each part of the overhead, in order; without the command's two ends what its journal spans."""
    first, last = run.journal[0].wall_ns, run.journal[-1].wall_ns
    found = {} if started_ns is None else {"start-up, checks and builds' checksums": (first - started_ns) / 1e9}
    preparing = [
        (after.wall_ns - before.wall_ns) / 1e9
        for before, after in pairwise([each for each in run.journal if each.kind != Kind.PREPARED])
        if before.kind == Kind.DECISION and after.kind == Kind.TRIAL_STARTED
    ]
    found["snapshots"] = sum(preparing)
    found["deciding, sealing and the journal"] = (last - first) / 1e9 - sum(preparing) - sum(map(life_s, run.trials))
    if ended_ns is not None:
        found["compacting and the report"] = (ended_ns - last) / 1e9
    return found


def main() -> None:
    """Run (or read a run), print each part and the sum."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, help="a finished run, instead of one made now")
    parser.add_argument("--scale", type=int, default=SCALE)
    parser.add_argument("--blocks", type=int, default=1)
    parser.add_argument("--levels", default="2kB,4kB,8kB", metavar="A,B,…")
    parser.add_argument("--duration", default="66s")
    parser.add_argument("--data-dir", type=Path)
    arguments = parser.parse_args()
    started_ns, ended_ns = None, None
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.run or Path(folder) / "run"
        if not arguments.run:
            words = command(arguments, path)
            require_builds(words)
            started_ns = time.time_ns()
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
            ended_ns = time.time_ns()
        run = Run.open(path)
        report(run, parts(run, started_ns, ended_ns))


def report(run: Run, overhead: Mapping[str, float]) -> None:
    """For people."""
    trials = run.trials
    lives, loads = sum(map(life_s, trials)), sum(map(loaded_s, trials))
    print(f"{len(trials)} trials took {lives:.1f} s, of which warm-ups and windows {loads:.1f} s")
    steps: dict[str, float] = {}
    for trial in trials:
        for name, seconds in trial.timings_s.items():
            steps[name] = steps.get(name, 0.0) + seconds
    steps["measure"] = steps.get("measure", 0.0) - loads
    each = ", ".join(f"{name} {seconds / len(trials):.2f} s" for name, seconds in steps.items())
    print(f"beside its load a trial took {(lives - loads) / len(trials):.2f} s: {each}")
    for name, seconds in overhead.items():
        print(f"  {name}: {seconds:.2f} s")
    sizes = len({trial.treatment for trial in trials})
    scale = run.study.get("load", {}).get("scale")
    told = f"target: less than {TARGET_S:.0f} s" if (sizes, scale) == (SIZES, SCALE) else "no target for these"
    print(f"overhead {sum(overhead.values()):.1f} s beyond the trials of {sizes} page sizes at scale {scale} ({told})")


if __name__ == "__main__":
    main()
