"""How many minutes until a verdict on an effect of 10 %, one server after the other and in turns, at a measured noise.

usage: python -m benchmarks.time_to_verdict FILE [--effect 10] [--studies 2000]

FILE has the raw records of identical servers (benchmarks/noise.py). Simulated studies of two treatments draw their
blocks' contrasts from those records, add the effect, and are looked at after each block as a study is. Blocks one after
the other are as long as blocks in turns without what passes between the slices. A block's length is that of the
records, which is shorter than a study's; the ratio is what counts.
"""

import argparse
import itertools
from collections.abc import Mapping, Sequence
from math import inf, log
from pathlib import Path
from statistics import fmean, median

import numpy as np

from benchmarks.noise import by_cell, contrasts, sequential, tps
from benchmarks.turns import Turn, read
from benchmarks.validity.simulate import look

HORIZON = 120
"""Blocks at most."""
RESOLUTION = 0.02


def blocks_to_verdict(measured: Sequence[float], effect: float, studies: int, seed: int = 1) -> float:
    """The median over simulated studies; infinite where most end without a verdict."""
    rng = np.random.default_rng(seed)
    drawn = rng.choice(np.asarray(measured) - fmean(measured), (studies, HORIZON)) + log(1.0 + effect)
    values = np.stack([np.zeros_like(drawn), drawn], axis=2)
    settled = look(values, HORIZON).settled_at(log(1.0 + RESOLUTION))
    return float(np.quantile(settled[:, 0], 0.5, method="inverted_cdf"))


def lengths_s(blocks: Mapping[int, Sequence[Turn]], starts_s: float) -> tuple[float, float]:
    """Of a block one after the other and in turns, each with the start of its servers."""
    played = median(sum(turn.active_s for turn in turns) for turns in blocks.values())
    spans = (
        max(turn.began_s + turn.active_s for turn in turns) - min(turn.began_s for turn in turns)
        for turns in blocks.values()
    )
    return played + starts_s, median(spans) + starts_s


def between_s(turns: Sequence[Turn]) -> float:
    """What passes between the last slice of a block and the first of the next, which starts servers: the median."""
    ordered = sorted(turns, key=lambda turn: turn.began_s)
    pairs = itertools.pairwise(ordered)
    found = [
        later.began_s - earlier.began_s - earlier.active_s
        for earlier, later in pairs
        if (earlier.load, earlier.way, earlier.block) != (later.load, later.way, later.block)
    ]
    return median(found)


def table(turns: Sequence[Turn], effect: float = 0.1, studies: int = 2000) -> list[str]:
    """A row for each load and way; what was before is one after the other in the usual way, where that was measured."""
    lines = [
        "| load | way | blocks measured | one after the other | in turns | before ÷ in turns |",
        "|---" * 6 + "|",
    ]
    starts_s = between_s(turns)
    cells = {(load, way): blocks for (load, way, *_), blocks in sorted(by_cell(turns).items())}
    minutes = {
        cell: [
            blocks_to_verdict(values, effect, studies) * length_s / 60
            for values, length_s in zip(
                (sequential(blocks), contrasts(blocks, tps)), lengths_s(blocks, starts_s), strict=True
            )
        ]
        for cell, blocks in cells.items()
    }
    for (load, way), found in minutes.items():
        before = minutes.get((load, "usual"), found)[0]
        shown = [f"{each:.3g} min" if each < inf else f"none in {HORIZON} blocks" for each in found]
        ratio = f"{before / found[1]:.3g} ×" if max(before, found[1]) < inf else "-"
        lines.append(f"| {load} | {way} | {len(cells[load, way])} | {shown[0]} | {shown[1]} | {ratio} |")
    return lines


def main(words: Sequence[str] | None = None) -> None:
    """Read, simulate, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--effect", type=float, default=10.0, help="in per cent")
    parser.add_argument("--studies", type=int, default=2000)
    given = parser.parse_args(words)
    print("\n".join(table(read(given.file), given.effect / 100, given.studies)))


if __name__ == "__main__":
    main()
