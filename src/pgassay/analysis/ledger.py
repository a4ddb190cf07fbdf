"""Whether a recovered database has what its clients were told: commits acknowledged, none invented, none in part; pure.

The load writes a row for each transaction, numbered by client, and its own log, outside the drive, tells when each was
acknowledged. What was acknowledged less than `MARGIN_NS` before the cut is not judged: pgbench reads its clock a moment
before it writes the time down.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MARGIN_NS = 50_000_000


@dataclass(frozen=True)
class Comparison:
    """`lost`: commits that were acknowledged, the earliest `loss_ms` before the cut; `invented`: never sent; `holes`:
    missing below one that is there."""

    lost: int
    loss_ms: float
    invented: int
    holes: int


def compare(
    rows: Mapping[int, tuple[int, int]], answered: Mapping[int, Sequence[tuple[int, bool]]], cut_ns: int
) -> Comparison:
    """Set a recovered ledger against the clients' own log of the same load.

    `rows` has of each client the number of its rows and the greatest number in them; `answered` its transactions in
    order: when each was answered (wall clock, ns), and whether it was committed.
    """
    lost = invented = holes = 0
    earliest = cut_ns
    for client in sorted({*answered, *rows}):
        mine = answered.get(client, ())
        count, greatest = rows.get(client, (0, 0))
        for at_ns, committed in mine[greatest:]:
            if committed and at_ns <= cut_ns - MARGIN_NS:
                lost += 1
                earliest = min(earliest, at_ns)
        sent = 1 + sum(at_ns <= cut_ns + MARGIN_NS for at_ns, _ in mine)
        invented += max(0, greatest - sent)
        known = sum(committed for _, committed in mine[:greatest]) + max(0, greatest - len(mine))
        holes += max(0, known - count)
    return Comparison(lost, (cut_ns - earliest) / 1e6, invented, holes)
