"""Does a slow-down of known size come back whole? One of two servers does more in a transaction, and they take turns.

usage: python -m benchmarks.planted [--load cpu|delay|read] [--slowdowns 0,3,10,30] [--ways usual,huge]
             [--windows 100] [--competitors 0,0.1,0.25,0.5] [--blocks 6] [--keep] [--out FILE]
       python -m benchmarks.planted --learn --load cpu --ways usual --windows 400 --out FILE
       python -m benchmarks.planted --read FILE

`cpu`: each transaction calls a PL/pgSQL loop. `read`: a known share of the rows that it looks up is not in shared
buffers, but in the page cache. `delay`: one client, and the server waits before each flush (commit_delay). By how much
each slows the load down is measured first, on one server that lives alone and has it in some windows and not in others.
With --competitors each block is played beside a program that takes such a share of a core all the time. Sides change
with the block, and the two servers exchange what is planted after half its rounds, unless --keep: so the luck of a
server's start, which is a study's noise and not its bias, falls on both sides alike. Printed: the planned effect (of
`delay`: by how long the other server's transactions last in the block), what the slices' tps say with a 95 % interval
over blocks, the bias (its interval has the truth's own error in it), what they say at equal CPU of the client, and what
the ratio of CPU times says.
"""

import argparse
import itertools
import json
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from math import hypot, log, sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from benchmarks.noise import client_cpu, contrasts, percent, total_cpu, tps
from benchmarks.planted_loads import planted_settings, planting
from benchmarks.turns import (
    ARMS,
    SETTLE_MS,
    WARM_UP_MS,
    Bench,
    Turn,
    Way,
    add_arguments,
    lines_of,
    play,
    read,
    set_up,
    warm,
)
from pgassay.analysis.boundaries import fixed_critical

TIMED = {"cpu": 2000, "delay": 1000, "read": 1000}
"""How much of each is planted while it is measured how much longer a transaction lasts with it."""
CLIENTS = {"cpu": 4, "delay": 1, "read": 4}
WINDOW_MS = 250
"""Of a window on one server."""


@dataclass(frozen=True)
class Known:
    """The truth, of one server that lives alone: what a transaction takes with nothing planted, and for each unit of
    what is planted (the load's time divided by its transactions); by what is planted the logarithm of its speed, and
    how much longer a transaction lasts. Times in µs. Older records have no logarithms; theirs are CPU times."""

    transaction_us: float
    round_us: float = 1.0
    lasts_us: Mapping[str, float] = field(default_factory=dict)
    effects: Mapping[str, float] = field(default_factory=dict)
    errors: Mapping[str, float] = field(default_factory=dict)
    """The standard errors of `effects`, or of `lasts_us` relative to `transaction_us`."""


def on_one_server(
    made: Bench, load: str, way: Way, slowdowns: Sequence[float], windows: int, before: Known | None = None
) -> Known:
    """What is planted, window by window on one server with the same connections: in each of so many rounds every amount
    once, in random order. So neither the start of a server nor the machine's wandering is in the ratio. With `before`
    its amounts are taken, to know the same truth better."""
    source = random.Random(1)
    server = made.start("a", way, planted_settings(load, 0))
    try:
        warm(server)
        with made.connect(server, made.played(load, way, CLIENTS[load], seed=1), way) as player:
            player.play(duration_ms=2 * WARM_UP_MS)

            def lasted_us(amount: int) -> float:
                server.execute(f"ALTER SYSTEM SET {planting(load)} = {amount}")
                server.execute("SELECT pg_reload_conf()")
                player.play(duration_ms=SETTLE_MS)
                played = player.play(duration_ms=WINDOW_MS)
                return (played.drained_ns - played.opened_ns) / 1e3 / played.transactions

            if before is None:
                first = [(lasted_us(0), lasted_us(TIMED[load])) for _ in range(10)]
                base_us = fmean(base for base, _ in first)
                scale = Known(base_us, fmean(timed - base for base, timed in first) / TIMED[load])
                amounts = [0, *(amount_for(load, each / 100, scale) for each in slowdowns if each)]
            else:
                scale, amounts = before, [*map(int, before.effects)]
            rounds = [
                {amount: lasted_us(amount) for amount in source.sample(amounts, len(amounts))} for _ in range(windows)
            ]
            server.execute(f"ALTER SYSTEM RESET {planting(load)}")
    finally:
        server.stop()
    return learned(load, scale, rounds)


def learned(load: str, scale: Known, rounds: Sequence[Mapping[int, float]]) -> Known:
    """Of how long transactions lasted, by amount, in each round; `scale` is what the amounts were chosen by."""
    base_us = fmean(each[0] for each in rounds)
    effects, lasts, errors = {}, {}, {}
    for amount in rounds[0]:
        logs = [log(each[0] / each[amount]) for each in rounds]
        longer = [each[amount] - each[0] for each in rounds]
        effects[str(amount)], lasts[str(amount)] = fmean(logs), fmean(longer)
        deviation = stdev(longer) / base_us if load == "delay" else stdev(logs)
        errors[str(amount)] = deviation / sqrt(len(rounds))
    return replace(scale, lasts_us=lasts if load == "delay" else {}, effects=effects, errors=errors)


def amount_for(load: str, slowdown: float, known: Known) -> int:
    """How much of what is planted makes a transaction slower by this share of the speed."""
    amount = round(known.transaction_us * (1 / (1 - slowdown) - 1) / known.round_us)
    if load == "read" and amount > TIMED["read"]:
        raise SystemExit(f"reads that all miss slow this load down by less than {100 * slowdown:g} %")
    return amount


def planned(load: str, planted: int, known: Known, turns: Sequence[Turn]) -> float:
    """The true ln(b/a) of a block; of `delay` by how long this block's transactions last without one."""
    if load == "delay":
        return 0.0 - log(1 + known.lasts_us[str(planted)] * 1e-6 * tps([each for each in turns if each.arm == ARMS[0]]))
    if known.effects:
        return known.effects[str(planted)]
    return 0.0 - log(1 + planted * known.round_us / known.transaction_us)


def interval(values: Sequence[float], error: float = 0.0) -> str:
    """Mean and half-width of the 95 % interval, in per cent of the logarithm; `error` is a standard error more."""
    if len(values) < 2:
        return signed(fmean(values))
    half = fixed_critical(len(values), 0.05) * hypot(stdev(values) / sqrt(len(values)), error)
    return f"{signed(fmean(values))} ± {percent(half, 2)}"


def signed(share: float) -> str:
    """Three significant digits, but no more than two behind the point."""
    digits = 2 if abs(share) < 0.1 else 1
    return f"{100 * share:+.{digits}f} %"


def recovered(path: Path) -> list[str]:
    """The table; the truth is the file's last of that load and way, or of the file."""
    lines = [
        "| load | way | competitor | blocks | planned | by tps | bias | at equal client CPU | by CPU time |"
        " CPU of others |",
        "|---" * 10 + "|",
    ]
    calibrations = [each for each in lines_of(path) if "round_us" in each]
    cells: dict[tuple[str, str, float, int], dict[int, list[Turn]]] = defaultdict(lambda: defaultdict(list))
    for turn in read(path):
        cells[turn.load, turn.way, turn.competitor, int(turn.planted.partition("/")[2])][turn.block].append(turn)
    for (load, way, competitor, amount), blocks in sorted(cells.items()):
        known = known_of(calibrations, load, way)
        every = [turn for turns in blocks.values() for turn in turns]
        truth = [planned(load, amount, known, turns) for turns in blocks.values()]
        found = contrasts(blocks, tps)
        adjusted = [one + other for one, other in zip(found, contrasts(blocks, client_cpu), strict=True)]
        costs = [-each for each in contrasts(blocks, total_cpu)]
        bias = [one - other for one, other in zip(found, truth, strict=True)]
        others = fmean(each.others_share for each in every)
        lines.append(
            f"| {load} | {way} | {percent(competitor, 2)} | {len(blocks)} | {signed(fmean(truth))} |"
            f" {interval(found)} | {interval(bias, known.errors.get(str(amount), 0.0))} | {interval(adjusted)} |"
            f" {interval(costs)} | {percent(others, 2)} |"
        )
    return lines


def known_of(calibrations: Sequence[Mapping[str, Any]], load: str, way: str) -> Known:
    """The truth that a file's lines have of a load and way: the last one, or the file's."""
    mine = [each for each in calibrations if (each.get("calibrated", load), each.get("way", way)) == (load, way)]
    return Known(**{each.name: mine[-1][each.name] for each in fields(Known) if each.name in mine[-1]})


def learn(given: argparse.Namespace) -> None:
    """Learn the truth of a file's amounts again, in other windows, and add it to the file."""
    calibrations = [each for each in lines_of(given.out) if "round_us" in each]
    with set_up(given, append=True) as (made, ways, note):
        for way in ways:
            before = known_of(calibrations, given.load, way.name)
            found = on_one_server(made, given.load, way, (), given.windows, before)
            note.write(json.dumps({"calibrated": given.load, "way": way.name, **asdict(found)}) + "\n")


def main(words: Sequence[str] | None = None) -> None:
    """Calibrate, plant, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--load", choices=sorted(CLIENTS), default="cpu")
    parser.add_argument("--slowdowns", default="0,3,10,30", help="per cent of the speed")
    add_arguments(parser, ways="usual", blocks=6, rounds=6, slice_ms=400, out="planted.jsonl")
    parser.add_argument("--windows", type=int, default=100, help="of each slow-down on one server, for the truth")
    parser.add_argument("--competitors", default="0", help="shares of a core that another program takes all the time")
    parser.add_argument("--keep", action="store_true", help="each server keeps what is planted for the whole block")
    parser.add_argument("--learn", action="store_true", help="only the truth, for the amounts that --out already has")
    given = parser.parse_args(words)
    if given.learn:
        learn(given)
    elif given.read is None:
        slowdowns = [*map(float, given.slowdowns.split(","))]
        with set_up(given, append=False) as (made, ways, note):
            known = {}
            for way in ways:
                known[way.name] = found = on_one_server(made, given.load, way, slowdowns, given.windows)
                note.write(json.dumps({"calibrated": given.load, "way": way.name, **asdict(found)}) + "\n")
            for block, slowdown, way, competitor in itertools.product(
                range(1, given.blocks + 1), slowdowns, ways, map(float, given.competitors.split(","))
            ):  # fmt: skip
                amount = amount_for(given.load, slowdown / 100, known[way.name])
                play(
                    made, given.load, way, (0, amount), note, competitor=competitor, block=block,
                    rounds=given.rounds, slice_ms=given.slice_ms, clients=CLIENTS[given.load],
                    exchanged=not given.keep,
                )  # fmt: skip
    print("\n".join(recovered(given.read or given.out)))


if __name__ == "__main__":
    main()
