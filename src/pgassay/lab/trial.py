"""One trial: clone, start, settle, measure, maintain, check, stop, give back.

The public methods of `Trial` are the steps in docs/record.md, in their order. Whatever the treatment does to its server
becomes part of the trial's record; only faults of the bench and of the record's own disk are raised.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from pgassay.bench.client import BUSY
from pgassay.bench.counters import Reading, Sample
from pgassay.bench.errors import (
    BenchError,
    ClientLostError,
    ClusterError,
    DamagedError,
    HostError,
    QueryError,
    SpaceError,
)
from pgassay.bench.factor import Readable, Stage
from pgassay.bench.load import Load, LoadResult
from pgassay.bench.server import Server
from pgassay.bench.store import Trait
from pgassay.bench.write_signature import SIGNATURE, SUFFIX
from pgassay.lab import (
    amcheck,
    checks,
    compression,
    dilation,
    failures,
    host_stage,
    maintenance,
    page_space,
    power_cuts,
    regime,
)
from pgassay.lab.arms import ResolvedArm
from pgassay.lab.notes import Assignment, Notes, Window
from pgassay.lab.settings import mode_of
from pgassay.lab.start_state import settle
from pgassay.probe.registry import every_probe
from pgassay.probe.sampler import differences
from pgassay.record import glance
from pgassay.record import power_cuts as cut_records
from pgassay.record.glance import Glance
from pgassay.record.values import LevelRecord, TrialRecord
from pgassay.study.responses import Response
from pgassay.study.work import WORK


@dataclass
class Cluster:
    """A clone and the server on it. A trial makes what is missing, and ends both unless they are to be kept.

    A calibration keeps them for several trials: then each is another run after the same restart.
    """

    kept: bool = False
    clone: Path | None = None
    server: Server | None = None

    def end(self, arm: ResolvedArm) -> None:
        """Stop a kept server and discard its clone; calling it twice is harmless."""
        with arm.site.held():
            if self.server is not None:
                self.server.stop(immediately=True)
                self.server = None
            if self.clone is not None:
                arm.drive.discard(self.clone)
                self.clone = None


class Trial:
    """One run of an arm. `run` goes through the steps; whatever was started is stopped on every way out."""

    def __init__(self, arm: ResolvedArm, assignment: Assignment, cluster: Cluster | None = None) -> None:
        self._arm = arm
        self._site = arm.site
        self._assignment = assignment
        self._cluster = cluster or Cluster()
        self._notes = Notes.begin(arm.site.clock)
        self._host = ExitStack()
        """What the host factors changed."""
        self._memory_limited = False

    def run(self) -> tuple[TrialRecord, tuple[Sample, ...]]:
        """Go through all steps; returns the record, whatever the outcome, and the series.

        Raises `BenchError` where the bench failed (and not the treatment), `RecordError` where the record did.
        """
        try:
            self._on_a_clone()
        except (SpaceError, HostError, ClusterError, QueryError, OSError) as error:
            self._notes.problems.update(failures.of_error(error, self._arm.setup.settings))
        return self.record(), self._notes.samples

    def not_prepared(self, failure: BenchError, seconds: float) -> TrialRecord:
        """The record, instead of a run, where the snapshot could not even be made, after trying for so many seconds."""
        self._notes.laps.timings_s["prepare"] = seconds
        otherwise = "no_space" if isinstance(failure, SpaceError) else "not_prepared"
        self._notes.problems[failures.code_of(failure.message, otherwise)] = failure.message
        return self.record()

    def clone(self) -> None:
        """Clone the arm's snapshot (`preparation` has made it), and note what the drives say of themselves."""
        drive, cluster = self._arm.drive, self._cluster
        with self._notes.laps("clone"):
            if cluster.clone is None:
                cluster.clone = drive.clone(self._arm.snapshot_key, f"trial-{self._assignment.number:06d}")
        self._notes.how_cloned = drive.how_cloned()
        self._notes.traits.update(self._without_signatures(drive.traits(cluster.clone)))

    def _without_signatures(self, traits: Mapping[str, Trait]) -> Mapping[str, Trait]:
        """Write signatures are long: each goes into a file of the trial, and its hash into the record."""
        signatures = {name: str(each.found) for name, each in traits.items() if name.endswith(f".{SIGNATURE}")}
        for name, text in signatures.items():
            with self._assignment.keeping("a write signature"):
                self._site.disk.write_file(self._assignment.staging / f"{name}{SUFFIX}", text.encode())
        return {**traits, **{name: Trait(sha256(text.encode()).hexdigest()) for name, text in signatures.items()}}

    def start(self) -> None:
        """Apply the host factors, then start the server."""
        with self._notes.laps("start"):
            stage = self._host.enter_context(host_stage.hosted(self._arm, self._clone))
            self._memory_limited = stage.cold
            if self._cluster.server is None:
                self._cluster.server, self._notes.huge_pages = host_stage.start(stage, self._arm, self._clone)

    def settle(self) -> None:
        """Read every level back, look up the names that the load uses; then bring caches and tables to the start state,
        and CHECKPOINT."""
        arm, notes, server = self._arm, self._notes, self._server
        with notes.laps("settle"):
            notes.settings = dict(self._site.effective(server))
            self._read_back(Readable(server), *(stage for stage in Stage if stage is not Stage.RUN))
            if self._assignment.block == 1:
                self._require_names()
            if arm.setup.load.page_space:
                notes.page_space.update(page_space.as_loaded(server))
            notes.cache = settle(server, arm.setup.load, self._clone, self._site.caches, limited=self._memory_limited)

    def _require_names(self) -> None:
        """Before anything is measured: of every load that is played on these data."""
        arms = (each for each in self._arm.whole.arms if each.snapshot_key == self._arm.snapshot_key)
        for load in {each.setup.load: each.load for each in arms}.values():
            load.require_names(self._server)

    def measure(self) -> None:
        """Warm up (a run of its own, kept and marked), then the measured window between two readings of every probe."""
        notes, server, options = self._notes, self._server, self._arm.setup.load
        with notes.laps("measure"):
            sampling = self._site.sampling(self._site.probes(server, self._clone))
            closing: dict[str, float | None] = {}
            try:
                sampling.start(self._tell)
                warm_up = self._warm_up()
                self._site.visitors()
                before = sampling.read_all()
                with power_cuts.during(self._arm, self._server, self._clone, self._assignment.seed) as cuts:
                    result = self._play(self._arm.load, self._assignment.staging, self._assignment.seed)
                notes.alive = server.alive()
                notes.visitors = self._site.visitors() if notes.alive else ""
                if notes.alive and mode_of(options) == WORK:
                    closing = maintenance.checkpoint(server, self._site.clock)
                after = sampling.read_all()
                series = sampling.stop()
            finally:
                with self._site.held():
                    sampling.close()
            slower = self._arm.setup.drive.dilation
            notes.samples = (*warm_up, *series, *dilation.series_told(result.series, slower))
            self._keep_measures(differences(before, after, sampling.meters()), result, result.transactions)
            notes.window = Window.of(result)
            notes.responses.update(closing)
            self._keep_cuts(cuts)
            self._look_around(result)

    def _tell(self, reading: Reading) -> None:
        """For those who watch: WAL, waits and the device, of all that is read."""
        if reading.source in glance.SOURCES:
            self._note(Glance(reading.monotonic_ns, reading.wall_ns, reading.source, reading.values))

    def _note(self, told: Glance) -> None:
        """For those who watch."""
        self._site.note(self._assignment.staging, told)

    def maintain(self) -> None:
        """Where it is asked for, time a CHECKPOINT (unless one closed the window) and a VACUUM."""
        notes, options = self._notes, self._arm.setup.load
        if not (notes.alive and notes.window is not None and options.maintenance):
            return
        with notes.laps("maintain"):
            timed: dict[str, float | None] = {}
            if mode_of(options) != WORK:
                timed |= maintenance.checkpoint(self._server, self._site.clock)
            timed |= maintenance.vacuum(self._server, self._site.clock)
            notes.responses.update(timed)

    def check(self) -> None:
        """Where it is asked for, look whether tables and indexes are sound."""
        notes = self._notes
        if notes.alive and self._arm.setup.drive.check:
            with notes.laps("check"):
                notes.problems.update(amcheck.check_relations(self._server))

    def stop(self) -> None:
        """Stop the server at once, because the clone is not needed any more; its log goes into the record."""
        server = self._cluster.server
        if server is None:
            return
        with self._notes.laps("stop"), self._site.held():
            if not self._cluster.kept:
                server.stop(immediately=True)
            with self._assignment.keeping("the server's log"):
                self._site.disk.write_file(self._assignment.staging / "server.log", server.log_text().encode())

    def give_back(self) -> None:
        """Remove the clone. What a check of its file system finds is an outcome, whatever else became of the trial."""
        clone = self._cluster.clone
        if clone is None:
            return
        with self._notes.laps("give_back"), self._site.held():
            if self._cluster.kept:
                return
            try:
                self._arm.drive.discard(clone, check=self._arm.setup.drive.check)
            except DamagedError as error:
                self._notes.problems[amcheck.DRIVE] = error.message

    def _on_a_clone(self) -> None:
        try:
            self.clone()
            with failures.of_full_drive(self._arm.drive, self._clone):
                self._on_a_server()
        finally:
            self.give_back()

    def _on_a_server(self) -> None:
        with self._host:
            try:
                self.start()
                self.settle()
                self.measure()
                self.maintain()
                self.check()
            except ClientLostError as error:
                self._notes.client_lost = error.message
            except QueryError:
                server = self._cluster.server
                if server is not None:
                    self._notes.alive = server.alive()
                raise
            finally:
                self.stop()

    @property
    def _clone(self) -> Path:
        assert self._cluster.clone is not None
        return self._cluster.clone

    @property
    def _server(self) -> Server:
        assert self._cluster.server is not None
        return self._cluster.server

    def _read_back(self, readable: Readable, *stages: Stage) -> None:
        for bound in self._arm.at(*stages):
            found = bound.factor.read_back(bound.name, bound.level, readable)
            self._notes.read_back[bound.name] = None if found is None else self._site.files.told(found)

    def _ask_how_to_adopt(self) -> None:
        """After the load, since a factor may look at what the load did to its tables."""
        varied = self._assignment.arm.levels
        self._notes.adopt = {
            bound.name: bound.factor.adopt_by(bound.name, bound.level, self._server)
            for bound in self._arm.bound
            if bound.name in varied
        }

    def _warm_up(self) -> tuple[Sample, ...]:
        load = self._arm.warm_up
        if load is None:
            return ()
        output = self._assignment.staging / "warmup"
        with self._assignment.keeping("the warm-up"):
            self._site.disk.mkdir(output)
        result = self._play(load, output, self._assignment.seed + 1)
        series = dilation.series_told(result.series, self._arm.setup.drive.dilation)
        return tuple(replace(sample, source=f"{sample.source}{regime.WARM_UP_SUFFIX}") for sample in series)

    def _play(self, load: Load, output: Path, seed: int) -> LoadResult:
        """A load touches no disk but the record's."""
        with self._assignment.keeping("the load's output"):
            return load.run(self._server, output, seed)

    def _keep_measures(self, counted: Mapping[str, float | None], result: LoadResult, transactions: int) -> None:
        """Set what was counted and the load's own result together; costs are for each of these transactions."""
        notes, server = self._notes, self._server
        counters = {**counted, **_written_by(result)}
        log = server.log_text() if result.problems or not notes.alive else ""
        notes.problems.update(failures.of_window(result.problems, log, counters))
        relations = page_space.relation_bytes(server) if notes.alive else {}
        notes.responses.update({**result.responses, **every_probe().costs(counters, transactions)})
        notes.responses.update(_of_its_host(result, transactions))
        notes.counters.update({**counters, **relations})

    def _keep_cuts(self, cuts: power_cuts.PowerCuts | None) -> None:
        """What became of the power cuts of the window, as a file and as responses."""
        if cuts is None:
            return
        found = cuts.judged(self._assignment.staging)
        with self._assignment.keeping("the power cuts"):
            self._site.disk.write_file(self._assignment.staging / cut_records.FILE, cut_records.encode(found))
        self._notes.responses.update(power_cuts.summed(found, self._arm.setup.drive.flush))

    def _look_around(self, result: LoadResult) -> None:
        """What is asked once the load has ended and every counter is read."""
        notes = self._notes
        for reference in self._site.references:
            notes.responses.update(reference.measure(self._arm.setup.load, self._server))
        if notes.alive:
            self._read_back(Readable(self._server, result), Stage.RUN)
            self._ask_how_to_adopt()
            notes.problems.update(self._arm.load.verify(self._server))
            self._look_into_files()

    def _look_into_files(self) -> None:
        """What the options ask to know of pages and files, once every counter is read."""
        arm, notes, server = self._arm, self._notes, self._server
        weigh, codec = arm.setup.load.compressibility, compression.codec_of(arm.setup.drive)
        responses, counters, stored = dict[str, float | None](), dict[str, float | None](), dict[str, float | None]()
        if weigh:
            stored |= compression.of_wal(server, self._clone, codec)
        if arm.setup.load.page_space:
            notes.page_space.update(page_space.as_left(server))
            responses |= page_space.summed(notes.page_space)
            counters |= notes.page_space
        if weigh:
            stored |= compression.of_relations(server, self._clone, codec)
            responses |= compression.summed(stored)
            counters |= stored
        notes.responses.update(responses)
        notes.counters.update(counters)

    def _declared(self) -> tuple[Response, ...]:
        """The responses that go by a clock, whoever yields them; a crash state answers at once, by the machine's."""
        return (*self._arm.load.responses, *every_probe().responses, *maintenance.CHECKPOINT, *maintenance.VACUUM)

    def record(self) -> TrialRecord:
        """The record of the trial as it ends now, whatever became of it."""
        notes, assignment = self._notes, self._assignment
        arm = assignment.arm
        status, reasons = checks.judge(checks.evidence_of(self._arm, notes))
        return TrialRecord(
            number=assignment.number,
            block=assignment.block,
            attempt=assignment.attempt,
            treatment=arm.treatment.name,
            condition=arm.condition.name,
            covariate=arm.covariate.name,
            levels={
                name: LevelRecord(level.typed, level.canonical, notes.read_back.get(name), notes.adopt.get(name))
                for name, level in self._arm.applied_levels.items()
            },
            status=status,
            started_wall_ns=notes.started_wall_ns,
            finished_wall_ns=self._site.clock.wall_ns(),
            responses=dilation.told(notes.responses, self._declared(), self._arm.setup.drive.dilation),
            reasons=reasons,
            counters=dict(notes.counters),
            settings=notes.settings,
            regime=regime.regime_of(self._arm, notes),
            timings_s=dict(notes.laps.timings_s),
            seed=assignment.seed,
        )


def _of_its_host(result: LoadResult, transactions: int) -> dict[str, float | None]:
    """Where the load had a host of its own: what that says of its CPU, in the place of our own tree's."""
    if result.elsewhere is None:
        return {}
    each_us = result.elsewhere.cpu_us / transactions if transactions else None
    return {"client_cpu_us_per_transaction": each_us, BUSY.name: result.elsewhere.busy_share}


def _written_by(result: LoadResult) -> dict[str, float | None]:
    """What the load itself says that it wrote, as a counter; nothing for a load that does not say."""
    return {} if result.written_bytes is None else {"load.written_bytes": result.written_bytes}
