"""A block whose servers take turns: all arms live at once, each from its own clone, one of them playing at a time.

What the machine does in the meantime (another guest, a hot core, a full page cache) then slows all arms equally: duet
benchmarking (Bulej et al., ICPE 2020), but in turns, so that the arms do not contend with each other. The other servers
are stopped by SIGSTOP meanwhile (a user's server goes on, and is looked at after each turn). What a server leaves dirty
is written back before the next one's turn, once for each second that it has played, and charged to it; what it does
before its slice (`design.lead_in`) is not measured. A round holds one slice of each arm, rounds come in mirrored pairs
(`design.schedule.turns`). Slices are never the unit of inference: each arm of a block yields one trial, as a trial that
had the machine to itself.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field, replace

from pgassay.design.schedule import rounds_of, turns
from pgassay.errors import UsageError
from pgassay.interfaces.client import HERE, LOOPBACK
from pgassay.interfaces.errors import ClientLostError, ClusterError, HostError, LoadError, QueryError, SpaceError
from pgassay.interfaces.load import LoadResult
from pgassay.interfaces.probe import FileReader, Reader, Reading, Sample, product, quotient
from pgassay.interfaces.running import Elsewhere
from pgassay.interfaces.slices import LatencyHistogram, Metronome, Slice, SlicePlayer
from pgassay.lab import checks
from pgassay.lab.checks import Evidence
from pgassay.lab.environment import Sampling
from pgassay.lab.regime import WARM_UP_SUFFIX
from pgassay.lab.trial import Trial
from pgassay.lab.trial_state import Window
from pgassay.load import responses
from pgassay.probe.registry import every_probe
from pgassay.probe.sampler import differences, to_samples
from pgassay.record import slices as record_of_slices
from pgassay.record.live_sample import LiveSample
from pgassay.record.slices import SliceRecord
from pgassay.record.values import Reason, TrialRecord
from pgassay.study.model import ALTERNATE, FREE, PAIRED
from pgassay.study.responses import METRONOME

CLOCK_SHARE_MAX = 0.1
"""A slice loses its round if the wall clock's length of it differs by more than this share."""
FOREIGN = ("foreign_cpu", "foreign_writes")
"""Disturbances by other programs, which slow all servers of a block equally where they go on all the time."""
_PAGE_BYTES = 4096
MACHINE = "machine"
"""The source of the counters of the whole machine."""
_DIRTY = ("dirty_pages", "writeback_pages")
_COVARIATES = ("foreign_cpu_share", "steal_share", "cpu_busy_share")


@dataclass(frozen=True)
class Turn:
    """One turn as it was played: its slice, and what was counted from its beginning to its end.

    `flush_ns` is how long it took to write back what it left dirty, `drift_ns` by how much the wall clock's length of
    it was longer.
    """

    round: int
    position: int
    played: Slice
    lead_in: Slice | None
    thawed_ns: int
    flush_ns: int
    wall_ns: int
    drift_ns: int
    counters: Mapping[str, float | None]
    costs: Mapping[str, float | None]
    machine: Mapping[str, float] = field(default_factory=dict)
    """How fast the machine was around it, by the metronome: `metronome_ns` …"""

    @property
    def transactions(self) -> int:
        """All of the turn, measured or not: what was counted belongs to them."""
        return self.played.transactions + (self.lead_in.transactions if self.lead_in else 0)

    @property
    def charged_ns(self) -> int:
        """What its transactions cost: until the last had ended, and until what they left dirty was written back."""
        return self.played.drained_ns - self.played.opened_ns + self.flush_ns

    def recorded(self, discarded: str) -> SliceRecord:
        played, latencies = self.played, self.played.latencies
        quantiles = {name.split("_")[1]: latencies.quantile_ns(share) for name, share in responses.QUANTILES.items()}
        found = {name: edge_ns for name, edge_ns in quantiles.items() if edge_ns is not None}
        if latencies.count:
            found |= {"mean": latencies.sum_ns // latencies.count, "max": latencies.most_ns}
        covariates = {name: self.costs.get(name) for name in _COVARIATES}
        done = played.transactions
        covariates |= self.machine
        covariates["client_cpu_us_per_transaction"] = played.cpu_ns / 1e3 / done if done else None
        return SliceRecord(
            round=self.round,
            position=self.position,
            wall_ns=self.wall_ns,
            thawed_ns=self.thawed_ns,
            opened_ns=played.opened_ns,
            closed_ns=played.closed_ns,
            drained_ns=played.drained_ns,
            flush_ns=self.flush_ns,
            transactions=done,
            lead_in_transactions=self.transactions - done,
            failed=dict(played.failed),
            retries=played.retries,
            late=played.late,
            aborted=played.aborted,
            parts=played.parts,
            client_cpu_ns=played.cpu_ns,
            latencies_ns=found,
            covariates=covariates,
            dirty_bytes=product(self.counters.get("machine.dirty_pages"), _PAGE_BYTES),
            writeback_bytes=product(self.counters.get("machine.writeback_pages"), _PAGE_BYTES),
            discarded=discarded,
        )


def disturbances(turn: Turn, foreign_share_max: float) -> tuple[Reason, ...]:
    """What from outside disturbs a turn; empty if nothing does."""
    length_ns = turn.charged_ns
    if abs(turn.drift_ns) > CLOCK_SHARE_MAX * length_ns:
        return (Reason("clock_jump", f"the wall clock jumped by {turn.drift_ns / 1e9:.2g} s during the slice"),)
    evidence = Evidence(
        problems={},
        server_alive=True,
        window_monotonic_ns=length_ns,
        window_wall_ns=length_ns,
        steal_share=turn.costs.get("steal_share"),
        foreign_cpu_share=turn.costs.get("foreign_cpu_share"),
        foreign_write_share=turn.costs.get("foreign_write_share"),
        device_written_bytes=turn.counters.get("diskstats.written_bytes"),
        thermal_throttles=turn.counters.get("machine.thermal_throttles"),
        foreign_share_max=foreign_share_max,
    )
    return checks.from_outside(evidence)


SOURCE = "slices"
"""The source of the series that the slices make."""
TRANSACTIONS_MIN = 5
"""A slice must hold as many transactions of each client: else its borders weigh too much."""
TRANSACTIONS_WANTED = 2 * TRANSACTIONS_MIN
"""Of each client, by which slices are made longer where their length is not asked for."""
WRITE_BACK_S = 1.0
"""Of a server's own turns, after which what it has left dirty is written back: a running server writes WAL and pages
back while its clients go on, and a short slice that had to wait for it each time would pay too much for it."""
CONNECTION_S = 2.0
"""How long a block's connections play before the first round, unmeasured: a new backend is slower until it has mapped
the shared memory, page by page."""


class LiveTrial:
    """A trial in an alternating block: its server lives as long as the block, and stands still between its turns.

    A turn: the server goes on, plays its lead-in (`design.lead_in`, not measured) and its slice; the last transactions
    end, and it stands still (SIGSTOP). Its turns together make one trial, with the steps of any trial. `over` once the
    treatment has failed: the others go on without it.
    """

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.arm = trial.arm
        self.name = trial.assignment.arm.name
        self.over = False
        self.turns: list[Turn] = []
        self._player: SlicePlayer | None = None
        self._unmeasured: list[Turn] = []
        """The connections' first turn, and slices that were too short: counted, as their backends count them."""
        self._kernel: Sampling | None = None
        self._views: Sampling | None = None
        self._views_before: tuple[Reading, ...] = ()
        self._samples: list[Sample] = []
        self._memory: list[Reader] = []
        self._slice_s = trial.arm.study.design.slice_s
        self._paid = 0
        """How many of the turns have paid for writing back."""

    def begin(self) -> None:
        for step in (self.trial.clone, self.trial.start, self.trial.settle, self._connect):
            if not self.over:
                self._try(step)

    def take_turn(self, round_: int, position: int) -> None:
        """Play one turn; where it has written back what earlier ones left dirty, too, all of them share the time."""

        def step() -> None:
            turn = self._turn(round_, position, self._slice_s)
            self.turns.append(turn)
            if turn.flush_ns:
                mine, self._paid = self.turns[self._paid :], len(self.turns)
                self.turns[-len(mine) :] = [replace(each, flush_ns=turn.flush_ns // len(mine)) for each in mine]

        self._try(step)

    @property
    def needed_s(self) -> float:
        """How long a slice must at least be, by what its clients did before the first round."""
        played = self._unmeasured[0].played if self._unmeasured else None
        if played is None or not played.transactions:
            return 0.0  # what is wrong with it is named elsewhere
        return TRANSACTIONS_WANTED * self.arm.setup.load.connections / played.tps

    def longer_s(self, slice_s: float) -> float:
        """The next length of slices, by what this trial did in those of `slice_s`: longer where these hold hardly a
        transaction of each client, or their last ones went on for longer than they last.

        Raises `UsageError` beyond the last length.
        """
        probed = [turn.played for turn in self.turns[-_PROBED_ROUNDS:]]
        most = max((each.transactions for each in probed), default=0)
        drain_s = min((each.drained_ns - each.closed_ns for each in probed), default=0) / 1e9
        connections = self.arm.setup.load.connections
        if not probed or (most >= TRANSACTIONS_MIN * connections and drain_s <= slice_s):
            return slice_s
        needed_s = max(drain_s, TRANSACTIONS_MIN * connections / max(most, 1) * slice_s)
        longer = [each for each in LONGER_S if each > slice_s]
        if not longer:
            raise UsageError(
                f"slices of {slice_s:g} s are too short for this load: {self.name} ended {most} transactions of"
                f" {connections} clients in one, and its last ones took {drain_s:.2g} s more",
                "run the treatments one after the other (--pairing sequential)",
            )
        return next((each for each in longer if each >= needed_s), longer[-1])

    def agree(self, slice_s: float) -> None:
        """Its slices are so long from now on, as those of all others in the block."""
        self._slice_s = slice_s
        lead_in_s = self.arm.study.design.lead_in_s
        placement = PAIRED if self._player is not None and self._player.paired else FREE
        pairing = self.trial.state.pairing
        pairing.update(pairing=ALTERNATE, slice_s=slice_s, lead_in_s=lead_in_s, placement=placement)

    def begin_again(self) -> None:
        self.trial.state.pairing.setdefault("slice_too_short_s", self._slice_s)
        self._unmeasured += self.turns
        self.turns, self._paid = [], 0
        self._samples = [
            replace(each, source=f"{SOURCE}{WARM_UP_SUFFIX}") if each.source == SOURCE else each
            for each in self._samples
        ]

    def conclude(self, discarded: Mapping[int, str], disturbed: tuple[Reason, ...]) -> None:
        """Make one result of the turns, without the discarded rounds (round to why); then as any trial ends."""
        if self.turns:
            for step in (lambda: self._sum_up(discarded, disturbed), self.trial.maintain, self.trial.check):
                self._try(step)

    def end(self) -> None:
        """Give everything back; calling it twice is harmless."""
        with ExitStack() as stack:
            stack.callback(self.trial.give_back)
            stack.callback(self.trial.host.close)
            stack.callback(self.trial.stop)
            self._hang_up()
            with self.trial.environment.held():
                if self.trial.cluster.server is not None:
                    self._thaw()  # A reader that is under way would wait for ever.
                for sampling in (self._kernel, self._views):
                    if sampling is not None:
                        sampling.close()

    def _try(self, step: Callable[[], None]) -> None:
        """Do a step; where the treatment fails in it, that is noted, and the others go on without it, undisturbed."""
        trial, cluster = self.trial, self.trial.cluster
        try:
            clone = cluster.clone
            with checks.of_full_drive(self.arm.drive, clone) if clone is not None else nullcontext():
                step()
        except (SpaceError, HostError, ClusterError, QueryError, OSError) as error:
            if isinstance(error, QueryError) and cluster.server is not None:
                trial.state.alive = cluster.server.alive()
            trial.state.problems.update(checks.of_error(error, self.arm.setup.settings))
            self.over = True
            if cluster.server is not None:
                self._freeze()

    def _connect(self) -> None:
        """Warm up in a run of its own, read the server's views, connect, and stand still.

        The views are read at both ends of the block, when no client is connected: backends hand in their counters late.
        """
        trial, options = self.trial, self.arm.setup.load
        with trial.assignment.keeping("the scripts"):
            self.arm.load.keep_inputs(trial.assignment.staging)
        readers = trial.environment.probes(trial.server, trial.directory)
        self._kernel = trial.environment.sampling([each for each in readers if isinstance(each, FileReader)])
        self._memory = [each for each in readers if isinstance(each, FileReader) and MACHINE in each.meters]
        self._views = trial.environment.sampling([each for each in readers if not isinstance(each, FileReader)])
        with trial.state.laps("measure"):
            if options.warmup_s > 0:
                self._gate()
                if self._player is not None:
                    warmed = self._player.play(duration_ms=options.warmup_s * 1000)
                    self._sample(f"{SOURCE}{WARM_UP_SUFFIX}", warmed.tps)
                    self._hang_up()
                    self.arm.drive.write_back(trial.directory)
            self._views_before = self._views.read_all()
            trial.environment.server.visitors()
            self._gate()
        if not self.over:
            first = self._turn(0, 0, CONNECTION_S)
            self._unmeasured.append(first)
            trial.state.problems.update(responses.problems_of_slices([first.played]))

    def _gate(self) -> None:
        if self.over:
            return
        try:
            paired = self.arm.study.design.placement == PAIRED
            self._player = self.arm.load.gate(self.trial.server, self.trial.assignment.seed, paired=paired)
        except ClientLostError:
            raise
        except LoadError as error:
            self.trial.state.problems["refused"] = error.message
            self.over = True

    def _freeze(self) -> None:
        if self._views is not None:
            self._views.rest()
        self.trial.server.freeze()

    def _thaw(self) -> None:
        self.trial.server.thaw()
        if self._views is not None:
            self._views.wake()

    def _turn(self, round_: int, position: int, length_s: float) -> Turn:
        """Go on, lead in, play, drain, write back, stand still.

        What is dirty is written back once the turns since the last time, this one among them, are long enough together.
        """
        trial, clock, design = self.trial, self.trial.environment.clock, self.arm.study.design
        player, kernel = self._player, self._kernel
        assert player is not None
        assert kernel is not None
        with trial.state.laps("measure"):
            self._thaw()
            thawed_ns = clock.monotonic_ns()
            before = kernel.read_all()
            lead_in = player.play(duration_ms=round(design.lead_in_s * 1e3)) if design.lead_in_s > 0 else None
            wall_ns, began_ns = clock.wall_ns(), clock.monotonic_ns()
            played = player.play(duration_ms=round(length_s * 1e3))
            if lead_in is not None and lead_in.aborted:  # a client that ended there is missing in the slice, unnamed
                played = replace(played, aborted=(*lead_in.aborted, *played.aborted))
            left = [reading.values for each in self._memory for reading in each.read() if reading.source == MACHINE]
            flush_ns = 0
            if (len(self.turns) - self._paid + 1) * length_s >= WRITE_BACK_S:
                flush_began_ns = clock.monotonic_ns()
                self.arm.drive.write_back(trial.directory)
                flush_ns = max(1, clock.monotonic_ns() - flush_began_ns)
            ended_ns = clock.monotonic_ns()
            drift_ns = clock.wall_ns() - wall_ns - (ended_ns - began_ns)
            after = kernel.read_all()
            if played.aborted:
                trial.state.alive = trial.server.alive()
                self.over = True
            elif not trial.state.visitors:
                trial.state.visitors = trial.environment.server.visitors()
            self._freeze()
        meters = kernel.meters()
        dirty = {f"{MACHINE}.{name}": left[0][name] for name in _DIRTY if left and name in left[0]}
        counted = {**differences(before, after, meters), **dirty}
        self._samples += to_samples((*before, *after), meters)
        done = played.transactions + (lead_in.transactions if lead_in else 0)
        costs = every_probe().costs(counted, done)
        turn = Turn(round_, position, played, lead_in, thawed_ns, flush_ns, wall_ns, drift_ns, counted, costs)
        # For those who watch, once the server stands still; WAL and waits are known when the block ends.
        seconds, latencies = max(turn.charged_ns / 1e9, 1e-9), played.latencies
        values: dict[str, float | None] = {"tps": played.transactions / seconds}
        if latencies.count:
            values["latency_ms"] = latencies.sum_ns / latencies.count / 1e6
        for name in ("written_bytes", "read_bytes"):
            values[f"{name}_per_s"] = quotient(counted.get(f"diskstats.{name}"), seconds)
        trial.environment.note(trial.assignment.staging, LiveSample(played.drained_ns, wall_ns, SOURCE, values))
        source = SOURCE if round_ else f"{SOURCE}{WARM_UP_SUFFIX}"
        self._sample(source, played.transactions / max(1, turn.charged_ns) * 1e9)
        return turn

    def _sum_up(self, discarded: Mapping[int, str], disturbed: tuple[Reason, ...]) -> None:
        trial, state, first, last = self.trial, self.trial.state, self.turns[0], self.turns[-1]
        kept = [turn for turn in self.turns if turn.round not in discarded]
        slices = [turn.played for turn in kept]
        charged_ns = sum(turn.charged_ns for turn in kept)
        lines = [turn.recorded(discarded.get(turn.round, "")) for turn in self.turns]
        trial.keep(record_of_slices.FILE, record_of_slices.encode(lines), "the slices")
        buckets = [each.latencies.buckets for each in slices]
        if any(buckets):
            by_script = zip(*(each.scripts for each in slices), strict=True)
            scripts = [sum(mine, LatencyHistogram()).buckets for mine in by_script]
            trial.keep(responses.SKETCHES_FILE, responses.encode_slices(buckets, self._slice_s, scripts), "the slices")
        state.pairing |= {"slices": float(len(kept)), "rounds_left_out": float(len(discarded))}
        state.disturbed = disturbed
        counted_turns = [*self._unmeasured, *self.turns]  # all since the server's views were read
        with state.laps("measure"):
            self._thaw()
            self._hang_up()
            counted = self._summed(counted_turns)
            if state.alive and self._views is not None:
                counted |= differences(self._views_before, self._views.read_all(), self._views.meters())
            elsewhere = None
            if self.arm.setup.load.host not in (HERE, LOOPBACK):
                # A player on another host is none of our processes, so it reports its processor time itself.
                played = [each for turn in counted_turns for each in (turn.lead_in, turn.played) if each is not None]
                elsewhere = Elsewhere(sum(each.cpu_ns for each in played) / 1e3, None, 0, 0, 0.0)
            found = responses.of_slices(slices, charged_ns / 1e9)
            measured = {each.name: found.get(each.name) for each in self.arm.load.responses}
            if trial.environment.metronome is not None:
                for each in METRONOME:  # means, weighted by the lengths of the turns
                    known = [(turn.machine[each.name], turn.charged_ns) for turn in kept if each.name in turn.machine]
                    total_ns = sum(length for _, length in known)
                    measured[each.name] = sum(value * length for value, length in known) / total_ns if known else None
            result = LoadResult(
                status=0,
                began=(first.played.opened_ns, first.wall_ns),
                ended=(last.played.drained_ns, last.wall_ns + last.charged_ns),
                transactions=sum(each.transactions for each in slices),
                responses=measured,
                problems=responses.problems_of_slices([turn.played for turn in self.turns]),
                elsewhere=elsewhere,
            )
            state.samples = tuple(self._samples)
            trial.keep_measures(counted, result, sum(turn.transactions for turn in counted_turns))
            state.window = Window(first.played.opened_ns, charged_ns, charged_ns)
            trial.look_around(result)

    def _summed(self, turns_: Sequence[Turn]) -> dict[str, float | None]:
        """What was counted in all turns together, whoever else used the machine between them; gauges at the end."""
        found: dict[str, float | None] = {}
        assert self._kernel is not None
        for name, meter in self._kernel.meters().items():
            values = [turn.counters.get(name) for turn in turns_]
            known = [value for value in values if value is not None]
            if meter.cumulative:
                found[name] = sum(known) if len(known) == len(values) else None
            else:
                found[name] = values[-1]
        return found

    def _sample(self, source: str, tps: float) -> None:
        clock = self.trial.environment.clock
        self._samples.append(Sample(clock.monotonic_ns(), clock.wall_ns(), source, "tps", "1/s", tps))

    def _hang_up(self) -> None:
        with self.trial.environment.held():
            player, self._player = self._player, None
            if player is not None:
                player.close()


ROUNDS_LEFT_MIN = 0.5
"""A block's trials are invalid if a smaller share of its rounds than this is left."""
LONGER_S = (0.5, 1.0, 2.0, 5.0, 10.0)
"""Lengths that slices of slow transactions, or on a busy machine, may have instead of the planned one, in seconds."""
_PROBED_ROUNDS = 2
"""After as many rounds it is known whether slices are long enough: a pair, so that each arm had two."""


class AlternatingBlock:
    """The trials of a block. `run` plays it; whatever was started is stopped on every way out."""

    def __init__(self, trials: Sequence[Trial], seed: int, block: int) -> None:
        self._trials = tuple(map(LiveTrial, trials))
        self._seed = seed
        self._block = block
        self._discarded: dict[int, str] = {}

    def run(self) -> list[tuple[TrialRecord, tuple[Sample, ...]]]:
        """Each trial's record and series, in the order given.

        Raises `BenchError` where the bench failed (and not a treatment), `RecordError` where the record did, and
        `UsageError` for a load that even the longest slices are too short for. A host of the load that is lost costs
        all of them.
        """
        with ExitStack() as stack:
            try:
                for trial in self._trials:
                    stack.callback(trial.end)
                    trial.begin()
                living, environment = self._living, self._trials[0].arm.environment
                metronome = None
                if environment.metronome is not None and living:
                    # Along with the clones, so that it flushes to their device; it goes before they do.
                    metronome = environment.metronome(next(iter(living.values())).trial.directory.parent)
                    stack.callback(metronome.close)
                rounds = self._play(metronome)
                disturbed = self._judge(rounds)
                for trial in self._trials:
                    trial.conclude(self._discarded, disturbed)
            except ClientLostError as error:
                for live in self._trials:  # nothing of them is the treatment's doing
                    live.trial.state.client_lost = error.message
                    live.over = True
        return [(each.trial.record(), each.trial.state.samples) for each in self._trials]

    @property
    def _living(self) -> dict[str, LiveTrial]:
        return {trial.name: trial for trial in self._trials if not trial.over}

    def _play(self, metronome: Metronome | None) -> int:
        """All rounds; returns how many there were. Where slices prove too short they begin again with longer ones.

        Slices are as long as asked for; else longer than usual where transactions are slow.
        """
        arm = self._trials[0].arm
        slice_s = arm.study.design.slice_s
        if not arm.study.design.slice_asked:
            needed_s = max((trial.needed_s for trial in self._living.values()), default=0.0)
            if needed_s > slice_s:
                slice_s = next((each for each in LONGER_S if each >= needed_s), LONGER_S[-1])
        while True:
            for trial in self._living.values():
                trial.agree(slice_s)
            rounds = rounds_of(float(arm.setup.load.duration_s or 0), slice_s)
            played = self._rounds(rounds, slice_s, metronome)
            if played is not None:
                return played
            living = self._living.values()
            slice_s = max(each.longer_s(slice_s) for each in living)
            self._discarded.clear()
            for trial in living:
                trial.begin_again()

    def _rounds(self, rounds: int, slice_s: float, metronome: Metronome | None) -> int | None:
        """How many of the rounds were played; None where the first ones show that their slices are too short."""
        before = metronome.beat() if metronome else None
        for round_ in range(1, rounds + 1):
            living = self._living
            if not living:
                return round_ - 1
            for position, name in enumerate(turns(self._seed, self._block, round_, list(living)), start=1):
                trial = living[name]
                trial.take_turn(round_, position)
                if trial.over:
                    self._discarded[round_] = f"{name} failed in this round"
                    break
            if before is not None and metronome is not None:
                with trial.trial.state.laps("measure"):  # its own, since the budget pays for the time
                    after = metronome.beat()
                sooner, later = before.covariates(), after.covariates()
                means = {name: (sooner[name] + later[name]) / 2 for name in sooner.keys() & later.keys()}
                for each in living.values():  # with the turn that it had in this round
                    if each.turns and each.turns[-1].round == round_:
                        each.turns[-1] = replace(each.turns[-1], machine=means)
                before = after  # nothing happens before the next round
            if round_ == _PROBED_ROUNDS and any(each.longer_s(slice_s) > slice_s for each in self._living.values()):
                return None
        return rounds

    def _judge(self, rounds: int) -> tuple[Reason, ...]:
        """Note which rounds are discarded; returns why the whole block is, if too few of its rounds are left.

        Rounds in which other programs are busy count where they are too many to leave out: then the machine is busy all
        the time, which slows all servers equally.
        """
        found: dict[int, Reason] = {}
        for trial in self._trials:
            for turn in trial.turns:
                reasons = disturbances(turn, trial.arm.environment.foreign_share_max)
                if reasons:
                    found.setdefault(turn.round, reasons[0])
        busy = {round_ for round_, reason in found.items() if reason.code in FOREIGN}
        if rounds - len(found) < ROUNDS_LEFT_MIN * rounds and busy:
            found = {round_: reason for round_, reason in found.items() if round_ not in busy}
            for trial in self._trials:
                trial.trial.state.pairing["rounds_busy"] = float(len(busy))
        self._discarded = {**{number: reason.detail for number, reason in found.items()}, **self._discarded}
        if rounds - len(found) >= ROUNDS_LEFT_MIN * rounds or not found:
            return ()
        (code, count), *_ = Counter(reason.code for reason in found.values()).most_common(1)
        return (
            Reason(code, f"{len(found)} of {rounds} rounds of the block were disturbed, {count} of them by {code}"),
        )
