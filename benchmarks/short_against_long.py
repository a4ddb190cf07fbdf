"""Do short trials estimate the same effect as long ones in the same regime (whole checkpoint cycles)?

usage: python benchmarks/short_against_long.py [--blocks N] [--short S] [--long S] [--scale N] [--data-dir DIR]

Two treatments (table FILLFACTOR 100 and 75) on a real server. Every block holds each treatment once as a short and
once as a long trial, order turning; both regimes have whole checkpoint cycles driven by WAL. For tps and for costs per
transaction: the effect (75 ÷ 100) by short trials, by long trials, and the ratio of the two with its 95 % interval (t
over blocks). The project claims less load time only where that interval holds 1 and lies within ±10 %.
"""

import argparse
import math
import statistics
import tempfile
from pathlib import Path

from scipy.stats import t as student  # type: ignore[import-untyped]

from pgassay.lab.notes import Assignment
from pgassay.lab.trial import run_trial
from pgassay.lab.workbench import Wishes, Workbench
from pgassay.study import builtin
from pgassay.study.document import Overrides, read, resolve
from pgassay.study.levels import Arm
from pgassay.study.model import Study
from pgassay.study.parsing import parse

RESPONSES = ("tps", "server_cpu_us_per_transaction", "wal_bytes_per_transaction", "latency_p99_ms")


def study_of(bench: Workbench, seconds: int, scale: int) -> Study:
    document = read("fillfactor", builtin.find("fillfactor")[1])
    fixed = [f"load.duration={seconds}s", f"load.scale={scale}"]
    overrides = Overrides("quick", fixed, ["table.fillfactor=100,75"])
    return parse("fillfactor", resolve("fillfactor", document, overrides), bench.site().catalogue, size="quick")


def interval(logs: list[float]) -> str:
    mean = statistics.fmean(logs)
    half = math.inf
    if len(logs) > 1:
        half = float(student.ppf(0.975, len(logs) - 1)) * statistics.stdev(logs) / math.sqrt(len(logs))
    return f"{math.exp(mean):.3f} [{math.exp(mean - half):.3f}, {math.exp(mean + half):.3f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("--short", type=int, default=8)
    parser.add_argument("--long", type=int, default=80)
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--data-dir", type=Path)
    arguments = parser.parse_args()
    lengths = {"short": arguments.short, "long": arguments.long}
    found: dict[tuple[str, str], list[dict[str, float | None]]] = {}
    with Workbench(Wishes(data_directory=arguments.data_dir, allow_busy=True)) as bench:
        site = bench.site()
        studies = {name: study_of(bench, seconds, arguments.scale) for name, seconds in lengths.items()}
        number = 0
        for block in range(1, arguments.blocks + 1):
            plan = [(name, arm) for name in lengths for arm in studies[name].arms]
            for name, arm in plan[block % 4 :] + plan[: block % 4]:
                number += 1
                with tempfile.TemporaryDirectory() as staging:
                    (Path(staging) / "trials" / "x").mkdir(parents=True)
                    assignment = Assignment(number, block, 1, arm, 1000 + block, Path(staging) / "trials" / "x")
                    record, _ = run_trial(studies[name], assignment, site)
                found.setdefault((name, level_of(arm)), []).append(dict(record.responses))
                tps, cycles = record.responses["tps"], record.regime["checkpoint_cycles"]
                print(f"block {block} {name} {arm.name}: {record.status}, {tps} tps, {cycles} cycles", flush=True)
    for response in RESPONSES:
        logs = {name: contrasts(found[name, "75"], found[name, "100"], response) for name in lengths}
        gap = [short - long for short, long in zip(logs["short"], logs["long"], strict=True)]
        print(
            f"{response}: effect by {arguments.short} s trials {interval(logs['short'])},"
            f" by {arguments.long} s trials {interval(logs['long'])}, ratio of the two {interval(gap)}"
        )


def level_of(arm: Arm) -> str:
    return arm.treatment.levels["table.fillfactor"].typed


def contrasts(ours: list[dict[str, float | None]], theirs: list[dict[str, float | None]], response: str) -> list[float]:
    pairs = [(a[response], b[response]) for a, b in zip(ours, theirs, strict=True)]
    return [math.log(a / b) for a, b in pairs if a and b]


if __name__ == "__main__":
    main()
