"""How much two identical servers differ here, and where that comes from: A/A by load and by way of placing both.

usage: python -m benchmarks.noise [--loads cpu,flush] [--ways usual,paired,…] [--blocks 8] [--rounds 8]
             [--slice-ms 500 | --slices 400x6,100x24] [--competitor 0.6] [--out FILE] [--directory DIR]
       python -m benchmarks.noise --read FILE    # the tables again from raw records

Both servers live and take turns (benchmarks/turns.py); blocks of all loads and ways are interleaved. For each it prints
the standard deviation of a block's ln(b/a): one after the other (the same arm in two neighbouring blocks), in turns,
in turns adjusted by the client's CPU per transaction, and of the ratio of CPU times; the standard deviations of a
slice that belong to the machine, to the server and to the slice itself; and how much of the machine's part the
metronome explains within blocks. A table before it has how often a study of so few blocks would find a difference
where there is none, a table after it the machine's spectrum: the standard deviation of differences of
neighbouring windows of growing length, by the slices of both arms. With --slices (milliseconds x rounds) each block is
played in every such length, and one table tells what that does to a contrast.
"""

import argparse
import itertools
from collections import defaultdict
from collections.abc import Callable, Sequence
from math import log, sqrt
from statistics import fmean, stdev

from benchmarks.turns import ARMS, Turn, add_arguments, competing, play, read, set_up
from pgassay.analysis.alternation import SliceRow, shares
from pgassay.analysis.boundaries import fixed_critical

Cell = tuple[str, str, str, int]


def by_cell(turns: Sequence[Turn]) -> dict[Cell, dict[int, list[Turn]]]:
    """Load, way, what was planted and the length of slices, then block; blocks that were not played to their end
    (each arm as often as the other) are left out."""
    found: dict[Cell, dict[int, list[Turn]]] = defaultdict(lambda: defaultdict(list))
    for turn in turns:
        found[turn.load, turn.way, turn.planted, turn.slice_ms][turn.block].append(turn)
    return {cell: {block: each for block, each in blocks.items() if _whole(each)} for cell, blocks in found.items()}


def _whole(turns: Sequence[Turn]) -> bool:
    played = [sum(turn.arm == arm for turn in turns) for arm in ARMS]
    return played[0] == played[1]


def contrasts(blocks: dict[int, list[Turn]], value: Callable[[Sequence[Turn]], float]) -> list[float]:
    """Each block's ln(b/a) of a value of an arm's slices."""
    return [
        log(value([each for each in turns if each.arm == "b"]) / value([each for each in turns if each.arm == "a"]))
        for turns in blocks.values()
    ]


def tps(turns: Sequence[Turn]) -> float:
    """Of an arm's slices together."""
    return sum(each.transactions for each in turns) / sum(each.active_s for each in turns)


def client_cpu(turns: Sequence[Turn]) -> float:
    """Per transaction, of an arm's slices together."""
    return sum(each.client_cpu_us * each.transactions for each in turns) / sum(each.transactions for each in turns)


def total_cpu(turns: Sequence[Turn]) -> float:
    """Of client and server per transaction, of an arm's slices together."""
    count = sum(each.transactions for each in turns)
    return sum((each.client_cpu_us + each.server_cpu_us) * each.transactions for each in turns) / count


def sequential(blocks: dict[int, list[Turn]]) -> list[float]:
    """What two trials one after the other would have said: the same arm in two neighbouring blocks."""
    speeds = [tps([each for each in turns if each.arm == "a"]) for turns in blocks.values()]
    return [log(later / earlier) for earlier, later in itertools.pairwise(speeds)]


def explained(blocks: dict[int, list[Turn]], name: str) -> float:
    """The share of the variance of single slices within a block that a metronome's value explains (R²)."""
    speeds, beats = list[float](), list[float]()
    for turns in blocks.values():
        rounds = defaultdict(list)
        for turn in turns:
            rounds[turn.round].append(turn)
        logs = [fmean(log(each.tps) for each in both) for both in rounds.values()]
        values = [log(both[0].metronome[name]) for both in rounds.values()]
        speeds += [each - fmean(logs) for each in logs]
        beats += [each - fmean(values) for each in values]
    both = sum(one * other for one, other in zip(speeds, beats, strict=True))
    return both**2 / (sum(each**2 for each in speeds) * sum(each**2 for each in beats))


def percent(share: float, digits: int = 3) -> str:
    """With so many significant digits."""
    return f"{100 * share:.{digits}g} %"


def spread(values: Sequence[float]) -> str:
    """A standard deviation in per cent with its own standard error."""
    if len(values) < 3:
        return "-"
    return f"{percent(stdev(values))} ± {percent(stdev(values) / sqrt(2 * (len(values) - 1)), 2)}"


def sources(turns: Sequence[Turn]) -> list[str]:
    """The first table, a line a load and way."""
    lines = [
        "| load | way | blocks | tps | CPU of others | sequential | in turns | by client CPU | by CPU time |"
        " machine, server, slice | metronome: core, memory, flush |",
        "|---" * 11 + "|",
    ]
    for (load, way, *_), blocks in sorted(by_cell(turns).items()):
        every = [turn for each in blocks.values() for turn in each]
        raw = contrasts(blocks, tps)
        adjusted = [one + other for one, other in zip(raw, contrasts(blocks, client_cpu), strict=True)]
        rows = [
            SliceRow(each.block, each.round, each.position, each.arm, each.transactions, each.active_s)
            for each in every
        ]
        found = shares(rows, ARMS[0])
        parts = () if found is None else (found.machine, found.instance, found.slice)
        others = fmean(each.others_share for each in every)
        deviations = ", ".join(percent(sqrt(each), 2) for each in parts)
        beats = ", ".join(f"{explained(blocks, name):.2f}" for name in every[0].metronome)
        lines.append(
            f"| {load} | {way} | {len(blocks)} | {tps(every):,.0f} | {percent(others, 2)} |"
            f" {spread(sequential(blocks))} | {spread(raw)} | {spread(adjusted)} |"
            f" {spread(contrasts(blocks, total_cpu))} | {deviations} | {beats} |"
        )
    return lines


def spectra(turns: Sequence[Turn]) -> list[str]:
    """The second table."""
    lines = ["| load | way | deviation of neighbouring windows, by their length |", "|---|---|---|"]
    return lines + [
        f"| {load} | {way} | {spectrum(blocks)} |" for (load, way, *_), blocks in sorted(by_cell(turns).items())
    ]


def spectrum(blocks: dict[int, list[Turn]]) -> str:
    """Of windows of 0.05 s (a tenth of half a second) upwards, both arms in the order of time."""
    found = []
    for window in (1, 5, 10, 20, 40):
        jumps: list[float] = []
        for turns in blocks.values():
            parts = [part for turn in sorted(turns, key=lambda turn: turn.began_s) for part in turn.parts]
            sums = [sum(parts[at : at + window]) for at in range(0, len(parts) - window + 1, window)]
            jumps += [log(later / earlier) for earlier, later in itertools.pairwise(sums) if earlier * later]
        if len(jumps) > 2:
            length_s = window * turns[0].active_s / len(turns[0].parts)
            found.append(f"{length_s:.1g} s {percent(stdev(jumps) / sqrt(2))}")
    return ", ".join(found)


def lengths(turns: Sequence[Turn]) -> list[str]:
    """Of --slices: the same servers in slices of several lengths; `a pair` is the ln(b/a) of a single round."""
    lines = ["| load | way | slices of each server | blocks | CPU of others | a pair | in turns |", "|---" * 7 + "|"]
    for (load, way, _, slice_ms), blocks in sorted(by_cell(turns).items()):
        every = [turn for each in blocks.values() for turn in each]
        rounds = len(every) // len(blocks) // len(ARMS)
        pairs = [
            log(speeds["b"] / speeds["a"])
            for turns_ in blocks.values()
            for number in {turn.round for turn in turns_}
            if min((speeds := {turn.arm: turn.tps for turn in turns_ if turn.round == number}).values()) > 0.0
        ]
        others = fmean(each.others_share for each in every)
        lines.append(
            f"| {load} | {way} | {rounds} of {slice_ms / 1000:g} s | {len(blocks)} | {percent(others, 2)} |"
            f" {percent(stdev(pairs))} | {spread(contrasts(blocks, tps))} |"
        )
    return lines


STUDY = 5
"""Blocks of a study, as few as decide."""


def identical(turns: Sequence[Turn]) -> list[str]:
    """What a study of these identical servers would say: how wide one after the other and in turns, how many times
    narrower, and in how many windows of five blocks a 95 % interval excludes no difference."""
    lines = [
        "| load | way | blocks | CPU of others | sequential | in turns | narrower | mean in turns |"
        " false: sequential | false: in turns |",
        "|---" * 10 + "|",
    ]
    for (load, way, *_), blocks in sorted(by_cell(turns).items()):
        every = [turn for each in blocks.values() for turn in each]
        apart, raw = sequential(blocks), contrasts(blocks, tps)
        half = fixed_critical(len(raw), 0.05) * stdev(raw) / sqrt(len(raw))
        lines.append(
            f"| {load} | {way} | {len(blocks)} | {percent(fmean(each.others_share for each in every), 2)} |"
            f" {spread(apart)} | {spread(raw)} | {stdev(apart) / stdev(raw):.3g} × |"
            f" {100 * fmean(raw):+.2f} % ± {percent(half, 2)} | {false_verdicts(apart[::2])} | {false_verdicts(raw)} |"
        )
    return lines


def false_verdicts(values: Sequence[float]) -> str:
    """Of all windows of so many neighbouring contrasts as a study has, those whose interval is off zero."""
    windows = [values[at : at + STUDY] for at in range(len(values) - STUDY + 1)]
    off = [
        window for window in windows if abs(fmean(window)) > fixed_critical(STUDY, 0.05) * stdev(window) / sqrt(STUDY)
    ]
    return f"{len(off)} of {len(windows)}"


def main(words: Sequence[str] | None = None) -> None:
    """Measure, or read; then print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loads", default="cpu,flush")
    add_arguments(parser, ways="usual,paired", blocks=8, rounds=8, slice_ms=500, out="noise.jsonl")
    parser.add_argument("--first", type=int, default=1, help="number of the first block, to go on in a file")
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--slices", help="lengths in milliseconds, each with its rounds: 400x6,100x24")
    parser.add_argument("--competitor", type=float, default=0.0, help="0.6: a program takes 0 to 60 %% of a core")
    given = parser.parse_args(words)
    slices = [(given.slice_ms, given.rounds)]
    if given.slices:
        slices = [(int(each.partition("x")[0]), int(each.partition("x")[2])) for each in given.slices.split(",")]
    if given.read is None:
        with set_up(given, append=True) as (made, ways, note), competing(given.competitor):
            for block in range(given.first, given.first + given.blocks):
                for load, way, (slice_ms, rounds) in itertools.product(given.loads.split(","), ways, slices):
                    play(
                        made, load, way, (0, 0), note, block=block, rounds=rounds, slice_ms=slice_ms,
                        clients=given.clients,
                    )  # fmt: skip
    turns = read(given.read or given.out)
    several = len({turn.slice_ms for turn in turns}) > 1
    tables = (lengths(turns),) if several else (identical(turns), sources(turns), spectra(turns))
    print("\n\n".join("\n".join(table) for table in tables))


if __name__ == "__main__":
    main()
