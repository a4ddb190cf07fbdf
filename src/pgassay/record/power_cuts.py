"""The power cuts of a trial as its directory keeps them: `power_cuts.jsonl`, a line a cut, in their order.

What each line has is `CutRecord`; a later version may add to it, and leaves what is here (docs/record.md).
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from pgassay.analysis.crash_coverage import Met
from pgassay.record.reading import Run
from pgassay.record.trials import trial_path

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

    number: int
    wall_ns: int
    epoch: int
    draw: str
    seed: int
    requests: int
    pieces: int
    lost_pieces: int
    torn_requests: int
    cut_ms: float
    total_ms: float
    verdict: str
    detail: str = ""
    evidence: str = ""
    recovery_ms: float | None = None
    page: dict[str, Any] | None = None
    strip: list[list[int]] | None = None
    ledger: bool = False
    """Were commits compared with the load's own log?"""
    amcheck: bool = False
    """Were all tables and indexes checked, and the ledger and the balances read whole?"""
    lost_commits: int = 0
    loss_ms: float = 0.0
    redo_bytes: float | None = None
    """WAL that recovery replayed; None where the server's log does not tell."""
    steps_ms: dict[str, float] | None = None
    """How long each step took."""
    own_settings: bool = True
    """Had the server that recovered the treatment's settings?"""
    memory_bytes: int = 0
    """What the crash state took beside its blocks."""
    met: Met | None = None
    """What the server under load had done; None in records of earlier versions, and where it could not be asked."""


HONEST = "honest"
"""The level of `drive.flush` whose flushes make durable what was written before."""


def epoch_of(cut: CutRecord, flush: str) -> int:
    """The epoch of a cut among those of its trial. Where flushes are not honest none begins anything: all are alike."""
    return cut.epoch if flush == HONEST else 0


def encode(cuts: Sequence[CutRecord]) -> bytes:
    """The contents of the file."""
    return "".join(json.dumps(asdict(cut)) + "\n" for cut in cuts).encode()


def decode(text: str) -> tuple[CutRecord, ...]:
    """What `encode` wrote, by this or a later version."""
    lines = (json.loads(line) for line in text.splitlines() if line.strip())
    return tuple(CutRecord(**{**_known(CutRecord, each), "met": _met(each.get("met"))}) for each in lines)


def _known(values: type, written: dict[str, Any]) -> dict[str, Any]:
    names = {field.name for field in fields(values)}
    return {name: value for name, value in written.items() if name in names}


def _met(written: dict[str, Any] | None) -> Met | None:
    return None if written is None else Met(**{**_known(Met, written), "written": tuple(written["written"])})


def power_cuts(run: Run, number: int) -> tuple[CutRecord, ...]:
    """The cuts of a trial; empty where none were made."""
    path = trial_path(run.path, number) / FILE
    return decode(path.read_text(encoding="utf-8")) if path.is_file() else ()
