"""A machine of fakes whose every moment is numbered, so that a lab on it can be cut short at each of them.

A moment is a step of the record's disk or a call of a bench's fake. What is planned for it happens before it does.
"""

import errno
import shutil
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from pgassay.interfaces.errors import ClientLostError, DriveError
from pgassay.interfaces.hosting import ANYWHERE, Placement
from pgassay.interfaces.load import LoadResult
from pgassay.interfaces.places import Listening
from pgassay.interfaces.probe import Reader, Reading, Sample
from pgassay.interfaces.server import READY_S, Server
from pgassay.interfaces.slices import Slice
from pgassay.lab.interruption import Interruption
from pgassay.load.pgbench.options import PgbenchOptions
from pgassay.probe.sampler import Sampler
from pgassay.testing.fakes import FakeClock, FakeInstallation, FakeServer
from tests.fakes.disk import Crashed, FakeDisk, Fault
from tests.fakes.drive import FakeDrive
from tests.fakes.load import ANSWERS, FakeLoad
from tests.fakes.player import FakePlayer

ROOT = Path("/runs")


class Planned(StrEnum):
    """What may happen at a moment, besides the faults of the disk."""

    KILL = "kill"
    """The lab is gone (and what it started with it)."""
    INTERRUPT = "interrupt"
    """Ctrl-C."""


class Machine:
    """What outlives a lab: disk, drive and time; `moments` is the log of all that happened, numbered from 1."""

    def __init__(self, place: Path) -> None:
        self.moments: list[str] = []
        self.planned: dict[int, Planned] = {}
        self.interruption = Interruption()
        self.disk = MachineDisk(self)
        self.disk.make_root(ROOT)
        self.clock = MachineClock(self)
        self.drive = MachineDrive(self, place)
        self.installation = MachineInstallation(self)
        self.samplings: list[MachineSampling] = []
        self.players: list[MachinePlayer] = []
        self.jumps: dict[int, float] = {}
        """By how many seconds the wall clock jumps, by the moment of a sleep."""
        self.full_output: int | None = None
        """The n-th output of a load (from 1) finds the record's disk full."""

    def moment(self, name: str) -> None:
        """Something is about to happen."""
        self.disk.exists(ROOT)  # Crashed if the lab is gone: a dead process does nothing more
        self.moments.append(name)
        planned = self.planned.get(len(self.moments))
        if planned is Planned.INTERRUPT:
            self.interruption.arrive()
        elif planned is Planned.KILL:
            self.disk.kill()

    def restart(self) -> None:
        """The next lab on this machine: what a killed one left is removed, as when a drive is attached."""
        self.planned = {}
        self.full_output = None
        self.interruption = Interruption()
        self.drive.sweep()
        self.installation.servers.clear()
        self.samplings.clear()
        self.players.clear()

    def left_behind(self) -> list[str]:
        """Everything that was started and not stopped, made and not discarded."""
        servers = [f"server {number}" for number, server in enumerate(self.installation.servers) if server.alive()]
        samplings = [f"sampling {number}" for number, each in enumerate(self.samplings) if not each.closed]
        players = [f"player {number}" for number, each in enumerate(self.players) if not each.closed]
        return [*servers, *samplings, *players, *(path.name for path in self.drive.places())]


class MachineDisk(FakeDisk):
    """Its steps are moments."""

    def __init__(self, machine: Machine) -> None:
        super().__init__()
        self._machine = machine

    def kill(self) -> None:
        """The lab dies now."""
        self._crashed = True
        raise Crashed

    def _step(self, doing: str, path: Path) -> bool:
        self._machine.moment(f"disk {doing} {path.name}")
        return super()._step(doing, path)


class MachineClock(FakeClock):
    """`jump_s` moves the wall clock while the next sleeper sleeps."""

    def __init__(self, machine: Machine) -> None:
        super().__init__()
        self._machine = machine
        self.jump_s = 0.0

    def sleep(self, seconds: float) -> None:
        self.advance(seconds / 2)
        self.jump(self.jump_s + self._machine.jumps.get(len(self._machine.moments) + 1, 0.0))
        self.jump_s = 0.0
        self._machine.moment("sleep")
        self.advance(seconds / 2)


class MachineDrive(FakeDrive):
    """Keeps small real directories, for that is what a fake server's cluster is; `full` names clones without room."""

    def __init__(self, machine: Machine, place: Path) -> None:
        super().__init__(root=place)
        self._machine = machine
        self._place_of_snapshots = place / "snapshots"
        self._place_of_snapshots.mkdir()
        self.full: dict[str, Exception] = {}

    def places(self) -> list[Path]:
        """Workspaces and clones that are there."""
        return sorted(path for path in self._root.iterdir() if path != self._place_of_snapshots)

    def sweep(self) -> None:
        """What attaching does."""
        self.repair()
        for path in self.places():
            shutil.rmtree(path)

    def workspace(self, name: str) -> Path:
        self._machine.moment(f"drive workspace {name}")
        path = super().workspace(name)
        path.mkdir()
        return path

    def take_snapshot(self, key: str, directory: Path, what: str = "") -> None:
        self._machine.moment("drive take_snapshot")
        self._require_stopped(directory)
        super().take_snapshot(key, directory, what)
        directory.rename(self._place_of_snapshots / key)

    def clone(self, key: str, name: str) -> Path:
        self._machine.moment(f"drive clone {name}")
        if name in self.full:
            raise self.full[name]
        path = super().clone(key, name)
        shutil.copytree(self._place_of_snapshots / key, path)
        return path

    def discard(self, directory: Path, *, check: bool = False) -> None:
        self._machine.moment(f"drive discard {directory.name}")
        self._require_stopped(directory)
        self._require_ours(directory)
        if directory.exists():
            shutil.rmtree(directory)
        super().discard(directory, check=check)

    def _require_stopped(self, directory: Path) -> None:
        if (directory / "postmaster.pid").exists():
            raise DriveError(f'a server runs in "{directory}"', "stop it first")


class MachineInstallation(FakeInstallation):
    """`initdb_failure`, if set, is what every initdb with these options dies with."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(answers=ANSWERS)
        self._machine = machine
        self.initdb_failures: dict[str, Exception] = {}

    def initialize(self, directory: Path, options: Mapping[str, str]) -> None:
        self._machine.moment("initdb")
        for value in options.values():
            if value in self.initdb_failures:
                raise self.initdb_failures[value]
        self._machine.clock.advance(3.0)
        super().initialize(directory, options)

    def start(
        self,
        directory: Path,
        settings: Mapping[str, str],
        socket_directory: Path,
        placement: Placement = ANYWHERE,
        ready_s: float = READY_S,
        listening: Listening | None = None,
        crashed: Path | None = None,
    ) -> "MachineServer":
        self._machine.moment("server start")
        plain = super().start(directory, settings, socket_directory, placement, ready_s, listening, crashed)
        self.servers.remove(plain)
        server = MachineServer(directory, settings, plain.endpoint, self.version, self._answers)
        server.machine = self._machine
        server.listening = listening
        self._machine.clock.advance(0.2)
        self.servers.append(server)
        return server


class MachineServer(FakeServer):
    """Its statements and its stop are moments."""

    machine: Machine

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        self.machine.moment(f"server {sql[:24]}")
        return super().query(sql, parameters)

    def freeze(self, *kinds: str) -> None:
        self.machine.moment("server freeze")
        super().freeze(*kinds)

    def thaw(self) -> None:
        self.machine.moment("server thaw")
        super().thaw()

    def stop(self, *, immediately: bool = False) -> None:
        self.machine.moment("server stop")
        super().stop()


class MachineSampling(Sampler):
    """Reads at the edges only, for nothing happens on this clock by itself."""

    def __init__(self, machine: Machine, probes: Sequence[Reader]) -> None:
        super().__init__(probes, machine.clock, interval_s=None)
        self._machine = machine
        self.closed = True
        machine.samplings.append(self)

    def start(self, notify: Callable[[Reading], None] | None = None) -> None:
        self._machine.moment("sampling start")
        self.closed = False
        super().start(notify)

    def stop(self) -> tuple[Sample, ...]:
        self._machine.moment("sampling stop")
        return super().stop()

    def close(self) -> None:
        super().close()
        self.closed = True


class Event(StrEnum):
    """What befalls a trial."""

    CLOCK_JUMP = "clock_jump"
    ABORT = "abort"
    DEATH = "death"
    LOST = "client_lost"


Events = Mapping[tuple[str, int, int], Event]
"""By fillfactor, block and attempt."""


class MachineLoad(FakeLoad):
    """Speed and noise are a pure function of fillfactor and seed; `events` befall single trials."""

    def __init__(
        self, machine: Machine, speeds: Mapping[str, float], events: Events, seeds: Mapping[int, tuple[int, int]]
    ) -> None:
        super().__init__(machine.clock, keep=self._keep_on_disk)
        self._machine = machine
        self._speeds = speeds
        self._events = events
        self._seeds = seeds

    def run(self, server: Server, options: PgbenchOptions, output: Path, seed: int) -> LoadResult:
        assert isinstance(server, FakeServer)
        self._machine.moment("load run")
        event = self._events.get((_fillfactor(server), *self._seeds.get(seed, (0, 0))))
        number = self._runs + 1
        self.problems = {number: {"aborted": "client 0 aborted"}} if event is Event.ABORT else {}
        self.deaths = frozenset({number} if event is Event.DEATH else ())
        self._machine.clock.jump_s = 3600.0 if event is Event.CLOCK_JUMP else 0.0
        return super().run(server, options, output, seed)

    def gate(self, server: Server, options: PgbenchOptions, seed: int) -> FakePlayer:
        """Events befall a player in the second slice of its block, the lead-ins not counted."""
        assert isinstance(server, FakeServer)
        self._machine.moment("load gate")
        self._require_alive(server)
        event = self._events.get((_fillfactor(server), *self._seeds.get(seed, (0, 0))))
        player = MachinePlayer(self._machine, server, self._tps(server, options, seed) / options.clients, event)
        self._machine.players.append(player)
        return player

    def _tps(self, server: Server, options: PgbenchOptions, seed: int) -> float:
        assert isinstance(server, FakeServer)
        fillfactor = _fillfactor(server)
        return self._speeds[fillfactor] * (1 + 0.0001 * ((seed + int(fillfactor)) % 97))

    def _keep_on_disk(self, path: Path, text: str) -> None:
        self._machine.moment("load output")
        if self._runs == self._machine.full_output:
            raise OSError(errno.ENOSPC, "No space left on device")
        self._machine.disk.tool_writes(path, text.encode())


BEFORE_THE_SECOND = 5
"""What a player plays before the slice of its second turn: three lead-ins, its first seconds, and a slice."""


class MachinePlayer(FakePlayer):
    """Its slices are moments; its speed wanders a little from slice to slice."""

    def __init__(self, machine: Machine, server: FakeServer, tps: float, event: Event | None) -> None:
        super().__init__(machine.clock, 1, self._next)
        self._machine = machine
        self._server = server
        self._tps = tps
        self._event = event
        self._played = 0
        self.closed = False

    def play(self, *, duration_ms: int | None = None, transactions: int | None = None) -> Slice:
        self._machine.moment("player play")
        assert not self._server.frozen
        self._played += 1
        if self._event is Event.LOST and self._played > BEFORE_THE_SECOND:
            raise ClientLostError("host client7 is gone")
        if self._event is Event.CLOCK_JUMP and self._played > BEFORE_THE_SECOND:
            self._machine.clock.jump_s = 3600.0
        return super().play(duration_ms=duration_ms, transactions=transactions)

    def close(self) -> None:
        self._machine.moment("player close")
        super().close()
        self.closed = True

    def _next(self) -> float:
        if self._played > BEFORE_THE_SECOND and self._event is Event.DEATH:
            self._server.die()
        if self._played > BEFORE_THE_SECOND and self._event is Event.ABORT:
            return 0.0
        return self._tps * (1 + 0.001 * (self._played % 5)) if self._server.alive() else 0.0


def _fillfactor(server: FakeServer) -> str:
    return server.state["tables"]["pgbench_accounts"]


__all__ = ["Crashed", "Event", "Fault", "Machine", "MachineLoad", "Planned"]
