"""Everything from outside that a run touches, by interface: the lab is handed one `Environment` and knows nothing else.

The real one is assembled by `workbench`; tests hand in fakes and simulate whole runs.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from pgassay.drive.options import DriveOptions
from pgassay.errors import UsageError
from pgassay.interfaces.client import ClientHost
from pgassay.interfaces.errors import Missing
from pgassay.interfaces.hosting import HostChanges
from pgassay.interfaces.load import Load, LoadOptions, ReferenceMeasurement
from pgassay.interfaces.places import UserFiles
from pgassay.interfaces.probe import Instrument, Meter, Reader, Reading, Sample
from pgassay.interfaces.running import Clock
from pgassay.interfaces.server import Installation, Server
from pgassay.interfaces.slices import Metronome
from pgassay.interfaces.store import Drive, Needs
from pgassay.lab.catalogue import FactorCatalogue
from pgassay.lab.settings import PREPARING
from pgassay.postgres.builds.request import BuildRequest
from pgassay.record.disk import Disk
from pgassay.record.live_sample import LiveSample

FOREIGN_SHARE_MAX = 0.25
"""A trial is invalid if other programs use more than this share of the CPU, or write more than this share of what is
written to the drive; for machines that are not known to be busy."""


class Sampling(Protocol):
    """Reads all probes once a second in the background, and exactly at the window's edges."""

    def read_all(self) -> tuple[Reading, ...]:
        """One reading of every probe, now."""

    def start(self, notify: Callable[[Reading], None] | None = None) -> None:
        """Begin to sample, once a second; `notify` gets each reading as it is made."""

    def stop(self) -> tuple[Sample, ...]:
        """End it and return every sample since `start`."""

    def rest(self) -> None:
        """Ask the server nothing until `wake`, since it is about to stand still."""

    def wake(self) -> None:
        """The server goes on."""

    def meters(self) -> Mapping[str, Meter]:
        """`source.name` to meter, for making differences."""

    def close(self) -> None:
        """Stop, and give back what the probes hold."""


class Caches(Protocol):
    """The page cache beneath a server."""

    def make_cold(self, directory: Path) -> str:
        """Drop the pages of our own files; returns how it was done."""

    def make_warm(self, directory: Path) -> str:
        """Read the files through once; returns how it was done."""


Attach = Callable[[DriveOptions, Needs], Drive]
"""From what one treatment asks of its drives, and what the study puts on them, to the drives as one."""


def _nothing_to_copy(name: str) -> int:
    raise UsageError(
        f'"init.copy_database" cannot be "{name}" where the servers are pgassay\'s own',
        "name the server that has this database with --server",
    )


@dataclass(frozen=True)
class ServerAccess:
    """What the lab may do by itself on the servers: everything on clusters of ours, less on a server of the user's."""

    ours: bool = True
    """Else its databases stand for clusters: those of one server cannot take turns."""
    in_one_piece: str = ""
    """Why windows on a server that is not ours cannot be cut into slices, even where several are compared; empty where
    they can."""
    pins: Callable[[str], bool] = lambda setting: True
    """May the lab set this setting by itself, for the sake of the regime?"""
    preparing: Mapping[str, str] = field(default_factory=lambda: PREPARING)
    """The settings while a snapshot is made; none on a server that is not ours, where nothing is the lab's to risk."""
    checkpoints: bool = True
    """May we ask for a CHECKPOINT before a window?"""
    database_bytes: Callable[[str], int] = _nothing_to_copy
    """How large a database of the user's own server is; a server of ours has none to copy: raises `UsageError`."""
    pairs: bool = True
    """May clients share a CPU with their backends (`design.placement`)? Not with those of another account."""
    restart: str = ""
    """The user's command by which the server is restarted before each trial; empty where that is not so."""
    require_alike: Callable[[str, Server], None] = lambda key, server: None
    """Raises `BenchError` where another server of the user's was given other data under this key."""
    visitors: Callable[[], str] = str
    """Who else has used the server since the last question, in words; empty for nobody, as on servers of ours."""


@dataclass(frozen=True)
class Environment:
    clock: Clock
    drive: Attach
    """The drives that these options ask for, as one; attached once and given back with the workbench."""
    catalogue: FactorCatalogue
    installation: Callable[[str, BuildRequest | None], Installation]
    """The installed PostgreSQL of that version (empty for any), or the one that is to be built."""
    effective: Callable[[Server], Mapping[str, str]]
    """The settings that are not at their built-in default, and all that are counted in blocks, as the server says."""
    load: Callable[[LoadOptions, Installation], Load]
    """A load with these options, played by the programs of this installation."""
    probes: Callable[[Server, Path], Sequence[Reader]]
    sampling: Callable[[Sequence[Reader]], Sampling]
    caches: Caches
    disk: Disk
    socket_directory: Path
    host: HostChanges
    """Changes of this machine by the factors of the host stage."""
    peak_bytes: Callable[[int], int]
    """The largest virtual size, in bytes, that the process of this id has had; raises `OSError`."""
    memory_bytes: int
    """This machine's memory, in bytes."""
    require_program: Callable[[str], None]
    """Raises `UsageError` if what a load driver needs besides PostgreSQL is not installed."""
    client: Callable[[str], ClientHost | None]
    """The host that `load.host` names; None where the load's program runs where the server does, by its socket."""
    references: Sequence[ReferenceMeasurement]
    """What is measured after each window besides the load, where its options ask for it."""
    instruments: Mapping[str, Instrument]
    """What counts the servers' instructions, by level of `load.count`."""
    note: Callable[[Path, LiveSample], None]
    """Adds what a trial does just now to its staging directory, for those who watch (see `record.live_sample`)."""
    foreign_share_max: float = FOREIGN_SHARE_MAX
    """A trial is invalid if other programs use more than this share of the CPU; 1 on a machine known to be busy."""
    metronome: Callable[[Path], Metronome] | None = None
    """Measures the machine between the slices of servers that take turns, and the device of the directory."""
    missing: Missing = field(default_factory=Missing)
    """Gets what this machine lacks for the study: it refuses a run, and gathers it for a plan."""
    server: ServerAccess = field(default_factory=ServerAccess)
    """What the lab may do by itself on the servers."""
    sets: Mapping[str, Mapping[str, "Environment"]] = field(default_factory=dict)
    """Of servers of the user's that are compared, the environment of each by its level of `postgres.server`: a set has
    one of each level, and blocks go to the sets in turn. Empty where nothing but levels differs between arms."""
    ahead: Callable[[], Attach] | None = None
    """Attaches drives as a plan sees them, before a device is written over (`ResolvedStudy.foreseen`).

    None for plans.
    """
    files: UserFiles = field(default_factory=UserFiles)
    """Where the user's files are that the study names by their paths on another machine."""
    held: Callable[[], AbstractContextManager[None]] = nullcontext
    """Around what Ctrl-C must not cut short: clean-ups and writes of the record (see `interruption`)."""
