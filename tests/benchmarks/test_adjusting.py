"""What a covariate would have done to servers that took turns: a planted machine and treatment, kept and read."""

from math import exp
from pathlib import Path
from random import Random

import pytest

from benchmarks.adjusting import Kept, read, table, written
from pgassay.analysis.alternation import SliceRow

WORK, OFF = "server.work_mem=4MB", "server.work_mem=8MB"


def kept(touched: float) -> Kept:
    """Thirty blocks of eight rounds on a machine that changes with each slice, which a clock tells; the treatment slows
    the server down by a tenth, and touches the clock."""
    source, rows = Random(5), []
    for block in range(1, 31):
        for number in range(1, 9):
            for position, arm in enumerate((WORK, OFF), start=1):
                machine, mine = source.gauss(0, 0.2), arm == OFF
                clock = exp(-machine + (touched if mine else 0.0) + source.gauss(0, 0.01))
                tps = 1000 * exp(machine - (0.1 if mine else 0.0))
                rows.append(SliceRow(block, number, position, arm, tps, 1.0, covariates={"clock": clock, "none": 0.0}))
    return Kept("planted", WORK, tuple(rows))


def cells_of(run: Kept) -> list[str]:
    (line,) = table([run])[2:]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_what_the_clock_explains_and_what_the_treatment_does_to_it(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl.gz"
    written([kept(0.0)], path)
    assert read(path) == [kept(0.0)]
    name, blocks, covariate, exponent, explained, raw, adjusted, moved = cells_of(kept(0.0))
    assert (name, blocks, covariate) == (f"planted: {OFF}", "30", "clock"), "one that is 0 has no logarithm"
    assert float(exponent) == pytest.approx(-1, abs=0.02)
    assert float(explained) > 0.99
    assert float(adjusted.split(" %")[0]) < float(raw.split(" %")[0]) / 3
    assert abs(float(moved.split(" %")[0])) < float(moved.split(" ± ")[1].strip(" %"))
    assert float(cells_of(kept(0.1))[-1].split(" %")[0]) == pytest.approx(-10, abs=2), "it would take the effect away"
