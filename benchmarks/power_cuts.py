"""How fast power is cut: `python -m benchmarks.power_cuts [--scale 13] [--cuts 120] [--blocks 4] [--data-dir D]`.

    python -m benchmarks.power_cuts --run RUN         # the first part, of a finished run
    python -m benchmarks.power_cuts --summary RUN     # what docs/power-cut/ keeps of a long run, as JSON

First the cuts of one load on a drive with a protected cache and on one with a volatile cache: cuts a second, what each
step takes, and how long the drive stands still. Then what it costs to write down what is not durable: the same load
without cuts on both, in turns within one run (a protected cache writes nothing down). As root. Targets: a cut a second
on two cores with 200 MB of data, the drive standing still for 50 ms at most, 0.9 of the speed.
"""

import argparse
import math
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks import cut_summary
from benchmarks.ratios import interval
from pgassay.record.power_cuts import SOUND, CutRecord, power_cuts
from pgassay.record.reading import Run

LOAD = """
[study]
format = 1
title = "Speed of power cuts"
question = "How fast are power cuts?"
[factors]
"drive.cache" = ["protected", "volatile"]
[fixed]
"drive.data" = "ssd"
"init.data_checksums" = "on"
"server.shared_buffers" = "16MB"
"server.max_wal_size" = "64MB"
[load]
driver = "pgbench"
script = "ledger"
protocol = "prepared"
scale = {scale}
clients = 4
jobs = 2
{rate}
duration = "{duration_s}s"
cuts = {cuts}
checkpoint = "default"
[responses]
primary = "tps"
[design]
resolution = "5%"
blocks = {{ min = {blocks}, max = {blocks} }}
"""


def run(folder: Path, name: str, text: str, arguments: argparse.Namespace) -> Run:
    """Run a study as a user does."""
    study, out = folder / f"{name}.toml", folder / name
    study.write_text(text, encoding="utf-8")
    words = [sys.executable, "-m", "pgassay", "run", str(study), "--out", str(out), "--allow-busy", "--seed", "1"]
    words += ["--discard-snapshots", *(["--data-dir", str(arguments.data_dir)] if arguments.data_dir else [])]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return Run.open(out)


def spent_s(cuts: Sequence[CutRecord]) -> float:
    """From the first cut to the end of the last one."""
    last = max(cuts, key=lambda cut: cut.wall_ns)
    return (last.wall_ns - min(cut.wall_ns for cut in cuts)) / 1e9 + last.total_ms / 1e3


def told(cuts: Sequence[CutRecord], data_bytes: float) -> None:
    """Cuts a second; then each step's median, of quick cuts and of whole ones apart."""
    if not cuts:
        print("no cuts were made")
        return
    spent = spent_s(cuts)
    sound = sum(cut.verdict == SOUND for cut in cuts)
    print(f"{len(cuts)} cuts ({sound} sound) in {spent:.1f} s: {len(cuts) / spent:.2f} a second (target: 1 at least)")
    still = [cut.cut_ms for cut in cuts]
    print(f"the drive stood still for {statistics.median(still):.2f} ms, at most {max(still):.1f} ms (target: 50 ms)")
    memory = max(cut.memory_bytes for cut in cuts)
    print(f"a crash state took {memory / 2**20:.2f} MiB of memory beside its blocks, {memory / data_bytes:.2%} of "
          f"{data_bytes / 2**20:.0f} MiB of tables and indexes (target: 1 %)")  # fmt: skip
    for name, whole in (("quick", False), ("whole, as set", True)):
        mine = [cut for cut in cuts if cut.own_settings is whole and cut.steps_ms]
        if not mine:
            continue
        redo = statistics.median(cut.redo_bytes or 0.0 for cut in mine) / 2**20
        print(f"{name}: {len(mine)} cuts, median {statistics.median(cut.total_ms for cut in mine):.0f} ms, "
              f"{redo:.1f} MiB of WAL replayed")  # fmt: skip
        steps = {step: None for cut in mine for step in cut.steps_ms or ()}
        for step in steps:
            taken = [cut.steps_ms[step] for cut in mine if cut.steps_ms and step in cut.steps_ms]
            print(f"  {step:<8} {statistics.median(taken):7.1f} ms, at most {max(taken):7.1f} ms")


def recording(found: Run) -> None:
    """Transactions per second on a drive that writes down what is not durable, over one that does not."""
    blocks: dict[int, dict[str, float]] = {}
    for trial in found.trials:
        tps = trial.responses.get("tps")
        if tps is not None:
            blocks.setdefault(trial.block, {})[str(trial.levels["drive.cache"].typed)] = tps
    whole = [block for block in blocks.values() if len(block) == 2]
    logs = [math.log(block["volatile"] / block["protected"]) for block in whole]
    print(f"recording / not recording: tps {interval(logs)} in {len(whole)} blocks (target: 0.9 at least)")


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, help="a finished run, instead of one made now")
    parser.add_argument("--summary", type=Path, metavar="RUN", help="print the summary of a run, and measure nothing")
    parser.add_argument("--scale", type=int, default=13)
    parser.add_argument("--cuts", type=int, default=120)
    parser.add_argument("--duration", type=int, default=60, metavar="SECONDS", help="window of the load that is cut")
    parser.add_argument("--rate", type=int, default=200, metavar="TPS", help="transactions a second of that load")
    parser.add_argument("--blocks", type=int, default=4, help="of the second part; 0 leaves it out")
    parser.add_argument("--seconds", type=int, default=10, help="windows of the second part")
    parser.add_argument("--data-dir", type=Path)
    given = parser.parse_args()
    if given.summary:
        print(cut_summary.encode(cut_summary.summary_of(Run.open(given.summary))))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = Run.open(given.run) if given.run else None
        if found is None:
            rate = f"rate = {given.rate}"
            cuts = math.ceil(given.cuts / 2)
            text = LOAD.format(scale=given.scale, rate=rate, duration_s=given.duration, cuts=cuts, blocks=1)
            found = run(folder, "cuts", text, given)
        for trial in found.trials:
            print(f"drive.cache = {trial.levels['drive.cache'].typed}")
            sizes = (value for name, value in trial.counters.items() if name.startswith("relation."))
            told(power_cuts(found, trial.number), sum(size or 0.0 for size in sizes))
        if given.blocks:
            text = LOAD.format(scale=given.scale, rate="", duration_s=given.seconds, cuts=0, blocks=given.blocks)
            recording(run(folder, "recording", text, given))


if __name__ == "__main__":
    main()
