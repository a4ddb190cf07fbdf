"""One server of a block whose servers take turns: it lives as long as the block, and stands still between its turns.

A turn: the server goes on, plays its lead-in (`design.lead_in`, not measured) and its slice; the last transactions end,
and it stands still (SIGSTOP). What it leaves dirty is written back once for each second that it has played. Its turns
together make one trial, as if it had had the machine to itself.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path

from pgassay.bench.client import HERE, LOOPBACK
from pgassay.bench.counters import Reading, Sample
from pgassay.bench.errors import ClientLostError, ClusterError, HostError, LoadError, QueryError, SpaceError
from pgassay.bench.load import LoadResult
from pgassay.bench.probe import FileReader, Reader
from pgassay.bench.running import Elsewhere
from pgassay.bench.slices import Beat, LatencyHistogram, Metronome, SlicePlayer
from pgassay.lab import failures
from pgassay.lab.arms import ResolvedArm
from pgassay.lab.notes import Assignment, Window
from pgassay.lab.regime import WARM_UP_SUFFIX
from pgassay.lab.site import Sampling
from pgassay.lab.trial import Trial
from pgassay.lab.turns import MACHINE, Turn, dirty
from pgassay.load import responses
from pgassay.probe.registry import every_probe
from pgassay.probe.sampler import differences, to_samples
from pgassay.record import slices as record_of_slices
from pgassay.record.glance import Glance
from pgassay.record.values import Reason, TrialRecord
from pgassay.study.model import ALTERNATE, FREE, PAIRED
from pgassay.study.responses import METRONOME

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
        self._unmeasured: list[Turn] = []
        """The connections' first turn, and slices that were too short: counted, as their backends count them."""
        self._kernel: Sampling | None = None
        self._views: Sampling | None = None
        self._views_before: tuple[Reading, ...] = ()
        self._samples: list[Sample] = []
        self._memory: list[Reader] = []
        self._slice_s = arm.study.design.slice_s
        self._paid = 0
        """How many of the turns have paid for writing back."""

    def begin(self) -> None:
        """Clone, start, settle, connect, warm up, and stand still."""
        for step in (self.clone, self.start, self.settle, self._connect):
            if not self.over:
                self._try(step)

    def take_turn(self, round_: int, position: int) -> None:
        """Play one turn: go on, lead in, play, drain, write back, stand still."""
        self._try(lambda: self._keep(self._turn(round_, position, self._slice_s)))

    @property
    def needed_s(self) -> float:
        """How long a slice must at least be, by what its clients did before the first round."""
        played = self._unmeasured[0].played if self._unmeasured else None
        if played is None or not played.transactions:
            return 0.0  # what is wrong with it is named elsewhere
        return TRANSACTIONS_WANTED * self.arm.setup.load.connections / played.tps

    def agree(self, slice_s: float) -> None:
        """Its slices are so long from now on, as those of all others in the block."""
        self._slice_s = slice_s
        lead_in_s = self._arm.study.design.lead_in_s
        placement = PAIRED if self._player is not None and self._player.paired else FREE
        self._notes.pairing.update(pairing=ALTERNATE, slice_s=slice_s, lead_in_s=lead_in_s, placement=placement)

    def begin_again(self) -> None:
        """Its turns so far were too short to be measured; the next ones are the first."""
        self._notes.pairing.setdefault("slice_too_short_s", self._slice_s)
        self._unmeasured += self.turns
        self.turns, self._paid = [], 0
        self._samples = [
            replace(each, source=f"{SOURCE}{WARM_UP_SUFFIX}") if each.source == SOURCE else each
            for each in self._samples
        ]

    def beat(self, metronome: Metronome) -> Beat:
        """Measure how fast the machine is; the time counts as its own, since the budget pays for it."""
        with self._notes.laps("measure"):
            return metronome.beat()

    def note_machine(self, round_: int, before: Beat, after: Beat) -> None:
        """How fast the machine was before and after a round is noted with the turn that it had in it."""
        if self.turns and self.turns[-1].round == round_:
            sooner, later = before.covariates(), after.covariates()
            means = {name: (sooner[name] + later[name]) / 2 for name in sooner.keys() & later.keys()}
            self.turns[-1] = replace(self.turns[-1], machine=means)

    def note_busy(self, rounds: int) -> None:
        """So many rounds count although other programs were busy in them."""
        self._notes.pairing["rounds_busy"] = float(rounds)

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

    def lose_client(self, why: str) -> None:
        """The host of the load has gone: nothing of this trial is the treatment's doing."""
        self._notes.client_lost = why
        self.over = True

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
        options = self._arm.setup.load
        with self._assignment.keeping("the scripts"):
            self._arm.load.keep_inputs(self._assignment.staging)
        readers = self._site.probes(self._server, self._clone)
        self._kernel = self._site.sampling([each for each in readers if isinstance(each, FileReader)])
        self._memory = [each for each in readers if isinstance(each, FileReader) and MACHINE in each.meters]
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
            first = self._turn(0, 0, CONNECTION_S)
            self._unmeasured.append(first)
            self._notes.problems.update(responses.problems_of_slices([first.played]))

    def _gate(self) -> None:
        """Connect the load; a server that refuses it has failed."""
        if self.over:
            return
        try:
            self._player = self._arm.load.gate(
                self._server, self._assignment.seed, paired=self._arm.study.design.placement == PAIRED
            )
        except ClientLostError:
            raise
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
            left = tuple(reading for each in self._memory for reading in each.read())
            flush_ns = self._write_back(length_s)
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
            flush_ns,
            wall_ns,
            drift_ns,
            counted,
            every_probe().costs(counted, transactions),
        )
        self._glance(turn)
        source = SOURCE if round_ else f"{SOURCE}{WARM_UP_SUFFIX}"
        self._sample(source, played.transactions / max(1, turn.charged_ns) * 1e9)
        return turn

    def _glance(self, turn: Turn) -> None:
        """Tell those who watch of a turn, once its server stands still; WAL and waits are known when the block ends."""
        seconds, latencies = turn.charged_ns / 1e9, turn.played.latencies
        values: dict[str, float | None] = {"tps": turn.played.transactions / max(seconds, 1e-9)}
        if latencies.count:
            values["latency_ms"] = latencies.sum_ns / latencies.count / 1e6
        for name in ("written_bytes", "read_bytes"):
            counted = turn.counters.get(f"diskstats.{name}")
            values[f"{name}_per_s"] = None if counted is None else counted / max(seconds, 1e-9)
        self._note(Glance(turn.played.drained_ns, turn.wall_ns, SOURCE, values))

    def _keep(self, turn: Turn) -> None:
        """Keep a turn; where it has written back what earlier ones left dirty, too, all of them share the time."""
        self.turns.append(turn)
        if turn.flush_ns:
            mine, self._paid = self.turns[self._paid :], len(self.turns)
            self.turns[-len(mine) :] = [replace(each, flush_ns=turn.flush_ns // len(mine)) for each in mine]

    def _write_back(self, played_s: float) -> int:
        """Write back what the server has left dirty, once its turns since the last time, this one of `played_s` among
        them, are long enough together. Returns how long that took, in nanoseconds; 0 where nothing was written back."""
        if (len(self.turns) - self._paid + 1) * played_s < WRITE_BACK_S:
            return 0
        began_ns = self._site.clock.monotonic_ns()
        self._arm.drive.write_back(self._clone)
        return max(1, self._site.clock.monotonic_ns() - began_ns)

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
                elsewhere=self._elsewhere(),
            )
            notes.samples = tuple(self._samples)
            self._keep_measures(counted, result, sum(turn.transactions for turn in self._counted))
            notes.window = Window(first.played.opened_ns, charged_ns, charged_ns)
            self._look_around(result)

    def _responses(self, kept: Sequence[Turn], seconds: float) -> dict[str, float | None]:
        found = responses.of_slices([turn.played for turn in kept], seconds)
        told = {each.name: found.get(each.name) for each in self._arm.load.responses}
        return told | {each.name: _weighted(kept, each.name) for each in METRONOME if self._site.metronome is not None}

    def _elsewhere(self) -> Elsewhere | None:
        """A player on another host is none of our processes, so it tells its processor time itself."""
        if self._arm.setup.load.host in (HERE, LOOPBACK):
            return None
        played = [each for turn in self._counted for each in (turn.lead_in, turn.played) if each is not None]
        return Elsewhere(sum(each.cpu_ns for each in played) / 1e3, None, 0, 0, 0.0)

    @property
    def _counted(self) -> list[Turn]:
        """All turns since the server's views were read, the first one included."""
        return [*self._unmeasured, *self.turns]

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
        counted = [turn.played for turn in self.turns if turn.round not in discarded]
        kept = [each.latencies.buckets for each in counted]
        by_script = zip(*(each.scripts for each in counted), strict=True)
        scripts = [sum(mine, LatencyHistogram()).buckets for mine in by_script]
        with self._assignment.keeping("the slices"):
            self._site.disk.write_file(self._assignment.staging / record_of_slices.FILE, lines)
            if any(kept):
                latencies = responses.encode_slices(kept, self._slice_s, scripts)
                self._site.disk.write_file(self._assignment.staging / responses.SKETCHES_FILE, latencies)

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
