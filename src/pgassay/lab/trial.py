"""One trial: clone, start, settle, measure, maintain, check, stop, give back.

The public methods of `Trial` are the steps in docs/record.md, in their order. Whatever the treatment does to its server
becomes part of the trial's record; only faults of the bench and of the record's own disk are raised.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path

from pgassay.interfaces.client import BUSY
from pgassay.interfaces.errors import (
    BenchError,
    ClientLostError,
    ClusterError,
    DamagedError,
    HostError,
    QueryError,
    SpaceError,
)
from pgassay.interfaces.factor import Readable, Stage
from pgassay.interfaces.load import Load, LoadResult
from pgassay.interfaces.probe import Reading, Sample
from pgassay.interfaces.server import Server
from pgassay.interfaces.store import Trait
from pgassay.interfaces.write_signature import SIGNATURE, SUFFIX
from pgassay.lab import checks, counted, host_stage, measurements, power_cuts, regime
from pgassay.lab.arms import ResolvedArm
from pgassay.lab.preparation import settle
from pgassay.lab.settings import mode_of
from pgassay.lab.trial_state import Assignment, Laps, TrialState, Window
from pgassay.probe.registry import every_probe
from pgassay.probe.sampler import differences
from pgassay.probe.server_views import WAITS
from pgassay.record import counts, live_sample
from pgassay.record import power_cuts as cut_records
from pgassay.record.live_sample import LiveSample
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
        with arm.environment.held():
            if self.server is not None:
                self.server.stop(immediately=True)
                self.server = None
            if self.clone is not None:
                arm.drive.discard(self.clone)
                self.clone = None


class Trial:
    """One run of an arm. `run` goes through the steps; whatever was started is stopped on every way out.

    What it learns on its way is in `state`; `host` holds what the host factors changed.
    """

    def __init__(self, arm: ResolvedArm, assignment: Assignment, cluster: Cluster | None = None) -> None:
        self.arm = arm
        self.environment = arm.environment
        self.assignment = assignment
        self.cluster = cluster or Cluster()
        clock = arm.environment.clock
        self.state = TrialState(Laps(clock), clock.wall_ns())
        self.host = ExitStack()
        self._memory_limited = False

    @property
    def directory(self) -> Path:
        assert self.cluster.clone is not None
        return self.cluster.clone

    @property
    def server(self) -> Server:
        assert self.cluster.server is not None
        return self.cluster.server

    def run(self) -> tuple[TrialRecord, tuple[Sample, ...]]:
        """Go through all steps; returns the record, whatever the outcome, and the series.

        Raises `BenchError` where the bench failed (and not the treatment), `RecordError` where the record did.
        """
        try:
            try:
                self.clone()
                with checks.of_full_drive(self.arm.drive, self.directory), self.host:
                    try:
                        for step in (self.start, self.settle, self.measure, self.maintain, self.check):
                            step()
                    except ClientLostError as error:
                        self.state.client_lost = error.message
                    except QueryError:
                        if self.cluster.server is not None:
                            self.state.alive = self.cluster.server.alive()
                        raise
                    finally:
                        self.stop()
            finally:
                self.give_back()
        except (SpaceError, HostError, ClusterError, QueryError, OSError) as error:
            self.state.problems.update(checks.of_error(error, self.arm.setup.settings))
        return self.record(), self.state.samples

    def not_prepared(self, failure: BenchError, seconds: float) -> TrialRecord:
        """The record, instead of a run, where the snapshot could not even be made, after trying for so many seconds."""
        self.state.laps.timings_s["prepare"] = seconds
        otherwise = "no_space" if isinstance(failure, SpaceError) else "not_prepared"
        self.state.problems[checks.code_of(failure.message, otherwise)] = failure.message
        return self.record()

    def clone(self) -> None:
        """Clone the arm's snapshot (`preparation` has made it), and note what the drives say of themselves."""
        drive, cluster, state = self.arm.drive, self.cluster, self.state
        with state.laps("clone"):
            if cluster.clone is None:
                cluster.clone = drive.clone(self.arm.snapshot_key, f"trial-{self.assignment.number:06d}")
                if not self.arm.setup.load.count:  # or the disk would still be busy with it in the window
                    drive.write_back(cluster.clone)
        state.how_cloned = drive.how_cloned()
        state.traits.update(drive.traits(cluster.clone))
        for name, trait in list(state.traits.items()):
            if name.endswith(f".{SIGNATURE}"):  # long: it goes into a file of the trial, and its hash into the record
                text = str(trait.found).encode()
                self.keep(f"{name}{SUFFIX}", text, "a write signature")
                state.traits[name] = Trait(sha256(text).hexdigest())

    def start(self) -> None:
        with self.state.laps("start"):
            stage = self.host.enter_context(host_stage.hosted(self.arm, self.directory))
            self._memory_limited = stage.cold
            if self.cluster.server is None:
                self.cluster.server, self.state.huge_pages = host_stage.start(stage, self.arm, self.directory)

    def settle(self) -> None:
        """Read every level back, look up the names that the load uses; then bring caches and tables to the start state,
        and CHECKPOINT."""
        arm, state, server = self.arm, self.state, self.server
        with state.laps("settle"):
            state.settings = dict(self.environment.effective(server))
            self._read_back(Readable(server), *(stage for stage in Stage if stage is not Stage.RUN))
            if self.assignment.block == 1:  # before anything is measured: of every load that is played on these data
                arms = (each for each in arm.whole.arms if each.snapshot_key == arm.snapshot_key)
                for load in {each.setup.load: each.load for each in arms}.values():
                    load.require_names(server)
            if arm.setup.load.page_space:
                state.page_space.update(measurements.space_as_loaded(server))
            caches, limited = self.environment.caches, self._memory_limited
            state.cache = settle(server, arm.setup.load, self.directory, caches, limited=limited)

    def measure(self) -> None:
        """Warm up (a run of its own, kept and marked), then the measured window between two readings of every probe."""
        state, server, options, assignment = self.state, self.server, self.arm.setup.load, self.assignment
        slower = self.arm.setup.drive.dilation
        with state.laps("measure"):
            readers = self.environment.probes(server, self.directory)
            if options.count:  # who looks how backends wait makes them wait, and takes the CPU that counting needs
                readers = [each for each in readers if WAITS not in each.meters]
            sampling = self.environment.sampling(readers)
            closing: dict[str, float | None] = {}
            windows: list[counted.Window] = []
            try:
                if options.count:
                    server.freeze(*counted.BY_A_CLOCK)
                    for statement in counted.USE_UP_WAL_BUFFERS:
                        server.execute(statement)
                else:
                    sampling.start(self._watched)
                warm_up: tuple[Sample, ...] = ()
                if self.arm.warm_up is not None:
                    if options.count:  # or what only a server's first session does would be of the shorter window
                        self._play(self.arm.warm_up, assignment.staging / "first", assignment.seed + 2, [])
                        server.execute("CHECKPOINT")
                    warmed = self._play(self.arm.warm_up, assignment.staging / "warmup", assignment.seed + 1, windows)
                    warm_up = regime.series_by_drive_clock(warmed.series, slower)
                if options.count:
                    server.execute("CHECKPOINT")
                cached = measurements.cached_shares(server) if options.cache == "cold" else {}
                self.environment.server.visitors()
                before = sampling.read_all()
                with power_cuts.during(self.arm, server, self.directory, assignment.seed) as cuts:
                    result = self._play(self.arm.load, assignment.staging, assignment.seed, windows)
                state.alive = server.alive()
                state.visitors = self.environment.server.visitors() if state.alive else ""
                if state.alive and mode_of(options) == WORK:
                    closing = measurements.checkpoint(server, self.environment.clock)
                after = sampling.read_all()
                series = sampling.stop()
            finally:
                with self.environment.held():
                    if options.count:
                        server.thaw()
                    sampling.close()
            state.samples = (
                *(replace(each, source=f"{each.source}{regime.WARM_UP_SUFFIX}") for each in warm_up),
                *series,
                *regime.series_by_drive_clock(result.series, slower),
            )
            self.keep_measures(differences(before, after, sampling.meters()), result, result.transactions)
            state.counters.update(cached)
            state.window = Window.of(result)
            state.responses.update(closing)
            if options.count:
                self.keep_counts(windows)
            if cuts is not None:
                found = cuts.judged(assignment.staging)
                self.keep(cut_records.FILE, cut_records.encode(found), "the power cuts")
                state.responses.update(power_cuts.summed(found, self.arm.setup.drive.flush))
            self.look_around(result)

    def _watched(self, reading: Reading) -> None:
        """For those who watch: WAL, waits and the device, of all that is read."""
        if reading.source in live_sample.SOURCES:
            seen = LiveSample(reading.monotonic_ns, reading.wall_ns, reading.source, reading.values)
            self.environment.note(self.assignment.staging, seen)

    def _play(self, load: Load, output: Path, seed: int, windows: list[counted.Window]) -> LoadResult:
        """A load touches no disk but the record's; where it is counted, what it executed is added to the windows."""
        with self.assignment.keeping("the load's output"):
            if output != self.assignment.staging:
                self.environment.disk.mkdir(output)
            if not self.arm.setup.load.count:
                return load.run(self.server, output, seed)
            played = partial(load.run, self.server, output, seed)
            result, found = counted.window(self.arm.instrument, self.server, self.environment.clock, played)
            windows.append(found)
            return replace(result, series=())  # of a dilated time

    def keep_counts(self, windows: Sequence[counted.Window]) -> None:
        """Set what was executed in the place of what took time."""
        state, found = self.state, counted.difference(self.arm.instrument, windows)
        state.responses = counted.without_times(state.responses, self._by_a_clock)
        if found is not None:
            state.responses[counted.INSTRUCTIONS.name] = sum(found.processes.values())
            state.responses |= {
                counted.MODELLED_MISSES[kind].name: made for kind, made in found.modelled_misses.items()
            }
            self.keep(counts.FILE, counts.encode(found), "the counts")

    def keep_measures(self, counted: Mapping[str, float | None], result: LoadResult, transactions: int) -> None:
        """Set what was counted and the load's own result together; costs are for each of these transactions."""
        state, server = self.state, self.server
        counters = {**counted}
        if result.written_bytes is not None:
            counters["load.written_bytes"] = result.written_bytes
        log = server.log_text() if result.problems or not state.alive else ""
        state.problems.update(checks.of_window(result.problems, log, counters))
        relations = measurements.relation_bytes(server) if state.alive else {}
        state.responses.update({**result.responses, **every_probe().costs(counters, transactions)})
        if result.elsewhere is not None:  # what its own host says of its CPU, in the place of our own tree's
            each_us = result.elsewhere.cpu_us / transactions if transactions else None
            state.responses["client_cpu_us_per_transaction"] = each_us
            state.responses[BUSY.name] = result.elsewhere.busy_share
        state.counters.update({**counters, **relations})

    def look_around(self, result: LoadResult) -> None:
        """Ask what is asked once the load has ended and every counter is read; of pages and files where options say."""
        arm, state, server = self.arm, self.state, self.server
        for reference in self.environment.references:
            state.responses.update(reference.measure(arm.setup.load, server))
        if not state.alive:
            return
        self._read_back(Readable(server, result), Stage.RUN)
        varied = self.assignment.arm.levels
        state.adopt = {  # after the load, since a factor may look at what the load did to its tables
            bound.name: bound.factor.adopt_by(bound.name, bound.level, server)
            for bound in arm.bound
            if bound.name in varied
        }
        state.problems.update(arm.load.verify(server))
        weigh, codec = arm.setup.load.compressibility, measurements.codec_of(arm.setup.drive)
        responses, counters, stored = dict[str, float | None](), dict[str, float | None](), dict[str, float | None]()
        if weigh:
            stored |= measurements.stored_wal(server, self.directory, codec)
        if arm.setup.load.page_space:
            server.execute("CHECKPOINT")
            state.page_space.update(measurements.read_shares(server, "left"))
            responses |= measurements.free_shares(state.page_space)
            counters |= state.page_space
        if measurements.reads_cold(arm.setup.load):
            responses |= measurements.page_read(state.responses)
        if weigh:
            stored |= measurements.stored_relations(server, self.directory, codec)
            responses |= measurements.compression_ratios(stored)
            counters |= stored
        state.responses.update(responses)
        state.counters.update(counters)

    def maintain(self) -> None:
        """Where it is asked for, time a CHECKPOINT (unless one closed the window) and a VACUUM."""
        state, options = self.state, self.arm.setup.load
        if not (state.alive and state.window is not None and options.maintenance):
            return
        with state.laps("maintain"):
            timed: dict[str, float | None] = {}
            if mode_of(options) != WORK:
                timed |= measurements.checkpoint(self.server, self.environment.clock)
            timed |= measurements.vacuum(self.server, self.environment.clock)
            state.responses.update(timed)

    def check(self) -> None:
        if self.state.alive and self.arm.setup.drive.check:
            with self.state.laps("check"):
                self.state.problems.update(measurements.check_relations(self.server))

    def stop(self) -> None:
        """Stop the server at once, because the clone is not needed any more; its log goes into the record."""
        server = self.cluster.server
        if server is None:
            return
        with self.state.laps("stop"), self.environment.held():
            if not self.cluster.kept:
                server.stop(immediately=True)
            with self.assignment.keeping("the server's log"):
                self.environment.disk.write_file(self.assignment.staging / "server.log", server.log_text().encode())

    def give_back(self) -> None:
        """Remove the clone. What a check of its file system finds is an outcome, whatever else became of the trial."""
        clone = self.cluster.clone
        if clone is None:
            return
        with self.state.laps("give_back"), self.environment.held():
            if self.cluster.kept:
                return
            try:
                self.arm.drive.discard(clone, check=self.arm.setup.drive.check)
            except DamagedError as error:
                self.state.problems[measurements.DRIVE] = error.message

    def keep(self, name: str, data: bytes, what: str) -> None:
        """Write a file of the trial's record; raises `RecordError`, which says `what` could not be kept."""
        with self.assignment.keeping(what):
            self.environment.disk.write_file(self.assignment.staging / name, data)

    def _read_back(self, readable: Readable, *stages: Stage) -> None:
        for bound in self.arm.at(*stages):
            found = bound.factor.read_back(bound.name, bound.level, readable)
            self.state.read_back[bound.name] = None if found is None else self.environment.files.with_user_paths(found)

    @property
    def _by_a_clock(self) -> tuple[Response, ...]:
        """Those that may go by a clock, whoever yields them; a crash state answers at once, by the machine's."""
        mine = self.arm.load.responses
        return (*mine, *every_probe().responses, *measurements.CHECKPOINT, *measurements.VACUUM)

    def record(self) -> TrialRecord:
        state, assignment = self.state, self.assignment
        arm = assignment.arm
        status, reasons = checks.judge(checks.evidence_of(self.arm, state))
        applied = {each.name: each.level for each in self.arm.bound}
        return TrialRecord(
            number=assignment.number,
            block=assignment.block,
            attempt=assignment.attempt,
            treatment=arm.treatment.name,
            condition=arm.condition.name,
            covariate=arm.covariate.name,
            levels={
                name: LevelRecord(
                    applied[name].typed, applied[name].canonical, state.read_back.get(name), state.adopt.get(name)
                )
                for name in self.arm.study.levels_of(arm)
            },
            status=status,
            started_wall_ns=state.started_wall_ns,
            finished_wall_ns=self.environment.clock.wall_ns(),
            responses=regime.by_drive_clock(state.responses, self._by_a_clock, self.arm.setup.drive.dilation),
            reasons=reasons,
            counters=dict(state.counters),
            settings=state.settings,
            regime=regime.regime_of(self.arm, state),
            timings_s=dict(state.laps.timings_s),
            seed=assignment.seed,
            host=self.arm.whole.set if len(self.arm.whole.on_sets) > 1 else "",
        )
