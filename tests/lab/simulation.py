"""A whole study on a machine of fakes, in milliseconds: run it, cut it short anywhere, go on, and compare.

Two runs are equal when their decisions are (all that a decision holds: step, arm, block, attempt, trial, the hash of
its inputs, the budget used), and their trials but for the dates: a paused run goes on later.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import mkdtemp
from types import SimpleNamespace
from typing import Any, cast

from pgassay.design.schedule import RULE
from pgassay.errors import PgassayError
from pgassay.interfaces.errors import HostError
from pgassay.lab.arms import ResolvedArm, ResolvedStudy, resolve
from pgassay.lab.catalogue import every_factor
from pgassay.lab.counted import INSTRUCTIONS
from pgassay.lab.decisions import extension_of
from pgassay.lab.environment import Environment
from pgassay.lab.runner import RunLoop, Watcher, trial_seed
from pgassay.lab.workbench import Workbench
from pgassay.probe.registry import Probes
from pgassay.probe.sampler import Sampler
from pgassay.record.check import check
from pgassay.record.directory import RunDirectory
from pgassay.record.errors import RecordError
from pgassay.record.formats import RunHeader
from pgassay.record.journal import Decision, decisions_in
from pgassay.record.reading import Run
from pgassay.record.values import TrialRecord
from pgassay.study.document import COUNT_LEVELS
from pgassay.study.findings import Severity
from pgassay.study.levels import Combination, Level
from pgassay.study.model import Design, Study
from pgassay.study.parsing import parse
from pgassay.testing.fakes import FakeClock, FakeInstallation
from tests.fakes.caches import FakeCaches
from tests.fakes.disk import FakeDisk, Survival
from tests.fakes.drive import FakeDrive
from tests.fakes.instrument import FakeInstrument
from tests.fakes.load import RESPONSES, FakeLoad
from tests.fakes.probe import FakeReader
from tests.lab.machine import ROOT, Event, Events, Machine, MachineLoad, MachineSampling


class NothingChanges:
    """A machine that changes nothing."""

    def write(self, path: Path, value: str, back: str | None = None) -> None:
        raise HostError(f'"{path}" cannot be changed here')

    def make_group(self, path: Path) -> None:
        raise HostError(f'"{path}" cannot be made here')

    def give_back(self) -> None:
        return


def unknown_peak(pid: int) -> int:
    raise OSError(f"no process {pid} here")


PLAIN: Mapping[str, Any] = {
    "host": NothingChanges(),
    "peak_bytes": unknown_peak,
    "memory_bytes": 1 << 62,
    "require_program": lambda driver: None,
    "client": lambda name: None,
    "references": (),
    "instruments": dict.fromkeys(COUNT_LEVELS, FakeInstrument()),
    "note": lambda folder, sample: None,
}
"""Of an environment whose machine is nothing but its drive and its servers."""
CATALOGUE = every_factor()
RUN = ROOT / "simulated"
SEED = 7
DOCUMENT: Mapping[str, Any] = {
    "study": {"format": 1, "title": "Simulated", "question": "Which?"},
    "factors": {"table.fillfactor": ["100", "90", "50"]},
    "load": {"driver": "pgbench", "scale": "1", "duration": "8s", "warmup": "1s", "checkpoint": "wal"},
    "responses": {"primary": "tps"},
    "design": {
        "baseline": {"table.fillfactor": "100"},
        "resolution": "2%",
        "blocks": {"min": 5, "max": 6},
        "budget": "1h",
    },
}
SPEEDS = {"100": 1000.0, "90": 1300.0, "50": 900.0, "10": 700.0}
EVENTS: Events = {
    ("90", 2, 1): Event.CLOCK_JUMP,
    ("50", 1, 1): Event.ABORT,
    ("50", 2, 1): Event.DEATH,
    ("50", 3, 1): Event.ABORT,
}
"""One trial is invalid and repeated; one treatment fails three times because of its settings, and is dropped."""


def study_of(**changes: Mapping[str, Any]) -> Study:
    """`DOCUMENT` with other factors, and other tables laid over it."""
    document = {name: {**DOCUMENT.get(name, {}), **changes.get(name, {})} for name in (*DOCUMENT, *changes)}
    document["factors"] = changes.get("factors", DOCUMENT["factors"])
    return parse("simulated", document, CATALOGUE)


def fake_site(**changes: Any) -> Environment:
    """An environment for looking at arms alone: no trial can run on it."""
    clock, load, installation = FakeClock(), FakeLoad(FakeClock()), FakeInstallation()
    environment = Environment(
        effective=lambda server: {},
        clock=clock,
        drive=lambda wanted, needs: FakeDrive(),
        catalogue=CATALOGUE,
        installation=lambda version, build: installation,
        load=lambda options, installation: load.with_options(options),
        probes=lambda server, directory: (),
        sampling=lambda probes: Sampler(probes, clock, interval_s=None),
        caches=FakeCaches(),
        disk=FakeDisk(),
        socket_directory=Path("/nowhere"),
        **PLAIN,
    )
    return replace(environment, **changes)


def fake_bench(**changes: Any) -> Workbench:
    """What `lab.run.prepare` asks of a workbench: nothing to build, refuse or remark."""
    usual: dict[str, Any] = {"dry_run": False, "servers": {}, "snapshots_in": None}
    options = SimpleNamespace(**{**usual, **changes.pop("options", {})})
    bench = SimpleNamespace(
        missing_builds=list,
        require_room=lambda missing: None,
        require=lambda resolved: None,
        remarks=lambda resolved: (),
        options=options,
        **changes,
    )
    return cast("Workbench", bench)


_ANY = Combination({})


def arm_with(**typed: str) -> ResolvedArm:
    """The only arm of a study with these levels, on a PostgreSQL of today; `__` stands for a dot."""
    levels: dict[str, Level] = {}
    for name, text in typed.items():
        dotted = name.replace("__", ".")
        factor = CATALOGUE.find(dotted)
        assert factor is not None
        levels[dotted] = factor.parse(dotted, text)
    return resolve(Study("one arm", "", "", {}, (_ANY,), Design(_ANY), "tps", fixed=levels), fake_site()).arms[0]


@dataclass
class Simulation:
    """A machine, a study to run on it, and what befalls its trials."""

    machine: Machine
    study: Study = field(default_factory=study_of)
    events: Events = field(default_factory=lambda: EVENTS)
    speeds: Mapping[str, float] = field(default_factory=lambda: SPEEDS)
    watcher: Watcher = field(default_factory=Watcher)
    rule: int = RULE

    def environment(self) -> Environment:
        """The outside world as the lab sees it."""
        machine = self.machine
        seeds = {trial_seed(SEED, block, attempt): (block, attempt) for block in range(1, 31) for attempt in (1, 2, 3)}
        load = MachineLoad(machine, self.speeds, self.events, seeds)
        return Environment(
            effective=lambda server: dict(server.query("SELECT name, current_setting(name) FROM pg_settings")),
            clock=machine.clock,
            drive=lambda wanted, needs: machine.drive,
            catalogue=CATALOGUE,
            installation=lambda version, build: machine.installation,
            load=lambda options, installation: load.with_options(options),
            probes=lambda server, directory: (FakeReader(machine.clock, "wal", {"wal_bytes": 1e6}),),
            sampling=lambda probes: MachineSampling(machine, probes),
            caches=FakeCaches(),
            disk=machine.disk,
            socket_directory=Path("/nowhere/socket"),
            held=machine.interruption.held,
            **PLAIN,
        )

    def resolved(self) -> ResolvedStudy:
        """The study on this machine, resolved anew, as each command does."""
        return resolve(self.study, self.environment())

    def carry_on(self, more_s: float | None = None, blocks: tuple[int, int] | None = None) -> None:
        """What `pgassay run` does on a fresh machine, and `pgassay resume` on one where the run exists, with --more or
        --blocks beyond its end."""
        disk, clock = self.machine.disk, self.machine.clock
        if disk.exists(RUN):
            run = RunDirectory.open(RUN, disk, clock.wall_ns)
            extend = more_s is not None or blocks is not None
            if run.finished and not extend:
                run.close()
                return
            try:
                if extend:
                    trials, entries = Run.open(RUN, disk).trials, run.journal.entries
                    extended = extension_of(self.study, run.header, trials, entries, more_s, blocks)
            except PgassayError:
                run.close()
                raise
            run.resumed()
            if extend:
                run.extend(extended)
        else:
            run = RunDirectory.create(RUN, header(self.rule), "", {}, disk, clock.wall_ns)
        with run:
            try:
                RunLoop(self.resolved(), run, self.watcher, list(Run.open(RUN, disk).trials)).conduct()
            except KeyboardInterrupt:
                if not run.finished:
                    run.interrupted("signal")
                raise
            except RecordError:
                raise
            except PgassayError as error:
                run.interrupted(error.message)
                raise

    def go_on(self, survival: Survival = Survival.KILLED, seed: int = 0) -> None:
        """After the lab's end, whatever it was: the machine starts again, and the run is resumed to its end."""
        self.reboot(survival, seed)
        self.carry_on()

    def reboot(self, survival: Survival = Survival.KILLED, seed: int = 0) -> None:
        """The machine starts again; no fault is planned."""
        self.machine.disk.reboot(survival, seed)
        self.machine.restart()

    @property
    def run(self) -> Run:
        """The record as it stands."""
        return Run.open(RUN, self.machine.disk)

    def committed(self) -> dict[Path, bytes]:
        """Every file of every committed trial."""
        disk = self.machine.disk
        if not disk.exists(RUN):
            return {}
        trials = [RUN / "trials" / name for name in disk.list(RUN / "trials") if not name.startswith(".")]
        return {path / name: disk.read(path / name) for path in trials for name in disk.list(path) if name != "warmup"}


@dataclass(frozen=True)
class Ending:
    """What must be equal between a run that was cut short and one that was not."""

    decisions: tuple[Decision, ...]
    trials: tuple[TrialRecord, ...]
    reason: str


def ending(simulation: Simulation) -> Ending:
    """How the run ended; fails if it did not, or if its record is not whole."""
    run = simulation.run
    assert [each for each in check(RUN, simulation.machine.disk) if each.severity is Severity.ERROR] == []
    last = run.journal[-1]
    assert last.kind == "finished"
    undated = tuple(replace(trial, started_wall_ns=0, finished_wall_ns=0) for trial in run.trials)
    return Ending(decisions_in(run.journal), undated, str(last.data["reason"]))


def header(rule: int = RULE) -> RunHeader:
    """Of the simulated run."""
    responses = (*RESPONSES, INSTRUCTIONS, *Probes().responses)
    return RunHeader("simulated", "2026-01-02T03:04:05Z", SEED, responses, ("pgassay",), "0.1.0", rule=rule)


def simulate(place: Path, **changes: Any) -> Simulation:
    """A fresh machine below `place`."""
    return Simulation(Machine(Path(mkdtemp(dir=place))), **changes)
