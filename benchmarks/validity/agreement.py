"""The simulation against the product: a few of its studies, look by look, through `compare` and `verdict`."""

from math import exp, isnan, log

import numpy as np

from benchmarks.validity.cells import Cell
from benchmarks.validity.simulate import logs, look
from pgassay.analysis.boundaries import FIRST_LOOK
from pgassay.analysis.compare import compare
from pgassay.analysis.observations import Observation
from pgassay.analysis.verdicts import Kind, verdict
from pgassay.study.levels import Place
from pgassay.study.responses import Better, Response

TPS = Response("tps", "tps", "1/s", Better.HIGHER)
_CELL = Cell("t3", 0.01, "dropped", 3, 12)


def agreement(seed: int) -> tuple[int, int]:
    """The same of ten studies, as the command asks for."""
    return disagreements(_CELL, 10, 0.02, np.random.default_rng(seed))


def disagreements(cell: Cell, studies: int, resolution: float, rng: np.random.Generator) -> tuple[int, int]:
    """(looks at which simulation and product differ, looks compared)."""
    effects = np.linspace(0.0, 0.05, cell.treatments)
    values = logs(cell, studies, effects, rng)
    paths = look(values, cell.blocks)
    different, equivalent = paths.different(), paths.equivalent(log(1.0 + resolution))
    wrong = total = 0
    arms = [Place(f"a{arm}") for arm in range(cell.treatments)]
    for study in range(studies):
        for step in range(cell.blocks - FIRST_LOOK + 1):
            seen = [
                Observation(block + 1, f"a{arm}", "", "", None if isnan(value) else exp(value))
                for block in range(step + FIRST_LOOK)
                for arm, value in enumerate(values[study, block])
            ]
            effects_found = compare(seen, TPS, "a0", blocks_max=cell.blocks, primary=True, arms=arms, moderated=True)
            for k, effect in enumerate(effects_found):
                kind = verdict(effect, TPS, resolution=resolution, blocks_max=cell.blocks).kind
                expected = (
                    kind is Kind.EQUIVALENT
                    if equivalent[study, step, k]
                    else kind in (Kind.BETTER, Kind.WORSE)
                    if different[study, step, k]
                    else kind is Kind.UNRESOLVED
                )
                total += 1
                wrong += not expected
    return wrong, total
