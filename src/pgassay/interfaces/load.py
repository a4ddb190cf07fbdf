"""A load, by interface: what fills a database and what then works on it.

The preparing steps are apart so that table options can be set on empty tables (`create`), before rows arrive (`fill`),
and that `age` can update the data. `run` never raises for what the load does to the server: see its `LoadResult`.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Generic, Protocol, Self, TypeVar, runtime_checkable

from pgassay import children
from pgassay.errors import UsageError
from pgassay.interfaces.client import HERE, PlayerHost
from pgassay.interfaces.factor import Turns
from pgassay.interfaces.kinds import SWITCH, choice, seconds
from pgassay.interfaces.options import OptionFactor, Options, factors_of, option
from pgassay.interfaces.probe import Sample
from pgassay.interfaces.running import Clock, Elsewhere, Runner, Starter
from pgassay.interfaces.server import READY_S, Server
from pgassay.interfaces.slices import SlicePlayer
from pgassay.study.document import COUNT_LEVELS
from pgassay.study.responses import Response
from pgassay.study.work import TRANSACTION, Work

Moment = tuple[int, int]
"""By the monotonic and by the wall clock, ns."""
SEEDS_OF_BLOCK = 64
"""All plays of a block have seeds from n to n + 63, where n is a multiple of this: keys differ, but where instructions
are counted, scripts come in the same order."""


@dataclass(frozen=True)
class LoadResult:
    """One run of a load, as its own program reports it.

    It lasted from `began` to `ended`. `responses` by name (None where not available), `series` per second, `problems`
    names what went wrong in the load's own words (code to detail: `aborted`, `failed_transactions` …), `read_back`
    gives the options as the program echoed them (`load.clients` to `4`). `written_bytes` is what the program itself
    wrote to files, where it says so: the kernel does not count asynchronous I/O.
    """

    status: int
    began: Moment
    ended: Moment
    transactions: int
    responses: Mapping[str, float | None]
    series: tuple[Sample, ...] = ()
    problems: Mapping[str, str] = field(default_factory=dict)
    read_back: Mapping[str, str] = field(default_factory=dict)
    written_bytes: float | None = None
    elsewhere: Elsewhere | None = None
    """What its own host says, where that is another one."""

    @property
    def started_monotonic_ns(self) -> int:
        return self.began[0]

    @property
    def finished_monotonic_ns(self) -> int:
        return self.ended[0]

    @property
    def started_wall_ns(self) -> int:
        return self.began[1]

    @property
    def finished_wall_ns(self) -> int:
        return self.ended[1]


EMPTY_CLUSTER_BYTES = 40 << 20
"""What initdb makes."""
CACHES = ("cold", "warm", "prewarmed")
CHECKPOINTS = ("cycle", "wal", "none", "default")


@dataclass(frozen=True, kw_only=True)
class LoadOptions(Options):
    """What every load is asked, in the lab's own hands or the same for any program; a driver's options add to it.

    A driver's own class names the driver (`driver = "pgbench"`), so that options say who takes them.
    """

    namespace = "load"
    turns = Turns("is done around a window, which slices do not have")
    driver: ClassVar[str] = ""
    """The name of the driver that takes these options: the level of `load.driver`."""

    duration_s: int | None = option(
        seconds(),
        name="duration",
        default=60,
        unit="s",
        summary="length of the measured window (pgbench -T, sysbench --time)",
    )
    warmup_s: int = option(
        seconds(least=0),
        name="warmup",
        default=0,
        unit="s",
        summary="length of the warm-up, a run of its own before the window",
    )
    cache: str = option(choice(*CACHES), default="prewarmed", summary="the cache state that a window starts from")
    checkpoint: str = option(
        choice(*CHECKPOINTS),
        default="cycle",
        summary="whole checkpoint cycles by time or by WAL, the burst after one, or as the server's settings have it",
    )
    yardstick: str = option(
        choice("none", "cpu"),
        default="none",
        summary="a reference measured after each window: sysbench cpu, where installed",
    )
    vacuum: bool = option(SWITCH, default=False, summary="VACUUM before the window")
    page_space: bool = option(
        SWITCH, default=False, summary="read how much of the tables' pages is free, before the window and after it"
    )
    compressibility: bool = option(
        SWITCH, default=False, summary="after the window, compress a sample of tables, indexes and WAL"
    )
    maintenance: bool = option(
        SWITCH, default=False, summary="after the window, time a CHECKPOINT and a VACUUM of every page"
    )
    memory_bytes: int | None = None
    """What the server may have, where a factor of the host limits it; no option of the load itself."""

    @property
    def reads_only(self) -> bool:
        """Is it known to write nothing, so that no transaction waits for a flush?"""
        return False

    @property
    def transactions(self) -> int | None:
        """Of each client, instead of a duration; a driver that can count them declares it as an option."""
        return None

    @property
    def age(self) -> float:
        """Updates of every row before the snapshot; a driver that can age its data declares it as an option."""
        return 0.0

    @property
    def host(self) -> str:
        """Where its program runs; a driver whose program can be elsewhere declares it as an option."""
        return HERE

    @property
    def round_trips(self) -> float | None:
        """How often a client waits for its server in a transaction; None where its program alone knows."""
        return None

    @property
    def cuts(self) -> int:
        """Power cuts during the window; a driver that tells when its transactions ended declares it as an option."""
        return 0

    @property
    def counting(self) -> str:
        """The level of `load.count`; a load of a fixed number of transactions declares it as an option."""
        return "off"

    @property
    def count(self) -> bool:
        """Are instructions counted instead of timing it?"""
        return self.counting in COUNT_LEVELS

    @property
    def counted_along(self) -> int | None:
        """How many transactions are counted in trials of their own, along with timing it."""
        return None

    @property
    def recovery_limit_s(self) -> float:
        """How long a server may take to recover after a power cut."""
        return READY_S

    @property
    def recovers_as_set(self) -> bool:
        """Does each server that recovers have the treatment's own settings? Else one in some has, others quick ones."""
        return False

    @property
    def keeps_ledger(self) -> bool:
        """Does the load write down each transaction, so that a lost one is found?"""
        return False

    @property
    def timed_s(self) -> int | None:
        """The length of the window; None where the work is counted or the load ends by itself."""
        return None if self.transactions is not None else self.duration_s

    @property
    def connections(self) -> int:
        return 1

    @property
    def session_bytes(self) -> int:
        """About how much memory the server's process of each connection takes for itself."""
        return 8 << 20

    def estimated_bytes(self) -> int:
        """About how many bytes the loaded data take, at FILLFACTOR 100 and 8 kB pages: those of an empty cluster."""
        return EMPTY_CLUSTER_BYTES

    @property
    def trial_bytes(self) -> int:
        """The part of `estimated_bytes` that each trial makes for itself, so that no snapshot holds it."""
        return 0

    @property
    def laid_out_bytes(self) -> int:
        """The part of `trial_bytes` that is written in each clone before the load's time begins."""
        return 0

    def warm_up(self) -> Self:
        """The options of the run that warms up: the same load for the length of the warm-up."""
        return replace(self, duration_s=self.warmup_s, warmup_s=0)


_Identity = tuple[int, int, int, int]


class FileHashes:
    """Hashes of the user's own files; a file is read again when its size, time of change or inode is another.

    A `load.init` may be a dump of many gigabytes, and its hash is part of the snapshot's key, which is asked for
    several times a trial. To read it each time would cost minutes and fill the page cache right before a measurement.
    """

    def __init__(self) -> None:
        self._known: dict[Path, tuple[_Identity, str]] = {}

    def sha256(self, path: Path) -> str:
        """SHA-256 of a file's contents, in hexadecimal; raises `OSError` where it cannot be read."""
        found = path.stat()
        identity = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
        known = self._known.get(path)
        if known is None or known[0] != identity:
            with path.open("rb") as file:
                known = identity, hashlib.file_digest(file, "sha256").hexdigest()
            self._known[path] = known
        return known[1]


@dataclass(frozen=True)
class Tools:
    """What loads are made with: the folder of PostgreSQL's programs, who starts programs, the time, users' files."""

    bindir: Path
    runner: Runner
    clock: Clock
    hashes: FileHashes = field(default_factory=FileHashes)
    elsewhere: Starter | None = None
    """Starts the load's own program on another host; None where it runs with the server."""
    player_host: PlayerHost | None = None  # for the player, where it plays on another host


class Load(Protocol):
    """A load with its options, as the lab uses it; `BaseLoad` has what most drivers share."""

    @property
    def name(self) -> str:
        """The driver's name: `pgbench`, `sysbench` …"""

    @property
    def options(self) -> LoadOptions:
        """What it was made with; defaults are filled in."""

    @property
    def responses(self) -> tuple[Response, ...]:
        """What a run yields, whatever the options."""

    def check(self) -> None:
        """Raise `UsageError` for what cannot run here (a missing script or program); nothing is started by it."""

    def data_key(self) -> Mapping[str, str]:
        """The options, and hashes of the user's files, that the loaded data depend on: part of the snapshot's key."""

    def estimated_bytes(self) -> int:
        """About how many bytes the loaded data take, for the check before a run."""

    def create(self, server: Server) -> None:
        """Create the empty schema, so that table options can be set on it; raises `BenchError`."""

    def fill(self, server: Server) -> None:
        """Load the rows, build keys and indexes, VACUUM ANALYZE; raises `BenchError`."""

    def age(self, server: Server) -> None:
        """Update the data as `load.age` asks, then let pruning and vacuum settle; raises `BenchError`."""

    def require_names(self, server: Server) -> None:
        """Raise `UsageError` where what the user wrote names what the loaded data do not have; nothing is changed."""

    def run(self, server: Server, output: Path, seed: int) -> LoadResult:
        """Run for `options.timed_s` or until the work is done; every raw output is kept in the folder `output`."""

    def keep_inputs(self, output: Path) -> None:
        """Copy the user's scripts to a trial's outputs, so that the run can be repeated elsewhere as it was."""

    def verify(self, server: Server) -> Mapping[str, str]:
        """What is wrong with the data after a window, code to detail as in `LoadResult.problems`; empty if nothing is.

        Asked once every counter of the window is read; never raises for what the server answers.
        """

    def broken(self, server: Server) -> Mapping[str, str]:
        """What shows in the data of a recovered server that a transaction is there in part, code to detail.

        Empty where nothing does, or where the load knows no such rule. Raises `QueryError` where they cannot be read.
        """

    @property
    def ungated(self) -> str | None:
        """Why it cannot be played in slices, in words for a message; None where it can. Starts nothing that lasts."""

    def gate(self, server: Server, seed: int, *, paired: bool = False) -> SlicePlayer:
        """The same load on this server in slices, connected and standing still; the caller closes it.

        With `paired` each thread shares one CPU with its clients' backends, where its threads are as many as the CPUs.
        Raises `UsageError` where `ungated` has a reason, `LoadError` where the server refuses the connections.
        """


Own = TypeVar("Own", bound=LoadOptions)


class BaseLoad(Generic[Own]):
    """The base of drivers: holds options and tools, and does nothing in the steps that a driver leaves out.

    A driver adds `responses` and `run`, and whichever steps it has something to do in; see `Load` for what each means.
    """

    def __init__(self, options: Own, tools: Tools) -> None:
        self.options = options
        self.tools = tools

    @property
    def name(self) -> str:
        return self.options.driver

    def check(self) -> None:
        """Refuse nothing; a driver that can tell what cannot run raises `UsageError`."""

    def data_key(self) -> Mapping[str, str]:
        return {}

    def estimated_bytes(self) -> int:
        return self.options.estimated_bytes()

    def create(self, server: Server) -> None:
        """Create nothing: there is no schema."""

    def fill(self, server: Server) -> None:
        """Load nothing: there are no rows."""

    def age(self, server: Server) -> None:
        """No rows that could age."""

    def require_names(self, server: Server) -> None:
        """There is nothing that the user wrote."""

    def keep_inputs(self, output: Path) -> None:
        """There are no scripts of the user's."""

    def verify(self, server: Server) -> Mapping[str, str]:
        return {}

    def broken(self, server: Server) -> Mapping[str, str]:
        return {}

    @property
    def ungated(self) -> str | None:
        """Its program goes its own way; a driver whose load the player knows overrides this and `gate`."""
        return f'the load "{self.name}" cannot be played in slices: it cannot stand still between two transactions'

    def gate(self, server: Server, seed: int, *, paired: bool = False) -> SlicePlayer:
        """Refuse by name; raises `UsageError`."""
        raise cannot_gate(self.ungated or f'the load "{self.name}" cannot be played in slices: it has no gate')


@dataclass(frozen=True)
class Driver(Generic[Own]):
    """A load driver, as pgassay knows it: what it is, which options it takes, and how a load is made.

    Another package's driver is found by its entry point in the group `pgassay.loads`, whose name is the driver's.
    What is heavy, such as numpy, is imported when data are loaded, so that naming the drivers costs nothing.
    """

    options: type[Own]
    make: Callable[[Own, Tools], Load]
    summary: str
    program: str = ""
    """The program that must be installed in addition to PostgreSQL; empty if there is none."""
    program_hint: str = ""
    """Where to get that program."""
    work: Work = TRANSACTION
    """What the load calls a unit of its work: costs are given for one of it."""
    require_scripts: Callable[[], object] = object
    """Raises `UsageError` where scripts that the program plays are not where they are looked for by default."""

    @property
    def name(self) -> str:
        """The driver's name: its level of `load.driver`."""
        return self.options.driver

    @property
    def responses(self) -> tuple[Response, ...]:
        """What its loads measure themselves, if their class says so; else empty."""
        found: object = getattr(self.make, "responses", ())
        return found if isinstance(found, tuple) else ()

    def require_program(self) -> None:
        """Raise `UsageError` if its program is not installed: known before any PostgreSQL is built for it."""
        if self.program and children.which(self.program) is None:
            raise UsageError(f'"{self.program}" is not installed', self.program_hint)

    def takes(self, name: str) -> bool:
        """Does it understand this option (`clients`, without the namespace)?"""
        return name == "driver" or any(each.option.name == name for each in factors_of(self.options))

    @property
    def own_factors(self) -> tuple[OptionFactor, ...]:
        """The options that not every driver has, as factors."""
        common = {each.pattern for each in factors_of(LoadOptions)}
        return tuple(each for each in factors_of(self.options) if each.pattern not in common)


def cannot_gate(reason: str) -> UsageError:
    return UsageError(reason, 'run the treatments one after the other: design.pairing = "sequential"')


@dataclass(frozen=True)
class LedgerState:
    """What a database has of a load that writes its transactions down: of each client its rows and the greatest
    sequence number in them; sums of amounts, by name, that are equal unless a transaction is there in part; and how
    many amounts are not what the last of their transactions left."""

    rows: Mapping[int, tuple[int, int]]
    sums: Mapping[str, int]
    differing: int = 0


@runtime_checkable
class LedgerLoad(Protocol):
    """A load that writes its transactions down in the database, where `LoadOptions.keeps_ledger` says so.

    What the program says was acknowledged is compared with what the database has: a power cut may have taken one.
    """

    def ledger_state(self, server: Server, seed: int, since: LedgerState | None = None) -> LedgerState:
        """What this database has of the run with this seed; raises `QueryError` where it cannot be read.

        With `since`, an earlier state of the same run, older rows are taken from there and only what came later is
        read, so that the time does not grow with the run; all is read where that state is not there any more.
        """

    def acknowledged(self, output: Path) -> Mapping[int, Sequence[tuple[int, bool]]]:
        """By a finished run's output, client to its transactions in order: when each was answered (wall clock, ns),
        and whether it was committed."""


class ReferenceMeasurement(Protocol):
    """What the processors can do without PostgreSQL, how far the network is, and the like."""

    def responses(self, options: LoadOptions) -> tuple[Response, ...]:
        """What it yields for a load with these options; nothing where it is not asked for."""

    def measure(self, options: LoadOptions, server: Server) -> Mapping[str, float | None]:
        """Measure now, while this server is idle; each of `responses` by name, None where it failed."""
