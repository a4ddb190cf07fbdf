"""Would a covariate have narrowed a comparison of servers that took turns, and does the treatment touch it?

usage: python -m benchmarks.adjusting RUN… [--keep FILE]      # runs of pgassay whose servers took turns
       python -m benchmarks.adjusting --read FILE             # the table again from slices that were kept

For each run, treatment and covariate: the exponent by which the speed of a slice goes with the covariate of that slice,
from what is left of both when rounds and servers are taken out, and the share of the slices' variance that it explains;
the standard deviation of a block's ln(treatment/baseline) as it is and at equal covariate (CUPED: Deng et al., WSDM
2013; the exponent costs nothing here, so that what it gains is flattered); and by how much the covariate's own
difference between the servers would move the effect, with a 95 % interval over blocks.
"""

import argparse
import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import log, sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.noise import percent, spread
from benchmarks.turns import lines_of
from pgassay.analysis.alternation import SliceRow, block_values
from pgassay.analysis.boundaries import fixed_critical
from pgassay.design.schedule import is_baseline
from pgassay.lab.catalogue import every_factor
from pgassay.record.reading import Run
from pgassay.record.slices import rows
from pgassay.study.parsing import parse

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Kept:
    """The slices of one run; its name says what was compared."""

    name: str
    baseline: str
    slices: tuple[SliceRow, ...]


def kept(path: Path) -> Kept:
    """Of a run directory, against the baseline of its first condition."""
    run = Run.open(path)
    study = parse(run.header.study, run.study, every_factor())
    baseline = next(arm.name for arm in study.arms if is_baseline(study, arm))
    return Kept(path.name, baseline, rows(run))


def covariates(slices: Sequence[SliceRow]) -> list[str]:
    """Those that every slice has, and above 0."""
    names = set.intersection(*(set(each.covariates) for each in slices))
    return sorted(name for name in names if all(each.covariates[name] > 0.0 for each in slices))


def residuals(slices: Sequence[SliceRow], arms: Sequence[str], name: str) -> tuple[Floats, Floats]:
    """What is left of ln(speed) and ln(covariate) of slices when the round and the server of a block are taken out."""
    found: list[tuple[Floats, Floats]] = []
    for block in dict.fromkeys(each.block for each in slices):
        mine = {(each.round, each.arm): each for each in slices if each.block == block and not each.discarded}
        rounds = [number for number, _ in mine if all((number, arm) in mine for arm in arms)]
        table = [[mine[number, arm] for arm in arms] for number in dict.fromkeys(rounds)]
        if len(table) > 1:
            speed = np.asarray([[log(each.transactions / each.seconds) for each in line] for line in table])
            clock = np.asarray([[log(each.covariates[name]) for each in line] for line in table])
            found.append((_without_means(speed), _without_means(clock)))
    return np.concatenate([one.ravel() for one, _ in found]), np.concatenate([other.ravel() for _, other in found])


def _without_means(values: Floats) -> Floats:
    return np.asarray(values - values.mean(axis=0) - values.mean(axis=1, keepdims=True) + values.mean())


def table(runs: Sequence[Kept]) -> list[str]:
    """A row for each run, treatment and covariate."""
    lines = [
        "| run | blocks | covariate | exponent | explained of a slice | a block's contrast | at equal covariate |"
        " moved by the covariate's own difference |",
        "|---" * 8 + "|",
    ]
    for run in runs:
        for treatment in dict.fromkeys(each.arm for each in run.slices if each.arm != run.baseline):
            lines += _of_treatment(run, treatment)
    return lines


def _of_treatment(run: Kept, treatment: str) -> Iterator[str]:
    arms = (run.baseline, treatment)
    slices = [each for each in run.slices if each.arm in arms]
    values = {(each.block, each.arm): each for each in block_values(slices).values}
    blocks = [block for block, arm in values if arm == treatment and (block, run.baseline) in values]
    raw = [log(values[block, treatment].tps / values[block, run.baseline].tps) for block in blocks]
    for name in covariates(slices):
        speed, clock = residuals(slices, arms, name)
        both, own = float(speed @ clock), float(clock @ clock)
        exponent = both / own if own > 0.0 else 0.0
        explained = exponent * both / float(speed @ speed)
        ratios = [
            log(values[block, treatment].covariates[name] / values[block, run.baseline].covariates[name])
            for block in blocks
        ]
        left = [one - exponent * other for one, other in zip(raw, ratios, strict=True)]
        moved = [exponent * each for each in ratios]
        half = fixed_critical(len(moved), 0.05) * stdev(moved) / sqrt(len(moved))
        yield (
            f"| {run.name}: {treatment} | {len(blocks)} | {name} | {exponent:+.2f} | {explained:.2f} | {spread(raw)} |"
            f" {spread(left)} | {100 * fmean(moved):+.2f} % ± {percent(half, 2)} |"
        )


def written(runs: Sequence[Kept], path: Path) -> None:
    """One line a slice."""
    with gzip.open(path, "wt", encoding="utf-8") as text:
        for run in runs:
            for each in run.slices:
                text.write(json.dumps({"run": run.name, "baseline": run.baseline, **asdict(each)}) + "\n")


def read(path: Path) -> list[Kept]:
    """The runs of such a file."""
    found: dict[tuple[str, str], list[SliceRow]] = {}
    for line in lines_of(path):
        each: dict[str, Any] = {**line, "parts": tuple(line["parts"])}
        found.setdefault((each.pop("run"), each.pop("baseline")), []).append(SliceRow(**each))
    return [Kept(name, baseline, tuple(slices)) for (name, baseline), slices in found.items()]


def main(words: Sequence[str] | None = None) -> None:
    """Read, keep, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", type=Path)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--read", type=Path)
    given = parser.parse_args(words)
    found = [*(read(given.read) if given.read else []), *map(kept, given.runs)]
    if given.keep:
        written(found, given.keep)
    print("\n".join(table(found)))


if __name__ == "__main__":
    main()
