"""A block whose servers take turns: all arms live at once, each from its own clone, one of them playing at a time.

What the machine does in the meantime (another guest, a hot core, a full page cache) then falls on all arms alike: duet
benchmarking (Bulej et al., ICPE 2020), but in turns, so that the arms do not contend with each other. The other servers
are stopped by SIGSTOP meanwhile. What a server leaves dirty is written back before the next one's turn, and the time is
charged to its own; what it does before its slice (`design.lead_in`) is not measured. A round holds one slice of each
arm, rounds come in mirrored pairs (`design.blocks.turns`). Slices are never the unit of inference: each arm of a block
yields one trial, as a trial that had the machine to itself.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path

from pgassay.bench.counters import Reading, Sample
from pgassay.bench.errors import ClusterError, HostError, LoadError, QueryError, SpaceError
from pgassay.bench.load import LoadResult
from pgassay.bench.probe import FileReader
from pgassay.bench.slices import Beat, Metronome, SlicePlayer
from pgassay.design.blocks import rounds_of, turns
from pgassay.lab import failures, messages
from pgassay.lab.arms import ResolvedArm
from pgassay.lab.notes import Assignment, Window
from pgassay.lab.regime import WARM_UP_SUFFIX
from pgassay.lab.site import Sampling
from pgassay.lab.trial import Trial
from pgassay.lab.turns import Turn, dirty, disturbances
from pgassay.load import responses, sketches
from pgassay.probe.registry import every_probe
from pgassay.probe.sampler import differences, to_samples
from pgassay.record import slices as record_of_slices
from pgassay.record.values import Reason, TrialRecord
from pgassay.study.model import ALTERNATE
from pgassay.study.responses import METRONOME

SOURCE = "slices"
"""The source of the series that the slices make."""
ROUNDS_LEFT_MIN = 0.5
"""A block's trials are invalid if a smaller share of its rounds than this is left."""
TRANSACTIONS_MIN = 5
"""A slice must hold as many transactions of each client: else its borders weigh too much."""
CONNECTION_S = 2.0
"""How long a block's connections play before the first round, unmeasured: a new backend is slower until it has mapped
the shared memory, page by page."""
_PROBED_ROUNDS = 2
"""After as many rounds it is known whether slices are long enough: a pair, so that each arm had two."""


class LiveTrial(Trial):
    """A trial in an alternating block: its server lives as long as the block, and stands still between its turns.

    `over` once the treatment has failed: the others go on without it.
    """

    def __init__(self, arm: ResolvedArm, assignment: Assignment) -> None:
        super().__init__(arm, assignment)
        self.arm = arm
        self.name = assignment.arm.name
        self.over = False
        self.turns: list[Turn] = []
        self._player: SlicePlayer | None = None
        self._first: Turn | None = None
        self._kernel: Sampling | None = None
        self._views: Sampling | None = None
        self._views_before: tuple[Reading, ...] = ()
        self._samples: list[Sample] = []

    def begin(self) -> None:
        """Clone, start, settle, connect, warm up, and stand still."""
        for step in (self.clone, self.start, self.settle, self._connect):
            if not self.over:
                self._try(step)

    def take_turn(self, round_: int, position: int) -> None:
        """Play one turn: go on, lead in, play, drain, write back, stand still."""
        self._try(lambda: self.turns.append(self._turn(round_, position, self._arm.study.design.slice_s)))

    def note_machine(self, before: Beat, metronome: Metronome) -> Beat:
        """Measure how fast the machine is after its turn, note it with `before`, and return it; its time counts as the
        turn's, since the budget pays for it."""
        with self._notes.laps("measure"):
            after = metronome.beat()
        if self.turns:
            sooner, later = before.covariates(), after.covariates()
            means = {name: (sooner[name] + later[name]) / 2 for name in sooner.keys() & later.keys()}
            self.turns[-1] = replace(self.turns[-1], machine=means)
        return after

    @property
    def place(self) -> Path:
        """The directory that its clone lies in."""
        return self._clone.parent

    def conclude(self, discarded: Mapping[int, str], disturbed: tuple[Reason, ...]) -> None:
        """Make one result of the turns, without the discarded rounds (round to why); then as any trial ends."""
        if not self.turns:
            return
        for step in (lambda: self._conclude(discarded, disturbed), self.maintain, self.check):
            self._try(step)

    def end(self) -> None:
        """Give everything back; calling it twice is harmless."""
        with ExitStack() as stack:
            stack.callback(self.give_back)
            stack.callback(self._host.close)
            stack.callback(self.stop)
            stack.callback(self._disconnect)

    def finished(self) -> tuple[TrialRecord, tuple[Sample, ...]]:
        """The record, whatever the outcome, and the series."""
        return self.record(), self._notes.samples

    def _try(self, step: Callable[[], None]) -> None:
        """Do a step; where the treatment fails in it, that is noted and ends its part in the block."""
        try:
            clone = self._cluster.clone
            with failures.of_full_drive(self._arm.drive, clone) if clone is not None else nullcontext():
                step()
        except (SpaceError, HostError, ClusterError, QueryError, OSError) as error:
            server = self._cluster.server
            if isinstance(error, QueryError) and server is not None:
                self._notes.alive = server.alive()
            self._notes.problems.update(failures.of_error(error, self._arm.setup.settings))
            self._leave()

    def _leave(self) -> None:
        """The others go on without it, undisturbed."""
        self.over = True
        if self._cluster.server is not None:
            self._freeze()

    def _connect(self) -> None:
        """Warm up in a run of its own, read the server's views, connect, and stand still.

        The views are read at both ends of the block, when no client is connected: backends hand in their counters late.
        """
        design, options = self._arm.study.design, self._arm.setup.load
        readers = self._site.probes(self._server, self._clone)
        self._kernel = self._site.sampling([each for each in readers if isinstance(each, FileReader)])
        self._views = self._site.sampling([each for each in readers if not isinstance(each, FileReader)])
        with self._notes.laps("measure"):
            if options.warmup_s > 0:
                self._gate()
                if self._player is not None:
                    warmed = self._player.play(duration_ms=options.warmup_s * 1000)
                    self._sample(f"{SOURCE}{WARM_UP_SUFFIX}", warmed.tps)
                    self._hang_up()
                    self._arm.drive.write_back(self._clone)
            self._views_before = self._views.read_all()
            self._gate()
        if not self.over:
            self._first = self._turn(0, 0, CONNECTION_S)
            self._notes.problems.update(responses.problems_of_slices([self._first.played]))
        self._notes.pairing.update(pairing=ALTERNATE, slice_s=design.slice_s, lead_in_s=design.lead_in_s)

    def _gate(self) -> None:
        """Connect the load; a server that refuses it has failed."""
        if self.over:
            return
        try:
            self._player = self._arm.load.gate(self._server, self._assignment.seed)
        except LoadError as error:
            self._notes.problems["refused"] = error.message
            self.over = True

    def _freeze(self) -> None:
        """Stand still; nobody may wait for an answer of the server's meanwhile."""
        if self._views is not None:
            self._views.rest()
        self._server.freeze()

    def _thaw(self) -> None:
        self._server.thaw()
        if self._views is not None:
            self._views.wake()

    def _turn(self, round_: int, position: int, length_s: float) -> Turn:
        clock, design, player, kernel = self._site.clock, self._arm.study.design, self._player, self._kernel
        assert player is not None
        assert kernel is not None
        with self._notes.laps("measure"):
            self._thaw()
            thawed_ns = clock.monotonic_ns()
            before = kernel.read_all()
            lead_in = player.play(duration_ms=round(design.lead_in_s * 1e3)) if design.lead_in_s > 0 else None
            wall_ns, began_ns = clock.wall_ns(), clock.monotonic_ns()
            played = player.play(duration_ms=round(length_s * 1e3))
            if lead_in is not None and lead_in.aborted:  # a client that ended there is missing in the slice, unnamed
                played = replace(played, aborted=(*lead_in.aborted, *played.aborted))
            left = kernel.read_all()
            flushing_ns = clock.monotonic_ns()
            self._arm.drive.write_back(self._clone)
            ended_ns = clock.monotonic_ns()
            drift_ns = clock.wall_ns() - wall_ns - (ended_ns - began_ns)
            after = kernel.read_all()
            if played.aborted:
                self._notes.alive = self._server.alive()
                self.over = True
            self._freeze()
        meters = kernel.meters()
        counted = {**differences(before, after, meters), **dirty(left)}
        self._samples += to_samples((*before, *after), meters)
        transactions = played.transactions + (lead_in.transactions if lead_in else 0)
        turn = Turn(
            round_,
            position,
            played,
            lead_in,
            thawed_ns,
            ended_ns - flushing_ns,
            wall_ns,
            drift_ns,
            counted,
            every_probe().costs(counted, transactions),
        )
        source = SOURCE if round_ else f"{SOURCE}{WARM_UP_SUFFIX}"
        self._sample(source, played.transactions / max(1, turn.charged_ns) * 1e9)
        return turn

    def _conclude(self, discarded: Mapping[int, str], disturbed: tuple[Reason, ...]) -> None:
        notes, first, last = self._notes, self.turns[0], self.turns[-1]
        kept = [turn for turn in self.turns if turn.round not in discarded]
        charged_ns = sum(turn.charged_ns for turn in kept)
        self._keep_slices(discarded)
        notes.pairing |= {"slices": float(len(kept)), "rounds_left_out": float(len(discarded))}
        notes.disturbed = disturbed
        with notes.laps("measure"):
            self._thaw()
            self._hang_up()
            counted = self._summed()
            if notes.alive and self._views is not None:
                counted |= differences(self._views_before, self._views.read_all(), self._views.meters())
            result = LoadResult(
                status=0,
                began=(first.played.opened_ns, first.wall_ns),
                ended=(last.played.drained_ns, last.wall_ns + last.charged_ns),
                transactions=sum(turn.played.transactions for turn in kept),
                responses=self._responses(kept, charged_ns / 1e9),
                problems=responses.problems_of_slices([turn.played for turn in self.turns]),
            )
            notes.samples = tuple(self._samples)
            self._keep_measures(counted, result, sum(turn.transactions for turn in self._counted))
            notes.window = Window(first.played.opened_ns, charged_ns, charged_ns)
            self._look_around(result)

    def _responses(self, kept: Sequence[Turn], seconds: float) -> dict[str, float | None]:
        found = responses.of_slices([turn.played for turn in kept], seconds)
        told = {each.name: found.get(each.name) for each in self._arm.load.responses}
        return told | {each.name: _weighted(kept, each.name) for each in METRONOME if self._site.metronome is not None}

    @property
    def _counted(self) -> list[Turn]:
        """All turns since the server's views were read, the first one included."""
        return [*([self._first] if self._first is not None else []), *self.turns]

    def _summed(self) -> dict[str, float | None]:
        """What was counted in all turns together, whoever else used the machine between them; gauges at the end."""
        found: dict[str, float | None] = {}
        assert self._kernel is not None
        for name, meter in self._kernel.meters().items():
            values = [turn.counters.get(name) for turn in self._counted]
            known = [value for value in values if value is not None]
            if meter.cumulative:
                found[name] = sum(known) if len(known) == len(values) else None
            else:
                found[name] = values[-1]
        return found

    def _keep_slices(self, discarded: Mapping[int, str]) -> None:
        lines = record_of_slices.encode([turn.recorded(discarded.get(turn.round, "")) for turn in self.turns])
        kept = [turn.played.latencies.buckets for turn in self.turns if turn.round not in discarded]
        with self._assignment.keeping("the slices"):
            self._site.disk.write_file(self._assignment.staging / record_of_slices.FILE, lines)
            if any(kept):
                latencies = sketches.encode_slices(kept, self._arm.study.design.slice_s)
                self._site.disk.write_file(self._assignment.staging / sketches.FILE, latencies)

    def _sample(self, source: str, tps: float) -> None:
        clock = self._site.clock
        self._samples.append(Sample(clock.monotonic_ns(), clock.wall_ns(), source, "tps", "1/s", tps))

    def _hang_up(self) -> None:
        """Close the load's connections: its backends hand in what they counted."""
        with self._site.held():
            player, self._player = self._player, None
            if player is not None:
                player.close()

    def _disconnect(self) -> None:
        self._hang_up()
        with self._site.held():
            if self._cluster.server is not None:
                self._thaw()  # A reader that is under way would wait for ever.
            for sampling in (self._kernel, self._views):
                if sampling is not None:
                    sampling.close()


def _weighted(turns_: Sequence[Turn], name: str) -> float | None:
    """The mean of what the metronome told, weighted by the lengths of the turns."""
    known = [(turn.machine[name], turn.charged_ns) for turn in turns_ if name in turn.machine]
    return sum(value * length for value, length in known) / sum(length for _, length in known) if known else None


class AlternatingBlock:
    """The live trials of a block. `run` plays it; whatever was started is stopped on every way out."""

    def __init__(self, trials: Sequence[LiveTrial], seed: int, block: int) -> None:
        self._trials = tuple(trials)
        self._seed = seed
        self._block = block
        self._discarded: dict[int, str] = {}

    def run(self) -> list[tuple[TrialRecord, tuple[Sample, ...]]]:
        """Each trial's record and series, in the order given.

        Raises `BenchError` where the bench failed (and not a treatment), `RecordError` where the record did, and
        `UsageError` for slices that are too short for the load.
        """
        with ExitStack() as stack:
            for trial in self._trials:
                stack.callback(trial.end)
                trial.begin()
            rounds = self._play(self._metronome(stack))
            disturbed = self._judge(rounds)
            for trial in self._trials:
                trial.conclude(self._discarded, disturbed)
        return [trial.finished() for trial in self._trials]

    @property
    def _living(self) -> dict[str, LiveTrial]:
        return {trial.name: trial for trial in self._trials if not trial.over}

    def _metronome(self, stack: ExitStack) -> Metronome | None:
        """Beside the clones, so that it flushes to their device; it goes before they do."""
        site = self._trials[0].arm.site
        living = self._living
        if site.metronome is None or not living:
            return None
        metronome = site.metronome(next(iter(living.values())).place)
        stack.callback(metronome.close)
        return metronome

    def _play(self, metronome: Metronome | None) -> int:
        """All rounds; returns how many there were."""
        arm = self._trials[0].arm
        design = arm.study.design
        rounds = rounds_of(float(arm.setup.load.duration_s or 0), design.slice_s)
        before = metronome.beat() if metronome else None
        for round_ in range(1, rounds + 1):
            living = self._living
            if not living:
                return round_ - 1
            for position, name in enumerate(turns(self._seed, self._block, round_, list(living)), start=1):
                trial = living[name]
                trial.take_turn(round_, position)
                if before is not None and metronome is not None:
                    before = trial.note_machine(before, metronome)  # nothing happens before the next turn
                if trial.over:
                    self._discarded[round_] = messages.round_ended(name)
                    break
            if round_ == _PROBED_ROUNDS:
                for trial in self._living.values():
                    _require_long_enough(trial)
        return rounds

    def _judge(self, rounds: int) -> tuple[Reason, ...]:
        """Note which rounds are discarded; returns why the whole block is, if too few of its rounds are left."""
        found: dict[int, Reason] = {}
        for trial in self._trials:
            for turn in trial.turns:
                reasons = disturbances(turn, trial.arm.site.foreign_share_max)
                if reasons:
                    found.setdefault(turn.round, reasons[0])
        self._discarded = {**{number: reason.detail for number, reason in found.items()}, **self._discarded}
        if rounds - len(found) >= ROUNDS_LEFT_MIN * rounds or not found:
            return ()
        (code, count), *_ = Counter(reason.code for reason in found.values()).most_common(1)
        return (Reason(code, messages.rounds_disturbed(len(found), rounds, count, code)),)


def _require_long_enough(trial: LiveTrial) -> None:
    """Raise `UsageError` where slices hold hardly a transaction, or their last ones last longer than they do."""
    connections = trial.arm.setup.load.connections
    slice_ns = trial.arm.study.design.slice_s * 1e9
    seen = trial.turns[-_PROBED_ROUNDS:]
    most = max((turn.played.transactions for turn in seen), default=0)
    drain_ns = min((turn.played.drained_ns - turn.played.closed_ns for turn in seen), default=0)
    if seen and (most < TRANSACTIONS_MIN * connections or drain_ns > slice_ns):
        raise messages.slices_too_short(trial.name, slice_ns / 1e9, most, connections, drain_ns / 1e9)
