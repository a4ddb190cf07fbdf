"""Does a slow-down of known size come back whole? One of two servers does more in a transaction, and they take turns.

usage: python -m benchmarks.planted [--load cpu|delay|read] [--slowdowns 0,3,10,30] [--ways usual,realtime]
             [--competitors 0,0.1,0.25,0.5] [--blocks 6] [--out FILE]
       python -m benchmarks.planted --read FILE

`cpu`: each transaction calls a PL/pgSQL loop. `read`: a known share of the rows that it looks up is not in shared
buffers, but in the page cache. Both use all CPUs, so that the speed falls by the factor by which the CPU time of a
transaction grows, of client and server together, which is measured first, server by server. `delay`: one client, and
the server waits before each flush (commit_delay); a transaction then lasts longer by that wait, which is measured
first, too, since a sleep lasts longer than was asked for. Each server beside a program that takes a share of a core
all the time. Sides change with the block. Printed: the planned effect (of `delay`: by how long the other server's
transactions last in the block), what the slices' tps say with a 95 % interval over blocks, the bias, what they say at
equal CPU of the client, and what the ratio of CPU times says.
"""

import argparse
import itertools
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import log, sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import TextIO

from benchmarks.noise import client_cpu, contrasts, percent, total_cpu, tps
from benchmarks.turns import (
    ARMS,
    SCRIPTS,
    WARM_UP_MS,
    Bench,
    Turn,
    Way,
    add_arguments,
    backends,
    cpu_ns,
    lines_of,
    planted_settings,
    play,
    read,
    set_up,
    warm,
)
from pgassay.analysis.boundaries import fixed_critical
from pgassay.load.player import PlayedLoad, PlayedScript

TIMED = {"cpu": 2000, "delay": 400, "read": 1000}
"""How much of each is planted while its cost is measured; every load that is offered is here."""
CLIENTS = {"cpu": 4, "delay": 1, "read": 4}
LEAST_DELAY_US = 5
"""A shorter one is none: the sleep itself lasts longer."""


def calibrate(made: Bench, load: str, way: Way, note: TextIO) -> dict[str, float]:
    """What a transaction costs with nothing planted, and what is planted for each unit of it, in µs of CPU time or (of
    `delay`, with what every sleep lasts longer) of time; before other programs."""
    found: dict[int, list[float]] = {0: [], TIMED[load]: []}
    for planted in (0, TIMED[load], TIMED[load], 0):
        script = PlayedScript(load, SCRIPTS[load].format(burn=planted))
        clients = CLIENTS[load]
        variables = {"scale": str(made.scale)}
        played_load = PlayedLoad((script,), clients, min(2, clients), "prepared", variables=variables)
        server = made.start("a", way, planted_settings(load, planted))
        try:
            warm(server)
            with made.connect(server, played_load, way) as player:
                player.play(duration_ms=2 * WARM_UP_MS)
                pids = backends(server)
                before_ns = cpu_ns(pids)
                played = player.play(duration_ms=3000)
                server_us = (cpu_ns(pids) - before_ns) / 1e3 / played.transactions
                lasted_us = (played.drained_ns - played.opened_ns) / 1e3 / played.transactions
                cpu_us = server_us + played.cpu_ns / played.transactions / 1e3
                found[planted].append(lasted_us if load == "delay" else cpu_us)
        finally:
            server.stop()
    base, more = min(found[0]), fmean(found[TIMED[load]]) - fmean(found[0])
    known = {"transaction_us": base, "round_us": more / TIMED[load], "beside_us": 0.0}
    if load == "delay":
        known |= {"round_us": 1.0, "beside_us": more - TIMED[load]}
    note.write(json.dumps({"calibrated": load, "way": way.name, **known}) + "\n")
    return known


def amount_for(load: str, slowdown: float, known: Mapping[str, float]) -> int:
    """How much of what is planted makes a transaction slower by this share of the speed."""
    more_us = known["transaction_us"] * (1 / (1 - slowdown) - 1) - known.get("beside_us", 0.0)
    amount = round(more_us / known["round_us"]) if slowdown else 0
    return amount if load != "delay" or amount >= LEAST_DELAY_US else 0


def planned(load: str, planted: int, known: Mapping[str, float], turns: Sequence[Turn]) -> float:
    """The true ln(b/a) of a block."""
    more_us = planted * known["round_us"] + (known.get("beside_us", 0.0) if planted else 0.0)
    base_us = known["transaction_us"]
    if load == "delay":
        base_us = 1e6 / tps([each for each in turns if each.arm == ARMS[0]])
    return 0.0 - log(1 + more_us / base_us)


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
    """The table; the calibration is the file's last of that way, or of the file."""
    lines = [
        "| way | competitor | blocks | planned | by tps | bias | at equal client CPU | by CPU time | CPU of others |",
        "|---" * 9 + "|",
    ]
    calibrations = [each for each in lines_of(path) if "round_us" in each]
    cells: dict[tuple[str, float, int], dict[int, list[Turn]]] = defaultdict(lambda: defaultdict(list))
    for turn in read(path):
        cells[turn.way, turn.competitor, int(turn.planted.partition("/")[2])][turn.block].append(turn)
    for (way, competitor, amount), blocks in sorted(cells.items()):
        known = [each for each in calibrations if each.get("way", way) == way][-1]
        every = [turn for turns in blocks.values() for turn in turns]
        truth = [planned(every[0].load, amount, known, turns) for turns in blocks.values()]
        found = contrasts(blocks, tps)
        adjusted = [one + other for one, other in zip(found, contrasts(blocks, client_cpu), strict=True)]
        costs = [-each for each in contrasts(blocks, total_cpu)]
        bias = [one - other for one, other in zip(found, truth, strict=True)]
        others = fmean(each.others_share for each in every)
        lines.append(
            f"| {way} | {percent(competitor, 2)} | {len(blocks)} | {signed(fmean(truth))} | {interval(found)} |"
            f" {interval(bias)} | {interval(adjusted)} | {interval(costs)} | {percent(others, 2)} |"
        )
    return lines


def main(words: Sequence[str] | None = None) -> None:
    """Calibrate, plant, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--load", choices=sorted(TIMED), default="cpu")
    parser.add_argument("--slowdowns", default="0,3,10,30", help="per cent of the speed")
    add_arguments(parser, ways="usual,realtime", blocks=6, rounds=6, slice_ms=400, out="planted.jsonl")
    parser.add_argument("--competitors", default="0", help="shares of a core that another program takes all the time")
    given = parser.parse_args(words)
    if given.read is None:
        with set_up(given, append=False) as (made, ways, note):
            known = {way.name: calibrate(made, given.load, way, note) for way in ways}
            for block, slowdown, way, competitor in itertools.product(
                range(1, given.blocks + 1), map(float, given.slowdowns.split(",")), ways,
                map(float, given.competitors.split(",")),
            ):  # fmt: skip
                amount = amount_for(given.load, slowdown / 100, known[way.name])
                play(
                    made, given.load, way, (0, amount), note, competitor=competitor, block=block,
                    rounds=given.rounds, slice_ms=given.slice_ms, clients=CLIENTS[given.load],
                )  # fmt: skip
    print("\n".join(recovered(given.read or given.out)))


if __name__ == "__main__":
    main()
