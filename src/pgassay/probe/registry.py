"""All probes, ours and those of other packages, and what they make of a window: the only list of them.

The kernel's files are read before the server is asked, since a question costs the server something; the views of all
probes that read SQL once a second are one statement.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from pgassay import plugins
from pgassay.interfaces.errors import QueryError
from pgassay.interfaces.probe import Differences, Probe, Reader, Reading, Target
from pgassay.interfaces.running import Clock
from pgassay.probe.drives import Drives
from pgassay.probe.procfs import Disks, LabFiles, LabProcesses, Machine, ServerFiles, ServerProcesses
from pgassay.probe.server_views import Checkpoints, Database, Io, RowVersions, Sizes, Tables, Waits, Wal
from pgassay.probe.statistics import Session, Statistics, View, ViewProbe, statement
from pgassay.study.responses import Response

PROBES: tuple[Probe, ...] = (
    ServerProcesses(),
    LabProcesses(),
    RowVersions(),
    Wal(),
    Tables(),
    Database(),
    ServerFiles(),
    LabFiles(),
    Disks(),
    Io(),
    Drives(),
    Sizes(),
    Checkpoints(),
    Waits(),
    Machine(),
)
"""Ours, in the order in which their costs are listed."""


@dataclass(frozen=True)
class Probes:
    """The probes of a run; `foreign` are other packages'."""

    ours: tuple[Probe, ...] = PROBES
    foreign: tuple[Probe, ...] = ()

    @property
    def all(self) -> tuple[Probe, ...]:
        return (*self.ours, *self.foreign)

    @property
    def responses(self) -> tuple[Response, ...]:
        """What they yield of every trial."""
        return tuple(cost.response for probe in self.all for cost in probe.costs)

    def costs(self, counters: Differences, transactions: int) -> dict[str, float | None]:
        """Every response, by name, of a window; None where a counter is missing or nothing was done.

        Also None where another package's cost raises: a trial of minutes is worth more than that number.
        """
        found = {cost.response.name: cost.value(counters, transactions) for probe in self.ours for cost in probe.costs}
        for cost in (cost for probe in self.foreign for cost in probe.costs):
            found[cost.response.name] = None
            with suppress(Exception):
                found[cost.response.name] = cost.value(counters, transactions)
        return found

    def unavailable(self, target: Target) -> Mapping[str, str]:
        """Which probes cannot read here, and why, by name."""
        reasons = {probe.name: probe.unavailable(target) for probe in self.all}
        return {name: reason for name, reason in reasons.items() if reason is not None}

    def open(self, target: Target) -> tuple[Reader, ...]:
        """The readers on a running server, in the order in which they are to be read; the caller closes them."""
        missing = self.unavailable(target)
        usable = [probe for probe in self.all if probe.name not in missing]
        session = Session(target.server.endpoint)
        version = target.server.version.major
        quick, slow = (
            [
                self._readable(probe, probe.view(version), target)
                for probe in usable
                if isinstance(probe, ViewProbe) and probe.per_second is per_second
            ]
            for per_second in (True, False)
        )
        statistics = [
            Statistics(session, version, views, target.clock, per_second=per_second, other_session=other_session)
            for views, per_second, other_session in ((quick, True, target.server.query), (slow, False, None))
            if views
        ]
        return (
            *(reader for probe in usable if not probe.asks_server for reader in self._readers(probe, target)),
            *statistics,
            *(reader for probe in usable if probe.asks_server for reader in self._readers(probe, target)),
        )

    def _readers(self, probe: Probe, target: Target) -> Sequence[Reader]:
        readers = probe.readers(target)
        return readers if probe in self.ours else [_Guarded(reader, target.clock) for reader in readers]

    def _readable(self, probe: Probe, view: View, target: Target) -> View:
        """A view that this server refuses must not take the whole statement with it: another package's, which may be
        wrong, or any where rights may lack. Of ours just the columns go that are refused."""
        if (probe in self.ours and not target.guarded) or _answers(target, view):
            return view
        if probe not in self.ours:
            return replace(view, columns=tuple(each.hidden for each in view.columns), origin="")
        columns = (each if _answers(target, replace(view, columns=(each,))) else each.hidden for each in view.columns)
        return replace(view, columns=tuple(columns))


def _answers(target: Target, view: View) -> bool:
    if not view.selected:
        return True
    try:
        target.server.query(statement([view]))
    except QueryError:
        return False
    return True


class _Guarded:
    """Another package's reader: where it raises, although it must not, its values are None and the trial goes on."""

    def __init__(self, reader: Reader, clock: Clock) -> None:
        self.meters = reader.meters
        self.per_second = reader.per_second
        self._reader = reader
        self._clock = clock

    def settle(self) -> None:
        with suppress(Exception):
            self._reader.settle()

    def read(self) -> tuple[Reading, ...]:
        with suppress(Exception):
            return self._reader.read()
        now = self._clock.monotonic_ns(), self._clock.wall_ns()
        return tuple(
            Reading(source, *now, {meter.name: None for meter in meters}) for source, meters in self.meters.items()
        )

    def rest(self) -> None:
        with suppress(Exception):
            self._reader.rest()

    def wake(self) -> None:
        with suppress(Exception):
            self._reader.wake()

    def close(self) -> None:
        with suppress(Exception):
            self._reader.close()


def every_probe() -> Probes:
    """Ours and those of other packages (entry points `pgassay.probes`); raises `PluginError` for a broken one."""
    taken = [probe.name for probe in PROBES]
    return Probes(foreign=tuple(plugins.load(plugins.Group.PROBES, Probe, taken).required().values()))
