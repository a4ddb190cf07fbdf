"""Levels and what is made of them: treatments, conditions and the arms of a design; and by interface who reads them.

A level is kept as typed (what a reader recognises) and in canonical form (what two levels are compared by). A treatment
is one combination of factor levels; an *arm* is a treatment inside one condition and at one covariate point: the unit
that a block holds once.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import NamedTuple, Protocol


@dataclass(frozen=True)
class Level:
    """A value of a factor: `typed` as the user wrote it, `canonical` for comparison (`"8192"` bytes for `8kB`)."""

    typed: str
    canonical: str

    def __str__(self) -> str:
        return self.typed


Levels = Mapping[str, Level]
"""Factor name to level, in the study's order."""


def label(levels: Levels) -> str:
    """How a combination is named everywhere: `table.fillfactor=75, load.clients=8`; empty for no levels."""
    return ", ".join(f"{name}={level.typed}" for name, level in levels.items())


@dataclass(frozen=True)
class Combination:
    """A combination of levels (a treatment, a condition, a covariate point) with its name.

    `called` is the study's own short name for it; empty where it has none.
    """

    levels: Levels = field(default_factory=dict)
    called: str = ""

    @property
    def name(self) -> str:
        return self.called or label(self.levels)

    def __hash__(self) -> int:
        return hash(tuple((name, level.canonical) for name, level in self.levels.items()))


class Cell(NamedTuple):
    """A condition at a covariate point, by their names: a treatment is compared with the baseline of the same cell."""

    condition: str = ""
    covariate: str = ""

    @property
    def name(self) -> str:
        """Both as one label, without those that a study does not have."""
        return ", ".join(filter(None, self))


class Place(NamedTuple):
    """Where a number belongs: treatment, condition and covariate point, by their names as records keep them."""

    treatment: str = ""
    condition: str = ""
    covariate: str = ""

    @property
    def cell(self) -> Cell:
        """The place without its treatment."""
        return Cell(self.condition, self.covariate)

    @property
    def name(self) -> str:
        """All three as one label, without those that a study does not have: the label of the arm."""
        return ", ".join(filter(None, self))


@dataclass(frozen=True)
class Arm:
    """A treatment inside a condition and at a covariate point; every block holds each arm in play once."""

    treatment: Combination
    condition: Combination = field(default_factory=Combination)
    covariate: Combination = field(default_factory=Combination)

    @property
    def name(self) -> str:
        return self.place.name

    @property
    def place(self) -> Place:
        return Place(self.treatment.name, self.condition.name, self.covariate.name)

    @property
    def levels(self) -> dict[str, Level]:
        return {**self.treatment.levels, **self.condition.levels, **self.covariate.levels}


class LevelParser(Protocol):
    """The one thing of a factor that parsing a study needs; it does not know who applies the level."""

    def parse(self, name: str, typed: str) -> Level:
        """The level in canonical form; raises `UsageError` with what would be accepted."""


class FactorNames(Protocol):
    """All factors by name, as the lab's catalogue offers them."""

    def find(self, name: str) -> LevelParser | None:
        """The factor that covers this name, or None."""

    def names(self) -> Sequence[str]:
        """Every name or pattern, for suggestions and for `pgassay studies --factors`."""


_SETTINGS = "server"
"""The namespace of PostgreSQL's settings."""
_ALIKE = 0.75
"""How alike two words are, by difflib, when one is taken for a misspelling of the other."""

_LIKE_OURS = frozenset({"postgis"})
"""Extensions whose names look like a namespace of ours (`postgres`), and are no misspelling."""


def full_name(name: str, known: Iterable[str]) -> str:
    """A name as a user types it with its namespace; `known` are the names and patterns of all factors.

    A setting needs no `server.` before it, nor does one of an extension (`pg_trgm.similarity_threshold`). What looks
    like a misspelt namespace stays as it is, so that the name is refused and not measured: PostgreSQL takes any name
    with a dot.
    """
    namespace, dot, _ = name.partition(".")
    if not dot:
        return f"{_SETTINGS}.{name}"
    namespaces = {each.partition(".")[0] for each in known}
    if namespace in namespaces:
        return name
    if namespace not in _LIKE_OURS and get_close_matches(namespace.lower(), namespaces, n=1, cutoff=_ALIKE):
        return name
    return f"{_SETTINGS}.{name}"
