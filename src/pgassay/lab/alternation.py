"""A block whose servers take turns: all arms live at once, each from its own clone, one of them playing at a time.

What the machine does in the meantime (another guest, a hot core, a full page cache) then falls on all arms alike: duet
benchmarking (Bulej et al., ICPE 2020), but in turns, so that the arms do not contend with each other. The other servers
are stopped by SIGSTOP meanwhile. What a server leaves dirty is written back before the next one's turn, once for each
second that it has played, and charged to it; what it does before its slice (`design.lead_in`) is not measured. A round
holds one slice of each arm, rounds come in mirrored pairs (`design.blocks.turns`). Slices are never the unit of
inference: each arm of a block yields one trial, as a trial that had the machine to itself.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack

from pgassay.bench.counters import Sample
from pgassay.bench.errors import ClientLostError
from pgassay.bench.slices import Metronome
from pgassay.design.blocks import rounds_of, turns
from pgassay.lab import messages
from pgassay.lab.live_trial import TRANSACTIONS_MIN, LiveTrial
from pgassay.lab.turns import disturbances
from pgassay.record.values import Reason, TrialRecord
from pgassay.study.model import Design

ROUNDS_LEFT_MIN = 0.5
"""A block's trials are invalid if a smaller share of its rounds than this is left."""
LONGER_S = (0.5, 1.0, 2.0, 5.0, 10.0)
"""Lengths that slices of slow transactions may have instead of the usual one, in seconds."""
_PROBED_ROUNDS = 2
"""After as many rounds it is known whether slices are long enough: a pair, so that each arm had two."""


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
        `UsageError` for slices that are too short for the load. A host of the load that is lost costs all of them.
        """
        with ExitStack() as stack:
            try:
                for trial in self._trials:
                    stack.callback(trial.end)
                    trial.begin()
                rounds = self._play(self._metronome(stack))
                disturbed = self._judge(rounds)
                for trial in self._trials:
                    trial.conclude(self._discarded, disturbed)
            except ClientLostError as error:
                for trial in self._trials:
                    trial.lose_client(error.message)
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
        slice_s = _length_s(design, self._living.values())
        for trial in self._living.values():
            trial.agree(slice_s)
        rounds = rounds_of(float(arm.setup.load.duration_s or 0), slice_s)
        before = metronome.beat() if metronome else None
        for round_ in range(1, rounds + 1):
            living = self._living
            if not living:
                return round_ - 1
            for position, name in enumerate(turns(self._seed, self._block, round_, list(living)), start=1):
                trial = living[name]
                trial.take_turn(round_, position)
                if trial.over:
                    self._discarded[round_] = messages.round_ended(name)
                    break
            if before is not None and metronome is not None:
                after = trial.beat(metronome)
                for each in living.values():
                    each.note_machine(round_, before, after)
                before = after  # nothing happens before the next round
            if round_ == _PROBED_ROUNDS:
                for each in self._living.values():
                    _require_long_enough(each, slice_s)
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


def _length_s(design: Design, living: Iterable[LiveTrial]) -> float:
    """How long the slices of a block are: as asked for; else longer than usual where transactions are slow."""
    if design.slice_asked:
        return design.slice_s
    needed_s = max((trial.needed_s for trial in living), default=0.0)
    if needed_s <= design.slice_s:
        return design.slice_s
    return next((each for each in LONGER_S if each >= needed_s), LONGER_S[-1])


def _require_long_enough(trial: LiveTrial, slice_s: float) -> None:
    """Raise `UsageError` where slices hold hardly a transaction, or their last ones last longer than they do."""
    connections = trial.arm.setup.load.connections
    slice_ns = slice_s * 1e9
    seen = trial.turns[-_PROBED_ROUNDS:]
    most = max((turn.played.transactions for turn in seen), default=0)
    drain_ns = min((turn.played.drained_ns - turn.played.closed_ns for turn in seen), default=0)
    if seen and (most < TRANSACTIONS_MIN * connections or drain_ns > slice_ns):
        raise messages.slices_too_short(trial.name, slice_ns / 1e9, most, connections, drain_ns / 1e9)
