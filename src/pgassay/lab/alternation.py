"""A block whose servers take turns: all arms live at once, each from its own clone, one of them playing at a time.

What the machine does in the meantime (another guest, a hot core, a full page cache) then slows all arms equally: duet
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
from pgassay.errors import UsageError
from pgassay.lab.live_trial import TRANSACTIONS_MIN, LiveTrial
from pgassay.lab.turns import FOREIGN, disturbances
from pgassay.record.values import Reason, TrialRecord
from pgassay.study.model import Design

ROUNDS_LEFT_MIN = 0.5
"""A block's trials are invalid if a smaller share of its rounds than this is left."""
LONGER_S = (0.5, 1.0, 2.0, 5.0, 10.0)
"""Lengths that slices of slow transactions, or on a busy machine, may have instead of the planned one, in seconds."""
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
        `UsageError` for a load that even the longest slices are too short for. A host of the load that is lost costs
        all of them.
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
        """All rounds; returns how many there were. Where slices prove too short they begin again with longer ones."""
        arm = self._trials[0].arm
        slice_s = _length_s(arm.study.design, self._living.values())
        while True:
            for trial in self._living.values():
                trial.agree(slice_s)
            rounds = rounds_of(float(arm.setup.load.duration_s or 0), slice_s)
            played = self._rounds(rounds, slice_s, metronome)
            if played is not None:
                return played
            living = self._living.values()
            slice_s = max(_longer_s(each, slice_s) for each in living)
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
                    self._discarded[round_] = round_ended(name)
                    break
            if before is not None and metronome is not None:
                after = trial.beat(metronome)
                for each in living.values():
                    each.note_machine(round_, before, after)
                before = after  # nothing happens before the next round
            if round_ == _PROBED_ROUNDS and any(_too_short(each, slice_s) for each in self._living.values()):
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
                reasons = disturbances(turn, trial.arm.site.foreign_share_max)
                if reasons:
                    found.setdefault(turn.round, reasons[0])
        busy = {round_ for round_, reason in found.items() if reason.code in FOREIGN}
        if rounds - len(found) < ROUNDS_LEFT_MIN * rounds and busy:
            found = {round_: reason for round_, reason in found.items() if round_ not in busy}
            for trial in self._trials:
                trial.note_busy(len(busy))
        self._discarded = {**{number: reason.detail for number, reason in found.items()}, **self._discarded}
        if rounds - len(found) >= ROUNDS_LEFT_MIN * rounds or not found:
            return ()
        (code, count), *_ = Counter(reason.code for reason in found.values()).most_common(1)
        return (
            Reason(code, f"{len(found)} of {rounds} rounds of the block were disturbed, {count} of them by {code}"),
        )


def _length_s(design: Design, living: Iterable[LiveTrial]) -> float:
    """How long the slices of a block are: as asked for; else longer than usual where transactions are slow."""
    if design.slice_asked:
        return design.slice_s
    needed_s = max((trial.needed_s for trial in living), default=0.0)
    if needed_s <= design.slice_s:
        return design.slice_s
    return next((each for each in LONGER_S if each >= needed_s), LONGER_S[-1])


def _too_short(trial: LiveTrial, slice_s: float) -> bool:
    """Do slices hold hardly a transaction of each client, or do their last ones last longer than they do?"""
    most, drain_s = _seen(trial)
    return bool(trial.turns) and (most < TRANSACTIONS_MIN * trial.arm.setup.load.connections or drain_s > slice_s)


def _longer_s(trial: LiveTrial, slice_s: float) -> float:
    """The next length of slices, by what this trial did in those of `slice_s`; raises `UsageError` beyond the last."""
    if not _too_short(trial, slice_s):
        return slice_s
    most, drain_s = _seen(trial)
    connections = trial.arm.setup.load.connections
    needed_s = max(drain_s, TRANSACTIONS_MIN * connections / max(most, 1) * slice_s)
    longer = [each for each in LONGER_S if each > slice_s]
    if not longer:
        raise UsageError(
            f"slices of {slice_s:g} s are too short for this load: {trial.name} ended {most} transactions of"
            f" {connections} clients in one, and its last ones took {drain_s:.2g} s more",
            "run the treatments one after the other (--pairing sequential)",
        )
    return next((each for each in longer if each >= needed_s), longer[-1])


def _seen(trial: LiveTrial) -> tuple[int, float]:
    """The most transactions of its probed slices, and how long the last ones of a slice at least went on after it."""
    seen = [turn.played for turn in trial.turns[-_PROBED_ROUNDS:]]
    most = max((each.transactions for each in seen), default=0)
    return most, min((each.drained_ns - each.closed_ns for each in seen), default=0) / 1e9


def round_ended(arm: str) -> str:
    """Why a round of an alternating block is left out: one of its servers did not reach its end."""
    return f"{arm} failed in this round"
