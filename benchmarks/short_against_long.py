"""Do short trials estimate the same effect as long ones in the same regime (whole checkpoint cycles)?

usage: python -m benchmarks.short_against_long [--blocks N] [--short S] [--long S] [--scale N] [--data-dir DIR]
       python -m benchmarks.short_against_long --study page-size --size default --levels build.block_size=8kB,4kB
              --set server.checkpoint_timeout=30s --short 66 --long 1000 --scale 100 [--allow-deb-src]

Two treatments on a real server (table FILLFACTOR 100 and 75, or any two levels of a study). Every block holds each
once as a short and once as a long trial, order turning; both regimes have whole checkpoint cycles, driven by WAL or of
one length (a timeout that is set holds for both). For tps and for costs per transaction: the effect (second level ÷
first) by short trials, by long trials, and the ratio of the two with its 95 % interval (t over blocks). The project
claims less load time only where that interval holds 1 and lies within ±10 %, and every window covered two cycles.

Where they differ, the regime does: so the long trials are cut into stretches as long as a short one, and what a
transaction cost in each (WAL, full-page images, the share of HOT updates) is told. A first stretch that agrees with the
short trials while a later one does not means that the data age within the trial: hold --set load.age=2x.

With --state FILE each trial is kept in that file as it ends, and the same command goes on there after a kill.
"""

import argparse
import json
import math
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from benchmarks.ratios import interval
from benchmarks.stretches import Cut, Stretch, stretches, told
from pgassay.lab.arms import ResolvedStudy, resolve
from pgassay.lab.building import Building
from pgassay.lab.notes import Assignment
from pgassay.lab.preparation import prepare
from pgassay.lab.trial import Trial
from pgassay.lab.workbench import BenchOptions, Workbench
from pgassay.study import builtin
from pgassay.study import document as documents
from pgassay.study.document import Overrides
from pgassay.study.parsing import parse
from pgassay.study.regime import CYCLES_WANTED

RESPONSES = (
    "tps", "server_cpu_us_per_transaction", "wal_bytes_per_transaction", "full_page_images_per_transaction",
    "latency_p99_ms",
)  # fmt: skip


Responses = Mapping[int, Mapping[str, float | None]]


@dataclass(frozen=True)
class Done:
    """What is kept of a trial."""

    status: str
    responses: dict[str, float | None]
    regime: str
    cycles: float | None = None
    stretches: list[Stretch] = field(default_factory=list)


class State:
    """A line a trial, flushed as it ends; the first line says what was asked, and another question is refused."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.known: dict[tuple[int, str, str], Done] = {}
        self._file: Path | None = arguments.state
        asked = {name: str(value) for name, value in vars(arguments).items() if name not in ("blocks", "state")}
        if self._file is None:
            return
        whole = self._whole_lines()
        if not whole:
            self._append(asked)
            return
        first, *rest = whole
        if json.loads(first) != asked:
            raise SystemExit(f"{self._file} holds the trials of another question: {first.strip()}")
        for line in map(json.loads, rest):
            self.known[line["block"], line["length"], line["level"]] = Done(**line["done"])

    def _whole_lines(self) -> list[str]:
        """What is there; half a line that a killed writer left is cut off, and nothing else is ever written anew."""
        if self._file is None or not self._file.exists():
            return []
        text = self._file.read_bytes()
        whole = text[: text.rfind(b"\n") + 1]
        if len(whole) < len(text):
            with self._file.open("rb+") as file:
                file.truncate(len(whole))
        return whole.decode().splitlines()

    def keep(self, block: int, length: str, level: str, done: Done) -> None:
        """One trial more."""
        self._append({"block": block, "length": length, "level": level, "done": asdict(done)})

    def _append(self, line: Mapping[str, object]) -> None:
        if self._file is not None:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")


def study_of(bench: Workbench, arguments: argparse.Namespace, seconds: int) -> ResolvedStudy:
    document = documents.read(arguments.study, builtin.find(arguments.study)[1])
    size = "" if arguments.size == "default" else arguments.size
    fixed = [f"load.duration={seconds}s", f"load.scale={arguments.scale}", *arguments.set]
    written = documents.resolve(arguments.study, document, Overrides(size, fixed, [arguments.levels]))
    site = bench.site()
    return resolve(parse(arguments.study, written, site.catalogue, size=size), site)


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
    parser.add_argument("--state", type=Path, metavar="FILE", help="keep each trial there, and go on from it")
    arguments = parser.parse_args()
    lengths = {"short": arguments.short, "long": arguments.long}
    found: dict[tuple[str, str], dict[int, dict[str, float | None]]] = {}
    cut: Cut = {}
    short_of_cycles = 0
    state = State(arguments)
    factor, _, both = arguments.levels.partition("=")
    base, other = both.split(",")
    building = Building(allow_deb_src=arguments.allow_deb_src)
    with Workbench(BenchOptions(data_directory=arguments.data_dir, allow_busy=True, building=building)) as bench:
        studies = {name: study_of(bench, arguments, seconds) for name, seconds in lengths.items()}
        number = 0
        for block in range(1, arguments.blocks + 1):
            plan = [(name, arm) for name in lengths for arm in studies[name].arms]
            for name, arm in plan[block % 4 :] + plan[: block % 4]:
                number += 1
                level = arm.arm.treatment.levels[factor].typed
                done = state.known.get((block, name, level))
                if done is None:
                    with tempfile.TemporaryDirectory() as staging:
                        (Path(staging) / "trials" / "x").mkdir(parents=True)
                        assignment = Assignment(number, block, 1, arm.arm, 1000 + block, Path(staging) / "trials" / "x")
                        prepare(arm)
                        record, samples = Trial(arm, assignment).run()
                    done = Done(str(record.status), dict(record.responses), str(record.regime["checkpoint_words"]))
                    cycles = record.regime["checkpoint_cycles"]
                    done = replace(
                        done,
                        cycles=float(cycles) if isinstance(cycles, int | float) else None,
                        stretches=stretches(samples, arguments.short),
                    )
                    state.keep(block, name, level, done)
                short_of_cycles += (done.cycles or 0.0) < CYCLES_WANTED
                if done.status == "valid":
                    found.setdefault((name, level), {})[block] = done.responses
                    cut.setdefault((name, level), {})[block] = done.stretches
                tps = done.responses.get("tps")
                print(f"block {block} {name} {arm.arm.name}: {done.status}, {tps} tps, {done.regime}", flush=True)
    if short_of_cycles:
        print(f"{short_of_cycles} of {number} windows covered less than {CYCLES_WANTED} checkpoint cycles: no claim")
    for name in lengths:
        for place, both_levels in enumerate(told(cut, name, base, other), 1):
            print(f"{name} {place}: WAL effect {interval(both_levels.wal_logs)}; {both_levels.text}")
    for response in RESPONSES:
        logs = {
            name: contrasts(found.get((name, other), {}), found.get((name, base), {}), response) for name in lengths
        }
        both_have = sorted(logs["short"].keys() & logs["long"].keys())
        gap = [logs["short"][block] - logs["long"][block] for block in both_have]
        print(
            f"{response}: effect by {arguments.short} s trials {interval([*logs['short'].values()])},"
            f" by {arguments.long} s trials {interval([*logs['long'].values()])}, ratio of the two {interval(gap)}"
        )


def contrasts(ours: Responses, theirs: Responses, response: str) -> dict[int, float]:
    """Block to log-ratio, where both have a value."""
    pairs = {block: (ours[block].get(response), theirs[block].get(response)) for block in ours.keys() & theirs.keys()}
    return {block: math.log(a / b) for block, (a, b) in sorted(pairs.items()) if a and b}


if __name__ == "__main__":
    main()
