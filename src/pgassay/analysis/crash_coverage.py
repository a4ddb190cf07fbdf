"""What power cuts met and what they lost: a configuration is called safe only by cuts that could have shown damage.

A file that was never written back is damage only once a checkpoint has moved the start of recovery past its changes,
and a crash in the middle of a checkpoint recovers from the one before. So cuts must come both while a checkpoint is
under way and after whole ones, while WAL goes to segments that held older WAL, and between writes to each kind of file.
How often a cut did damage is the matter of `crash_risk`.

A recovered database must have every commit that its clients saw acknowledged, none that they did not send, and no gaps.
The load writes a row for each transaction, numbered by client, and its own log, outside the drive, has the time of each
answer. What was acknowledged less than `MARGIN_NS` before the cut is not judged: pgbench reads its clock a moment
before it writes the time down.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

KINDS = {
    "heap": "a table",
    "index": "an index",
    "pg_xact": "pg_xact",
    "control": "pg_control",
    "wal": "WAL",
    "maps": "a visibility or free space map",
}
"""Kinds of file in a cluster (manual, "Database File Layout") with their words; `maps` are those of either kind."""


@dataclass(frozen=True)
class Met:
    """What the server under load had done when its power was cut.

    `checkpoints`: whole ones since the load began, by their completion records. `in_checkpoint`: one had begun, and its
    completion record was not written yet. `recycled_wal`: WAL went to a segment that had held older WAL. `written`:
    which of `KINDS` it had written to since the cut before.
    """

    checkpoints: Annotated[int, Meta(ge=0, le=999_999)]
    in_checkpoint: bool
    recycled_wal: bool
    written: tuple[str, ...]

    @property
    def after(self) -> bool:
        """Did it come after a whole checkpoint? The bound of a safe configuration counts no other cut."""
        return self.checkpoints > 0


@dataclass(frozen=True)
class Coverage:
    """What the cuts of a configuration met: whole `checkpoints`, cuts `within` one, cuts `after` a whole one.

    `untried` says what no cut met, each as the end of a sentence that begins with "not tried"; empty where all was met.
    """

    checkpoints: int
    within: int
    after: int
    untried: tuple[str, ...]


UNRECORDED = "across a checkpoint: not recorded"
"""Of records that were made before cuts noted what they met."""


def coverage_of(trials: Iterable[Sequence[Met | None]]) -> Coverage:
    """What the cuts of each trial met together; None is a cut of which it was not recorded."""
    windows = [known for cuts in trials if (known := [cut for cut in cuts if cut is not None])]
    met = [cut for window in windows for cut in window]
    if not met:
        return Coverage(0, 0, 0, (UNRECORDED,))
    within = sum(cut.in_checkpoint for cut in met)
    after = sum(cut.after for cut in met)
    written = {kind for cut in met for kind in cut.written}
    unwritten = [words for kind, words in KINDS.items() if kind not in written]
    untried = [
        *([] if after else ["across a checkpoint"]),
        *([] if within else ["within a checkpoint"]),
        *([] if any(cut.recycled_wal for cut in met) else ["with WAL in recycled segments"]),
        *([f"with writes to {', '.join(unwritten)}"] if unwritten else []),
    ]
    return Coverage(sum(max(cut.checkpoints for cut in window) for window in windows), within, after, tuple(untried))


MARGIN_NS = 50_000_000


@dataclass(frozen=True)
class Comparison:
    """`lost`: commits that were acknowledged, the earliest `loss_ms` before the cut; `invented`: never sent; `holes`:
    missing below one that is there."""

    lost: int
    loss_ms: float
    invented: int
    holes: int


def compare_ledger(
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
