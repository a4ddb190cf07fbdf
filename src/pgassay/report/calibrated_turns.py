"""What a calibration tells of equal servers that took turns, by way: the noise that was left, and the best slice.

Each way is a run of its own inside the calibration's (docs/report.md, "What calibrate prints").
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import sqrt
from statistics import median

from pgassay.analysis.numbers import rounded
from pgassay.analysis.slice_length import Deviation, slice_for
from pgassay.analysis.spectrum import Turns, spectrum, turns_of
from pgassay.record import slices
from pgassay.record.calibrations import REALTIME, TURNS, WAYS
from pgassay.record.reading import Run
from pgassay.report import words

WAY_NAMES: Mapping[str, str] = {TURNS: "in turns", REALTIME: "in turns, realtime"}
"""What the ways are called; the second asks for `host.scheduling = "realtime"`."""


@dataclass(frozen=True)
class Way:
    """One way in which equal servers took turns: its blocks, and what they tell; `found` is None for too few.

    `between_s` passed between two slices, `best_slice_s` is the length that narrows an interval most.
    """

    name: str
    blocks: int
    block_s: float
    slice_s: float
    best_slice_s: float
    between_s: float
    found: Turns | None
    spectrum: tuple[Deviation, ...]


def way_of(name: str, run: Run) -> Way:
    """What the run of a way found, as far as it came; raises `RecordError`."""
    rows = slices.rows(run)
    baseline = next((trial.arm for trial in run.trials), "")
    lengths_s: dict[int, float] = dict.fromkeys((row.block for row in rows), 0.0)
    for trial in run.trials:
        if trial.block in lengths_s:
            lengths_s[trial.block] += trial.length_s
    found, between_s = spectrum(rows), slices.between_s(run) or 0.0
    return Way(
        name=name,
        blocks=len(lengths_s),
        block_s=median(lengths_s.values()) if lengths_s else 0.0,
        slice_s=run.asked.design.slice_s,
        best_slice_s=slice_for(found, between_s),
        between_s=between_s,
        found=turns_of(rows, baseline),
        spectrum=found,
    )


def in_turns(ways: Mapping[str, Way], refused: Mapping[str, str]) -> Iterator[str]:
    """Lines on each way: the noise that is left, where it comes from, how speed wanders, the best slice; or why not."""
    for name in WAYS:
        way = ways.get(name)
        if way is not None and way.found is not None:
            yield ""
            yield from _lines(way, way.found)
        elif way is not None or name in refused:
            few = f"{words.counted(way.blocks, 'block')} of slices cannot tell it" if way is not None else ""
            yield ""
            yield f"Two equal servers {WAY_NAMES[name]}: not known, {refused.get(name) or few}"


def _lines(way: Way, turns: Turns) -> Iterator[str]:
    shares = turns.shares
    yield f"Two equal servers {WAY_NAMES[way.name]} ({words.counted(way.blocks, 'block')}, slices of {way.slice_s:g} s)"
    yield (
        f"  noise        {_percent(turns.noise)} [{_percent(turns.noise_low)}, {_percent(turns.noise_high)}]"
        " of tps from one server to the other within a block"
    )
    yield (
        f"  of a slice   the machine {_percent(sqrt(shares.machine))} (turns take it out), the start of a server"
        f" {_percent(sqrt(shares.instance))}, its own {_percent(sqrt(shares.slice))}"
    )
    if way.spectrum:
        lengths = (f"{rounded(each.length_s)} s {_percent(each.deviation)}" for each in way.spectrum)
        yield f"  speed        neighbours differ by: {', '.join(lengths)}"
    yield (
        f"  slices       of {way.best_slice_s:g} s narrow an interval most (--slice auto takes that length);"
        f" {rounded(way.between_s)} s pass between two"
    )


def _percent(share: float) -> str:
    return f"{share * 100:.2g} %"
