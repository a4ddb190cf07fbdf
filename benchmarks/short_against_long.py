"""Do short trials estimate the same effect as long ones in the same regime (whole checkpoint cycles)?

usage: python benchmarks/short_against_long.py [--blocks N] [--short S] [--long S] [--scale N] [--data-dir DIR]
       python benchmarks/short_against_long.py --study page-size --size default --levels build.block_size=8kB,4kB
              --set server.checkpoint_timeout=30s --short 66 --long 1000 --scale 100 [--allow-deb-src]

Two treatments on a real server (table FILLFACTOR 100 and 75, or any two levels of a study). Every block holds each
once as a short and once as a long trial, order turning; both regimes have whole checkpoint cycles, driven by WAL or of
one length (a timeout that is set holds for both). For tps and for costs per transaction: the effect (second level ÷
first) by short trials, by long trials, and the ratio of the two with its 95 % interval (t over blocks). The project
claims less load time only where that interval holds 1 and lies within ±10 %.
"""

import argparse
import math
import statistics
import tempfile
from pathlib import Path

from scipy.stats import t as student  # type: ignore[import-untyped]

from pgassay.lab.building import Building
from pgassay.lab.notes import Assignment
from pgassay.lab.trial import run_trial
from pgassay.lab.workbench import Wishes, Workbench
from pgassay.study import builtin
from pgassay.study.document import Overrides, read, resolve
from pgassay.study.model import Study
from pgassay.study.parsing import parse

RESPONSES = ("tps", "server_cpu_us_per_transaction", "wal_bytes_per_transaction", "latency_p99_ms")


def study_of(bench: Workbench, arguments: argparse.Namespace, seconds: int) -> Study:
    document = read(arguments.study, builtin.find(arguments.study)[1])
    size = "" if arguments.size == "default" else arguments.size
    fixed = [f"load.duration={seconds}s", f"load.scale={arguments.scale}", *arguments.set]
    resolved = resolve(arguments.study, document, Overrides(size, fixed, [arguments.levels]))
    return parse(arguments.study, resolved, bench.site().catalogue, size=size)


def interval(logs: list[float]) -> str:
    mean = statistics.fmean(logs)
    half = math.inf
    if len(logs) > 1:
        half = float(student.ppf(0.975, len(logs) - 1)) * statistics.stdev(logs) / math.sqrt(len(logs))
    return f"{math.exp(mean):.3f} [{math.exp(mean - half):.3f}, {math.exp(mean + half):.3f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--study", default="fillfactor")
    parser.add_argument("--size", default="quick", help="quick, as-published or default")
    parser.add_argument("--levels", default="table.fillfactor=100,75", metavar="NAME=A,B", help="two levels: B ÷ A")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="hold a level")
    parser.add_argument("--allow-deb-src", action="store_true", help="as for pgassay run")
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("--short", type=int, default=8)
    parser.add_argument("--long", type=int, default=80)
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--data-dir", type=Path)
    arguments = parser.parse_args()
    lengths = {"short": arguments.short, "long": arguments.long}
    found: dict[tuple[str, str], list[dict[str, float | None]]] = {}
    factor, _, both = arguments.levels.partition("=")
    base, other = both.split(",")
    building = Building(allow_deb_src=arguments.allow_deb_src)
    with Workbench(Wishes(data_directory=arguments.data_dir, allow_busy=True, building=building)) as bench:
        site = bench.site()
        studies = {name: study_of(bench, arguments, seconds) for name, seconds in lengths.items()}
        number = 0
        for block in range(1, arguments.blocks + 1):
            plan = [(name, arm) for name in lengths for arm in studies[name].arms]
            for name, arm in plan[block % 4 :] + plan[: block % 4]:
                number += 1
                with tempfile.TemporaryDirectory() as staging:
                    (Path(staging) / "trials" / "x").mkdir(parents=True)
                    assignment = Assignment(number, block, 1, arm, 1000 + block, Path(staging) / "trials" / "x")
                    record, _ = run_trial(studies[name], assignment, site)
                found.setdefault((name, arm.treatment.levels[factor].typed), []).append(dict(record.responses))
                tps, cycles = record.responses["tps"], record.regime["checkpoint_cycles"]
                print(f"block {block} {name} {arm.name}: {record.status}, {tps} tps, {cycles} cycles", flush=True)
    for response in RESPONSES:
        logs = {name: contrasts(found[name, other], found[name, base], response) for name in lengths}
        gap = [short - long for short, long in zip(logs["short"], logs["long"], strict=True)]
        print(
            f"{response}: effect by {arguments.short} s trials {interval(logs['short'])},"
            f" by {arguments.long} s trials {interval(logs['long'])}, ratio of the two {interval(gap)}"
        )


def contrasts(ours: list[dict[str, float | None]], theirs: list[dict[str, float | None]], response: str) -> list[float]:
    pairs = [(a[response], b[response]) for a, b in zip(ours, theirs, strict=True)]
    return [math.log(a / b) for a, b in pairs if a and b]


if __name__ == "__main__":
    main()
