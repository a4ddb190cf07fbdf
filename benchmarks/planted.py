"""Does a slow-down of known size come back whole? One of two servers does more in a transaction, and they take turns.

usage: python -m benchmarks.planted [--load cpu|delay|read] [--slowdowns 0,3,10,30] [--ways usual,realtime]
             [--competitors 0,0.1,0.25,0.5] [--blocks 6] [--out FILE]
       python -m benchmarks.planted --read FILE

`cpu`: each transaction calls a PL/pgSQL loop. `read`: a known share of the rows that it looks up is not in shared
buffers, but in the page cache. Both use all CPUs, so that the speed falls by the factor by which the CPU time of a
transaction grows, of client and server together, which is measured first, server by server. `delay`: one client, and
the server waits before each flush (commit_delay). By how much longer a transaction then lasts is measured first, on one
server that lives alone and waits in every second window, since a sleep lasts longer than was asked for. With
--competitors each block is played beside a program that takes such a share of a core all the time. Sides change with
the block. Printed: the planned effect (of `delay`: by how long the other server's transactions last in the block), what
the slices' tps say with a 95 % interval over blocks, the bias, what they say at equal CPU of the client, and what the
ratio of CPU times says.
"""

import argparse
import itertools
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from math import log, sqrt
from pathlib import Path
from statistics import fmean, stdev

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

TIMED = {"cpu": 2000, "read": 1000}
"""How much of each is planted while the CPU time that it costs is measured."""
CLIENTS = {"cpu": 4, "delay": 1, "read": 4}
WINDOWS, WINDOW_MS = 40, 400
"""In which a delay is measured."""


@dataclass(frozen=True)
class Known:
    """What a transaction takes with nothing planted, and for each unit of what is planted: CPU time or, of `delay`,
    time. Of `delay` also how much longer it really lasts, by what is planted. All in µs."""

    transaction_us: float
    round_us: float = 1.0
    lasts_us: Mapping[str, float] = field(default_factory=dict)


def delays(made: Bench, way: Way, slowdowns: Sequence[float]) -> Known:
    """How much longer a transaction lasts with each delay that makes it about so much slower, on one server alone."""
    clients, variables = CLIENTS["delay"], {"scale": str(made.scale)}
    load = PlayedLoad((PlayedScript("delay", SCRIPTS["delay"]),), clients, clients, "prepared", variables=variables)
    server = made.start("a", way, planted_settings("delay", 0))
    try:
        warm(server)
        with made.connect(server, load, way) as player:

            def lasted_us(amount: int) -> float:
                server.execute(f"ALTER SYSTEM SET commit_delay = {amount}")
                server.execute("SELECT pg_reload_conf()")
                player.play(duration_ms=WINDOW_MS)  # by then the server has read it
                played = player.play(duration_ms=WINDOW_MS)
                return (played.drained_ns - played.opened_ns) / 1e3 / played.transactions

            base_us = fmean(lasted_us(0) for _ in range(6))
            lasts = {}
            for slowdown in slowdowns:
                amount = amount_for("delay", slowdown / 100, Known(base_us))
                pairs = [
                    (lasted_us(0), lasted_us(amount), lasted_us(amount), lasted_us(0)) for _ in range(WINDOWS // 4)
                ]
                lasts[str(amount)] = fmean((b + c - a - d) / 2 for a, b, c, d in pairs) if amount else 0.0
            server.execute("ALTER SYSTEM RESET commit_delay")
    finally:
        server.stop()
    return Known(base_us, 1.0, lasts)


def calibrate(made: Bench, load: str, way: Way) -> Known:
    """What a transaction costs in CPU time with nothing planted, and what is planted, before other programs."""
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
                found[planted].append(server_us + played.cpu_ns / played.transactions / 1e3)
        finally:
            server.stop()
    more = fmean(found[TIMED[load]]) - fmean(found[0])
    return Known(min(found[0]), more / TIMED[load])


def amount_for(load: str, slowdown: float, known: Known) -> int:
    """How much of what is planted makes a transaction slower by this share of the speed."""
    amount = round(known.transaction_us * (1 / (1 - slowdown) - 1) / known.round_us)
    if load == "read" and amount > TIMED["read"]:
        raise SystemExit(f"reads that all miss slow this load down by less than {100 * slowdown:g} %")
    return amount


def planned(load: str, planted: int, known: Known, turns: Sequence[Turn]) -> float:
    """The true ln(b/a) of a block."""
    if load == "delay":
        return 0.0 - log(1 + known.lasts_us[str(planted)] * 1e-6 * tps([each for each in turns if each.arm == ARMS[0]]))
    return 0.0 - log(1 + planted * known.round_us / known.transaction_us)


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
    names = [each.name for each in fields(Known)]
    cells: dict[tuple[str, float, int], dict[int, list[Turn]]] = defaultdict(lambda: defaultdict(list))
    for turn in read(path):
        cells[turn.way, turn.competitor, int(turn.planted.partition("/")[2])][turn.block].append(turn)
    for (way, competitor, amount), blocks in sorted(cells.items()):
        last = [each for each in calibrations if each.get("way", way) == way][-1]
        known = Known(**{name: last[name] for name in names if name in last})
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
    parser.add_argument("--load", choices=sorted(CLIENTS), default="cpu")
    parser.add_argument("--slowdowns", default="0,3,10,30", help="per cent of the speed")
    add_arguments(parser, ways="usual,realtime", blocks=6, rounds=6, slice_ms=400, out="planted.jsonl")
    parser.add_argument("--competitors", default="0", help="shares of a core that another program takes all the time")
    given = parser.parse_args(words)
    if given.read is None:
        slowdowns = [*map(float, given.slowdowns.split(","))]
        with set_up(given, append=False) as (made, ways, note):
            known = {}
            for way in ways:
                timed = given.load in TIMED
                found = calibrate(made, given.load, way) if timed else delays(made, way, slowdowns)
                known[way.name] = found
                note.write(json.dumps({"calibrated": given.load, "way": way.name, **asdict(found)}) + "\n")
            for block, slowdown, way, competitor in itertools.product(
                range(1, given.blocks + 1), slowdowns, ways, map(float, given.competitors.split(","))
            ):  # fmt: skip
                amount = amount_for(given.load, slowdown / 100, known[way.name])
                play(
                    made, given.load, way, (0, amount), note, competitor=competitor, block=block,
                    rounds=given.rounds, slice_ms=given.slice_ms, clients=CLIENTS[given.load],
                )  # fmt: skip
    print("\n".join(recovered(given.read or given.out)))


if __name__ == "__main__":
    main()
