"""Does a slow-down of known size come back whole? One of two servers burns CPU in each transaction, and takes turns.

usage: python -m benchmarks.planted [--slowdowns 0,3,10,30] [--ways usual,realtime] [--blocks 6] [--competitor 0.6]
             [--out FILE]
       python -m benchmarks.planted --read FILE

A CPU-bound load: each transaction calls a PL/pgSQL loop, of no rounds on one server and of so many on the other that
the CPU time of a transaction, of client and server together, grows by what is planted (its cost a round is timed
first, by the server's own CPU). With all CPUs in use the speed falls by the same factor; that is the planned effect.
Sides change with the block. Printed: the planned effect, what the slices' tps say with a 95 % interval over blocks, the
bias, and what the ratio of CPU times says.
"""

import argparse
import itertools
import json
from collections.abc import Sequence
from contextlib import ExitStack, closing
from math import log, sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import TextIO

from benchmarks.noise import by_cell, contrasts, percent, total_cpu, tps
from benchmarks.turns import (
    SCRIPTS,
    WARM_UP_MS,
    WAYS,
    Bench,
    backends,
    bench,
    competing,
    huge_pages,
    lines_of,
    play,
    read,
    warm,
)
from pgassay.analysis.boundaries import fixed_critical
from pgassay.load.player import PlayedLoad, PlayedScript

LOAD = "cpu"
ROUNDS_TIMED = 2000


def calibrate(made: Bench, clients: int, note: TextIO) -> tuple[float, float]:
    """CPU of a transaction that burns nothing, and of one round of the loop, in µs; before other programs."""
    way = WAYS["realtime"]
    with closing(_Stopping(made)) as held:
        found = []
        warm(held.server)
        for burn in (0, ROUNDS_TIMED, 0, ROUNDS_TIMED):
            script = PlayedScript(LOAD, SCRIPTS[LOAD].format(burn=burn))
            load = PlayedLoad((script,), clients, 2, "prepared", variables={"scale": str(made.scale)})
            with made.connect(held.server, load, way) as player:
                player.play(duration_ms=2 * WARM_UP_MS)
                pids = backends(held.server)
                before = _used_us(pids)
                played = player.play(duration_ms=1500)
                server_us = (_used_us(pids) - before) / played.transactions
                found.append((server_us, played.cpu_ns / played.transactions / 1e3))
    base = min(found[0][0] + found[0][1], found[2][0] + found[2][1])
    each = fmean(found[at + 1][0] - found[at][0] for at in (0, 2)) / ROUNDS_TIMED
    note.write(json.dumps({"transaction_us": base, "round_us": each}) + "\n")
    return base, each


class _Stopping:
    def __init__(self, made: Bench) -> None:
        self.server = made.start("a", WAYS["realtime"])

    def close(self) -> None:
        self.server.stop()


def _used_us(pids: Sequence[int]) -> float:
    return sum(int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0]) for pid in pids) / 1e3


def rounds_for(slowdown: float, transaction_us: float, round_us: float) -> int:
    """Rounds of the loop that make a transaction slower by this share of the speed."""
    return round(transaction_us * (1 / (1 - slowdown) - 1) / round_us)


def interval(values: Sequence[float]) -> str:
    """Mean and half-width of the 95 % interval, in per cent of the logarithm."""
    if len(values) < 2:
        return signed(fmean(values))
    half = fixed_critical(len(values), 0.05) * stdev(values) / sqrt(len(values))
    return f"{signed(fmean(values))} ± {percent(half, 2)}"


def signed(share: float) -> str:
    """Three significant digits, but no more than two behind the point."""
    digits = 2 if abs(share) < 0.1 else 1
    return f"{100 * share:+.{digits}f} %"


def recovered(path: Path) -> list[str]:
    """The table; the calibration is the file's last."""
    known = [each for each in lines_of(path) if "round_us" in each][-1]
    lines = ["| way | blocks | planned | by tps | bias | by CPU time | CPU of others |", "|---" * 7 + "|"]
    cells = by_cell(read(path))
    for (_, way, planted), blocks in sorted(cells.items(), key=lambda cell: (cell[0][1], int(cell[0][2][2:]))):
        burn = int(planted.partition("/")[2])
        planned = 0.0 - log(1 + burn * known["round_us"] / known["transaction_us"])
        found = contrasts(blocks, tps)
        costs = [-each for each in contrasts(blocks, total_cpu)]
        every = [turn for turns in blocks.values() for turn in turns]
        others = fmean(max(0.0, 1 - each.used_share - each.idle_share - each.steal_share) for each in every)
        bias = [each - planned for each in found]
        lines.append(
            f"| {way} | {len(blocks)} | {signed(planned)} | {interval(found)} | {interval(bias)} | {interval(costs)} |"
            f" {percent(others, 2)} |"
        )
    return lines


def main(words: Sequence[str] | None = None) -> None:
    """Calibrate, plant, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slowdowns", default="0,3,10,30", help="per cent of the speed")
    parser.add_argument("--ways", default="usual,realtime")
    parser.add_argument("--blocks", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--slice-ms", type=int, default=400)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path("planted.jsonl"))
    parser.add_argument("--directory", type=Path)
    parser.add_argument("--competitor", type=float, default=0.0, help="0.6: a program takes 0 to 60 %% of a core")
    parser.add_argument("--read", type=Path)
    given = parser.parse_args(words)
    if given.read is None:
        ways = [WAYS[name] for name in given.ways.split(",")]
        with ExitStack() as held:
            held.enter_context(huge_pages(any(way.huge for way in ways)))
            made = held.enter_context(bench(given.directory, given.scale))
            note = held.enter_context(given.out.open("w", encoding="utf-8"))
            known = calibrate(made, given.clients, note)
            held.enter_context(competing(given.competitor))
            for block, slowdown, way in itertools.product(
                range(1, given.blocks + 1), map(float, given.slowdowns.split(",")), ways
            ):
                play(
                    made, LOAD, way, (0, rounds_for(slowdown / 100, *known)), note, block=block, rounds=given.rounds,
                    slice_ms=given.slice_ms, clients=given.clients,
                )  # fmt: skip
    print("\n".join(recovered(given.read or given.out)))


if __name__ == "__main__":
    main()
