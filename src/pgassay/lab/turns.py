"""One turn of a server in an alternating block: what was played and counted in it, and what disturbed it.

A turn is judged by the same causes as a trial (`checks`), for its own length.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pgassay.bench.counters import Reading
from pgassay.bench.slices import Slice
from pgassay.lab import checks
from pgassay.lab.checks import Evidence
from pgassay.load import responses
from pgassay.record.slices import SliceRecord
from pgassay.record.values import Reason

CLOCK_SHARE_MAX = 0.1
"""A slice loses its round if the wall clock's length of it differs by more than this share."""
FOREIGN = ("foreign_cpu", "foreign_writes")
"""Disturbances by other programs, which slow all servers of a block equally where they go on all the time."""
_PAGE_BYTES = 4096
MACHINE = "machine"
"""The source of the counters of the whole machine."""
_DIRTY = (f"{MACHINE}.dirty_pages", f"{MACHINE}.writeback_pages")
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
    """How fast the machine was around it, as the metronome told: `metronome_ns` …"""

    @property
    def transactions(self) -> int:
        """All of the turn, measured or not: what was counted belongs to them."""
        return self.played.transactions + (self.lead_in.transactions if self.lead_in else 0)

    @property
    def charged_ns(self) -> int:
        """What its transactions cost: until the last had ended, and until what they left dirty was written back."""
        return self.played.drained_ns - self.played.opened_ns + self.flush_ns

    def recorded(self, discarded: str) -> SliceRecord:
        """As the record keeps it."""
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
            dirty_bytes=_bytes(self.counters.get("machine.dirty_pages")),
            writeback_bytes=_bytes(self.counters.get("machine.writeback_pages")),
            discarded=discarded,
        )


def _bytes(pages: float | None) -> float | None:
    return None if pages is None else pages * _PAGE_BYTES


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


def dirty(readings: Sequence[Reading]) -> dict[str, float | None]:
    """How much of the machine's memory waited to be written, or was being written, as the slice left it."""
    machine = next((each.values for each in readings if each.source == MACHINE), {})
    return {name: machine[name.partition(".")[2]] for name in _DIRTY if name.partition(".")[2] in machine}
