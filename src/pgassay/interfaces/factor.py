"""A factor: one small object that knows its stage, how a level is parsed, applied, read back and given back.

Adding a factor means adding one object to its room's `factors.py`, or to another package under the entry point group
`pgassay.factors`. It also says how an administrator adopts a level. The lab calls it by stage, in this order: build,
init, data (once on the empty schema, once on the loaded data), server, host, run. The key of a snapshot is all levels
up to and including data.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from pgassay.interfaces.hosting import Hosting
from pgassay.interfaces.server import Server
from pgassay.study.levels import Level
from pgassay.study.scale_model import ModelSize

if TYPE_CHECKING:
    from pgassay.interfaces.load import LoadResult


class Stage(StrEnum):
    """When a factor takes hold; all up to DATA are baked into the snapshot."""

    BUILD = "build"
    INIT = "init"
    DATA = "data"
    SERVER = "server"
    HOST = "host"
    RUN = "run"


BAKED = (Stage.BUILD, Stage.INIT, Stage.DATA)


@dataclass
class SetupDraft:
    """What the levels of one arm ask for, as texts: factors write into it, and the lab makes its typed setup of it."""

    version: str = ""
    """Which installed PostgreSQL serves: `17` or `17.5`; empty for any."""
    server: str = ""
    """Which of several servers of the user's serves; empty where there are not several."""
    build: dict[str, str] = field(default_factory=dict)
    init_options: dict[str, str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    load: dict[str, str] = field(default_factory=dict)
    drive: dict[str, str] = field(default_factory=dict)
    memory_bytes: int | None = None
    """What the server may have, where a host factor limits it."""
    table_fillfactor: int = 100
    """Percent to which rows fill the pages of every table, where a factor sets it for all."""

    def options(self, namespace: str) -> dict[str, str]:
        """The texts that are asked of one room, by names without their namespace (`load`, `drive`, `build`)."""
        return {"load": self.load, "drive": self.drive, "build": self.build}[namespace]


@dataclass(frozen=True)
class Turns:
    """Whether the servers of a block may take turns in slices of seconds when they differ in a factor.

    They may if what the factor changes shows within seconds of a server's own work, and if servers can differ in it
    while all of them live. Effects that outlive a slice are not seen: Hu and Wager 2022, carry-over in switchback
    experiments. docs/evidence/statistics.md lists every factor.
    """

    refusal: str = ""
    """Why they cannot take turns; empty where they may."""
    note: str = ""
    """What must hold where they may."""
    one_value: bool = False
    """Must all servers of a block agree in it, so that conditions and covariates are refused as well?"""


IN_MEMORY = Turns(note="memory must hold all servers of a block with their data")


@dataclass(frozen=True)
class Readable:
    """What levels are read back from once a trial's server runs and (for run-stage factors) its load has ended."""

    server: Server
    load_result: "LoadResult | None" = None


class Factor:
    """The base of all factors; a subclass overrides what differs.

    `pattern` is the name, with `*` for a part that the user chooses (`server.*`, `table.*.fillfactor`).
    """

    pattern: str = ""
    stage: Stage = Stage.RUN
    summary: str = ""
    accepts: str = ""
    """What may be written for a level, in a few words; empty where the summary says it."""
    unit: str = ""
    """In what the levels count (`s`, `bytes`); empty for words and plain numbers."""
    default: str = ""
    """The canonical text that holds if a study does not name the factor; empty where that is not fixed."""
    scales: bool = False
    """Is a curve over it a scaling curve: more clients, threads or processors?"""
    own_sql: bool = False
    """Are its levels SQL of the user's, tried on the loaded data before the first trial?"""
    places_only: bool = False
    """Of a factor of the host: does it say only where and how a server's processes run, and change nothing else?"""
    holds_rows: bool = False
    """Do the files and folders that its levels name hold a user's rows? A capsule then leaves them out."""
    rank: int = 0
    """Factors of the host are applied from the lowest rank on: a memory limit must know the huge pages."""
    in_turns: Turns | None = None
    """May servers that differ in it take turns? None where it is not known how soon the factor shows."""

    def parse(self, name: str, typed: str) -> Level:
        """The level in canonical form; raises `UsageError` with what would be accepted."""
        raise NotImplementedError

    def map_paths(self, name: str, level: Level, change: Callable[[Path], Path]) -> Level:
        """The level with the path of each file and folder that it names as `change` makes it; most levels name none."""
        return level

    def rooted(self, name: str, typed: str) -> str:
        """What was typed with its paths from the root, as a record keeps it; raises `UsageError` as `parse` does."""
        level = self.parse(name, typed)
        return level.canonical if any(str(path) not in typed for path in self.paths_of(name, level)) else typed

    def paths_of(self, name: str, level: Level) -> tuple[Path, ...]:
        """The user's files that the level names."""
        found: list[Path] = []

        def noted(path: Path) -> Path:
            found.append(path)
            return path

        self.map_paths(name, level, noted)
        return tuple(found)

    def turns(self, name: str) -> Turns | None:
        """`in_turns`, unless it differs between the names that the factor covers."""
        return self.in_turns

    def size(self, name: str) -> ModelSize | None:
        """How a level shrinks in a scale model; None for what is no size."""
        return None

    def prepare(self, name: str, level: Level, setup: SetupDraft) -> None:
        """Write into the setup what this level asks for (before anything starts)."""

    def on_empty_schema(self, name: str, level: Level, server: Server) -> None:
        """DATA stage: tables exist, rows do not."""

    def on_loaded_data(self, name: str, level: Level, server: Server) -> None:
        """DATA stage: rows and indexes exist."""

    def on_copied_data(self, name: str, level: Level, server: Server) -> None:
        """DATA stage of a database that is a copy of another: its layout is kept where the level does not change it."""
        self.on_loaded_data(name, level, server)

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """What really holds, in the level's canonical form if it agrees; None when nothing can show it."""
        raise NotImplementedError

    def adopt_by(self, name: str, level: Level, server: Server) -> str | None:
        """What an administrator does to put a level into practice on a server of their own, for record and report.

        Asked once the trial's load has ended. The steps in words, one a line; of a setting just `reload` or `restart`,
        as the running server says. None where the factor has nothing to say.
        """
        return None

    def unavailable(self, name: str) -> str | None:
        """Why this machine cannot have the factor at all (no root, no such kernel), or None: asked before a run."""
        return None

    def require_here(self, name: str, level: Level) -> None:
        """Raise `UsageError` for a level that this machine cannot have; asked before a run."""

    def apply(self, name: str, level: Level, hosting: Hosting) -> None:
        """HOST stage: change the machine through `hosting.changes`, which gives back; raises `HostError`."""


def matches(pattern: str, name: str) -> bool:
    """Does a factor's pattern cover this name? `*` stands for one or more parts."""
    head, star, tail = pattern.partition("*")
    if not star:
        return pattern == name
    return name.startswith(head) and name.endswith(tail) and len(name) > len(head) + len(tail)


Catalogue = Mapping[str, Factor]
"""Pattern to factor, most specific first."""
