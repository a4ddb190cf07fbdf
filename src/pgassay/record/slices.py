"""The slices of a trial whose servers took turns: `slices.jsonl` in its directory, one line a slice, in order of time.

A trial's own responses are made of these (docs/statistics.md, "Alternating blocks"); the discarded ones are kept and
marked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from pgassay import untrusted
from pgassay.analysis.alternation import SliceRow
from pgassay.record.reading import Run
from pgassay.record.values import Amount, Moment
from pgassay.study.responses import Status

FILE = "slices.jsonl"


@dataclass(frozen=True)
class SliceRecord:
    """One turn of one server. Moments by the monotonic clock, `wall_ns` since the epoch when it was opened; all in ns.

    `round` and `position` in it count from 1. A slice lasts from `opened_ns` until its last transaction has ended
    (`drained_ns`); then what it left dirty is written back, which takes `flush_ns`. `lead_in_transactions` were played
    before it, unmeasured; `parts` ended in each tenth of it. `latencies_ns` has mean, quantiles and greatest (`p50`,
    `p95` …). `covariates` are by name, None where not available; `dirty_bytes` and `writeback_bytes` of the whole
    machine, before the flush.
    """

    round: Moment
    position: Moment
    wall_ns: Moment
    thawed_ns: Moment
    opened_ns: Moment
    closed_ns: Moment
    drained_ns: Moment
    flush_ns: Moment
    transactions: Moment
    lead_in_transactions: Moment = 0
    failed: Mapping[str, Moment] = field(default_factory=dict)
    retries: Moment = 0
    late: Moment = 0
    aborted: tuple[str, ...] = ()
    parts: tuple[Moment, ...] = ()
    client_cpu_ns: Moment = 0
    latencies_ns: Mapping[str, Moment] = field(default_factory=dict)
    covariates: Mapping[str, Amount | None] = field(default_factory=dict)
    dirty_bytes: Amount | None = None
    writeback_bytes: Amount | None = None
    discarded: str = ""
    """Why the slices of this round are left out; empty for one that counts."""

    @property
    def active_s(self) -> float:
        return (self.drained_ns - self.opened_ns) / 1e9

    @property
    def flush_s(self) -> float:
        return self.flush_ns / 1e9

    def row(self, block: int, arm: str) -> SliceRow:
        parts = tuple(map(float, self.parts))
        charged = self.active_s, self.flush_s
        return SliceRow(block, self.round, self.position, arm, self.transactions, *charged, self.discarded, parts)


def rows(run: Run) -> tuple[SliceRow, ...]:
    """Every slice of a run that may be distinguished by arm and block, as the analysis takes them; trials that are not
    valid are left out. Raises `DamagedError`."""
    return tuple(
        each.row(trial.block, trial.arm)
        for trial in run.trials
        if trial.status is Status.VALID
        for each in read_slices(run, trial.number)
    )


def encode(slices: Sequence[SliceRecord]) -> bytes:
    return b"".join(msgspec.json.encode(each) + b"\n" for each in slices)


def read_slices(run: Run, number: int) -> tuple[SliceRecord, ...]:
    """The slices of a trial; empty for one that had its server to itself. Raises `DamagedError`."""
    decoder = msgspec.json.Decoder(SliceRecord)
    lines = run.of_trial(
        number,
        FILE,
        "the slices",
        lambda data: tuple(untrusted.decoded(decoder.decode, line) for line in data.splitlines()),
    )
    return lines or ()
