"""A fleet in one process: a head on a machine of fakes, hosts that are machines of fakes of their own."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pgassay.fleet.blocks import BlockOrder, FleetRunLoop, HostedBlock
from pgassay.fleet.parcels import Arrived
from pgassay.lab.runner import Watcher
from pgassay.record.directory import RunDirectory
from pgassay.record.reading import Run
from tests.fakes.executor import FakeExecutor
from tests.lab.machine import ROOT
from tests.lab.simulation import RUN, Simulation, header, simulate

MESSAGE = "message: "
"""How the name of a moment begins that is a message."""


def hosted(place: Path, **changes: object) -> Callable[[BlockOrder, str], Arrived]:
    """A host: each block on a bench of its own, as each block has a process of its own."""

    def run(order: BlockOrder, host: str) -> Arrived:
        simulation = simulate(place, **changes)
        work = ROOT / "block"
        simulation.machine.disk.mkdir(work)
        return HostedBlock(simulation.resolved(), order, host, work).run()

    return run


@dataclass
class Fleet:
    """A head with its hosts; `head.machine` can be cut short anywhere."""

    head: Simulation
    place: Path
    names: tuple[str, ...] = ("h1", "h2", "h3")
    dies: frozenset[int] = frozenset()
    idle: frozenset[str] = frozenset()
    alike: bool = False
    """Do all hosts give one name? Then which of them ran a block is not in the record, and changes no decision."""
    executors: list[FakeExecutor] = field(default_factory=list)

    def carry_on(self, seed: int = 0) -> None:
        """What `pgassay run --on` does on a fresh head, and `resume --on` where the run exists."""
        disk, clock = self.head.machine.disk, self.head.machine.clock
        changes = {"study": self.head.study, "events": self.head.events, "speeds": self.head.speeds}
        hosts = {name: self._host(changes) for name in self.names}
        self.executors.append(FakeExecutor(hosts, seed, self.dies, self.idle, self._message))
        if disk.exists(RUN):
            run = RunDirectory.open(RUN, disk, clock.wall_ns)
            if run.finished:
                run.close()
                return
            run.resumed()
        else:
            run = RunDirectory.create(RUN, header(), "", {}, disk, clock.wall_ns)
        with run:
            trials = list(Run.open(RUN, disk).trials)
            FleetRunLoop(self.head.resolved(), run, Watcher(), trials, executor=self.executors[-1]).conduct()

    def _message(self, name: str) -> None:
        """What passes between head and hosts is a moment, too, at which the head can be killed."""
        self.head.machine.moment(f"{MESSAGE}{name}")

    def _host(self, changes: dict[str, object]) -> Callable[[BlockOrder, str], Arrived]:
        run = hosted(self.place, **changes)
        return (lambda order, host: run(order, "h")) if self.alike else run
