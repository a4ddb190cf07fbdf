"""From the levels of an arm to what each room is asked for, and to the key of the snapshot it starts from.

The key covers everything up to the data stage: programs, initdb options, loaded data, table options, age. Two arms
with one key share one golden snapshot.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from pgassay.bench.factor import BAKED, Factor, Setup, Stage
from pgassay.bench.load import Load
from pgassay.bench.server import Installation
from pgassay.lab.catalogue import FactorCatalogue
from pgassay.study.levels import Level


@dataclass(frozen=True)
class Bound:
    """A level with the factor that applies it."""

    name: str
    level: Level
    factor: Factor


@dataclass(frozen=True)
class Composition:
    """What one arm asks of every room."""

    setup: Setup
    bound: tuple[Bound, ...]

    def at(self, *stages: Stage) -> tuple[Bound, ...]:
        """The levels of these stages, in the study's order."""
        return tuple(each for each in self.bound if each.factor.stage in stages)


def compose(levels: Mapping[str, Level], catalogue: FactorCatalogue) -> Composition:
    """Let every factor write its level into one setup, in the order of the stages."""
    bound = []
    for name, level in levels.items():
        factor = catalogue.find(name)
        if factor is None:
            raise KeyError(name)  # a parsed study holds only names that the catalogue knows
        bound.append(Bound(name, level, factor))
    order = list(Stage)
    bound.sort(key=lambda each: order.index(each.factor.stage))
    setup = Setup()
    for each in bound:
        each.factor.prepare(each.name, each.level, setup)
    return Composition(setup, tuple(bound))


def snapshot_key(composition: Composition, installation: Installation, load: Load) -> str:
    """A short hash of everything that the golden snapshot depends on."""
    parts = {
        "bindir": str(installation.bindir),
        "version": installation.version.text,
        "init": dict(sorted(composition.setup.init_options.items())),
        "load": load.name,
        "data": dict(sorted(load.data_key(composition.setup.load).items())),
        "levels": {each.name: each.level.canonical for each in composition.at(*BAKED)},
    }
    text = json.dumps(parts, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]
