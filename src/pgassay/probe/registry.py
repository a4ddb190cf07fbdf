"""All probes, ours and those of other packages, and what they make of a window: the only list of them.

The kernel's files are read before the server is asked, since a question costs the server something; the views of all
probes that read SQL once a second are one statement.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pgassay import plugins
from pgassay.bench.errors import QueryError
from pgassay.bench.probe import Differences, Probe, Reader, Target
from pgassay.probe.disks import Disks, ServerGroup
from pgassay.probe.drives import Drives
from pgassay.probe.processes import LabProcesses, Machine, ServerFiles, ServerProcesses
from pgassay.probe.server_views import Checkpoints, Database, Io, RowVersions, Sizes, Tables, Wal
from pgassay.probe.statistics import Session, Statistics, View, ViewProbe, statement
from pgassay.probe.waits import Waits
from pgassay.study.responses import Response

PROBES: tuple[Probe, ...] = (
    ServerProcesses(),
    LabProcesses(),
    RowVersions(),
    Wal(),
    Tables(),
    Database(),
    ServerFiles(),
    Disks(),
    ServerGroup(),
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
        """All probes, ours before other packages'."""
        return (*self.ours, *self.foreign)

    @property
    def responses(self) -> tuple[Response, ...]:
        """What they yield of every trial."""
        return tuple(cost.response for probe in self.all for cost in probe.costs)

    def costs(self, counters: Differences, transactions: int) -> dict[str, float | None]:
        """Every response, by name, of a window; None where a counter is missing or nothing was done."""
        return {cost.response.name: cost.value(counters, transactions) for probe in self.all for cost in probe.costs}

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
            *(reader for probe in usable if not probe.asks_server for reader in probe.readers(target)),
            *statistics,
            *(reader for probe in usable if probe.asks_server for reader in probe.readers(target)),
        )

    def _readable(self, probe: Probe, view: View, target: Target) -> View:
        """Another package's view that this server refuses must not take the whole statement with it."""
        if probe in self.ours:
            return view
        try:
            target.server.query(statement([view]))
        except QueryError:
            return view.without_values()
        return view


def every_probe() -> Probes:
    """Ours and those of other packages (entry points `pgassay.probes`); raises `PluginError` for a broken one."""
    taken = [probe.name for probe in PROBES]
    return Probes(foreign=tuple(plugins.load(plugins.Group.PROBES, Probe, taken).required().values()))
