"""A load, by interface: what fills a database and what then works on it.

The preparing steps are apart so that table options can be set on empty tables (`create`), before rows arrive (`fill`),
and so that `age` can wear the data before the snapshot. `run` never raises for what the load does to the server: an
abort, failed transactions or a dead server are part of its `LoadResult`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from pgassay.bench.counters import Sample
from pgassay.bench.kinds import SWITCH, choice, seconds
from pgassay.bench.options import Options, option
from pgassay.bench.server import Server
from pgassay.study.responses import Response

Moment = tuple[int, int]
"""By the monotonic and by the wall clock, ns."""


@dataclass(frozen=True)
class LoadResult:
    """One run of a load, as its own program reports it.

    It lasted from `began` to `ended`. `responses` by name (None where not available), `series` per second, `problems`
    names what went wrong in the load's own words (code to detail: `aborted`, `failed_transactions` …), `read_back`
    gives the options as the program echoed them (`load.clients` to `4`).
    """

    status: int
    began: Moment
    ended: Moment
    transactions: int
    responses: Mapping[str, float | None]
    series: tuple[Sample, ...] = ()
    problems: Mapping[str, str] = field(default_factory=dict)
    read_back: Mapping[str, str] = field(default_factory=dict)

    @property
    def started_monotonic_ns(self) -> int:
        """When it began, by a clock that nobody sets."""
        return self.began[0]

    @property
    def finished_monotonic_ns(self) -> int:
        """When it ended, by a clock that nobody sets."""
        return self.ended[0]

    @property
    def started_wall_ns(self) -> int:
        """When it began, by the wall clock."""
        return self.began[1]

    @property
    def finished_wall_ns(self) -> int:
        """When it ended, by the wall clock."""
        return self.ended[1]


CACHES = ("cold", "warm", "prewarmed")
CHECKPOINTS = ("cycle", "wal", "none")


@dataclass(frozen=True, kw_only=True)
class LoadOptions(Options):
    """What every load is asked, in the lab's own hands or the same for any program; a driver's options add to it.

    A warm-up is a run of the same load with `replace(options, duration_s=options.warmup_s, …)`.
    """

    namespace = "load"

    duration_s: int | None = option(
        seconds(),
        name="duration",
        default=60,
        unit="s",
        summary="length of the measured window (pgbench -T, sysbench --time)",
    )
    warmup_s: int = option(
        seconds(least=0), name="warmup", default=0, unit="s", summary="length of a run of its own before the window"
    )
    cache: str = option(choice(*CACHES), default="prewarmed", summary="the cache state that a window starts from")
    checkpoint: str = option(
        choice(*CHECKPOINTS),
        default="cycle",
        summary="whole checkpoint cycles by time or by WAL, or the burst after one",
    )
    yardstick: str = option(
        choice("none", "cpu"),
        default="none",
        summary="what is measured after each window: sysbench cpu, where installed",
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
    transactions: int | None = None
    """Of each client, instead of a duration; a driver that can count them declares it as an option."""
    age: float = 0.0
    """Updates of every row before the snapshot; a driver that can age its data declares it as an option."""

    @property
    def timed_s(self) -> int | None:
        """The length of the window; None where the work is counted or the load ends by itself."""
        return None if self.transactions is not None else self.duration_s

    @property
    def connections(self) -> int:
        """How many connections the load opens at once."""
        return 1


class Load(Protocol):
    """A load driver; `options` are its `load.NAME` levels without the prefix, canonical, defaults filled in."""

    @property
    def name(self) -> str:
        """`pgbench`, `sysbench` …"""

    @property
    def responses(self) -> tuple[Response, ...]:
        """What it can yield."""

    def check(self, options: Mapping[str, str]) -> None:
        """Refuse what cannot run (a missing script, contradictory options) before anything starts; `UsageError`."""

    def data_key(self, options: Mapping[str, str]) -> Mapping[str, str]:
        """The options (and hashes of the user's files) that the loaded data depend on: part of the snapshot's key."""

    def estimated_bytes(self, options: Mapping[str, str]) -> int:
        """About how much room the loaded data take, for the check before a run."""

    def create(self, server: Server, options: Mapping[str, str]) -> None:
        """Create the empty schema."""

    def fill(self, server: Server, options: Mapping[str, str]) -> None:
        """Load the rows, build keys and indexes, VACUUM ANALYZE."""

    def age(self, server: Server, options: Mapping[str, str]) -> None:
        """Wear the data as `options["age"]` asks, then let pruning and vacuum settle."""

    def run(self, server: Server, options: Mapping[str, str], output: Path, seed: int) -> LoadResult:
        """Run it, keeping every raw output in the directory `output`."""


@runtime_checkable
class Verifying(Protocol):
    """A load that can tell whether its data are as they must be; asked after every counter of a window is read."""

    def verify(self, server: Server, options: Mapping[str, str]) -> Mapping[str, str]:
        """What is wrong with the data, code to detail as in `LoadResult.problems`; empty when nothing is."""
