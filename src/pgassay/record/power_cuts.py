"""The power cuts of a trial as its directory keeps them: `power_cuts.jsonl`, a line a cut, in their order.

What each line has is `CutRecord`; a later version may add to it, and leaves what is here (docs/record.md).
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pgassay import untrusted
from pgassay.analysis.power_cuts import ServerAtCut
from pgassay.record.reading import Run
from pgassay.record.values import Amount, Moment

FILE = "power_cuts.jsonl"
SOUND = "sound"
LOST_COMMITS, NEVER_SENT, HALF_TRANSACTION = "lost_commits", "commits_never_sent", "half_transaction"
DAMAGED_PAGE, DAMAGED_FILESYSTEM, NO_RECOVERY = "damaged_page", "damaged_filesystem", "no_recovery"
ENDLESS_RECOVERY, DRIVE_FULL = "endless_recovery", "drive_full"
"""The verdicts on a cut."""


@dataclass(frozen=True)
class CutRecord:
    """One cut. `verdict` is `sound` or what was found first; `detail` says it in words.

    `epoch` counts the drive's flushes: crash states of one epoch are alike. `page` is None where no page was in flight.
    `recovery_ms` is None where the server that recovered had quick settings instead of the treatment's.
    """

    number: Moment
    wall_ns: Moment
    epoch: Moment
    draw: str
    seed: int
    requests: Moment
    pieces: Moment
    lost_pieces: Moment
    torn_requests: Moment
    cut_ms: Amount
    total_ms: Amount
    verdict: str
    detail: str = ""
    evidence: str = ""
    recovery_ms: Amount | None = None
    page: dict[str, Any] | None = None
    strip: list[list[int]] | None = None
    ledger: bool = False
    """Were commits compared with the load's own log?"""
    amcheck: bool = False
    """Were all tables and indexes checked, and the ledger and the balances read whole?"""
    lost_commits: Moment = 0
    loss_ms: Amount = 0.0
    redo_bytes: Amount | None = None
    """WAL that recovery replayed; None where the server's log does not report."""
    steps_ms: dict[str, Amount] | None = None
    """How long each step took."""
    own_settings: bool = True
    """Had the server that recovered the treatment's settings?"""
    memory_bytes: Moment = 0
    """What the crash state took besides its blocks."""
    met: ServerAtCut | None = None
    """What the server under load had done; None in records of earlier versions, and where it could not be asked."""


HONEST = "honest"
"""The level of `drive.flush` whose flushes make durable what was written before."""


def epoch_of(cut: CutRecord, flush: str) -> int:
    """The epoch of a cut among those of its trial. Where flushes are not honest none begins anything: all are alike."""
    return cut.epoch if flush == HONEST else 0


def encode(cuts: Sequence[CutRecord]) -> bytes:
    return "".join(json.dumps(asdict(cut)) + "\n" for cut in cuts).encode()


def decode(data: bytes) -> tuple[CutRecord, ...]:
    return tuple(untrusted.json(line, CutRecord) for line in data.splitlines() if line.strip())


def power_cuts(run: Run, number: int) -> tuple[CutRecord, ...]:
    return run.of_trial(number, FILE, "the power cuts", decode) or ()
