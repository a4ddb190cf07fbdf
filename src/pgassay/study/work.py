"""What a load's costs are costs of: a transaction, an I/O where the drive is asked by itself, a query of cacheprobe.

A load driver names its work, the record of a run keeps it, and a report speaks by it. Loads that write nothing to the
cluster know no checkpoints, and what they do is equal or timed in another way. So the words of a regime are here, too:
how checkpoints are started (`load.checkpoint`) decides what a window shows (PostgreSQL manual, "WAL Configuration").
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pgassay.study.model import Study
from pgassay.study.responses import Response

_EACH = ", per "
_NO_CHECKPOINTS = "nothing is written to the cluster in a window, so checkpoints play no part"


@dataclass(frozen=True)
class Work:
    """What one unit of a load's work is called: `name` as in "per I/O", `article` as in "an I/O".

    `regime` stands where a load without checkpoints would be called a burst, `equality` says what was equal between
    treatments, `warmed` what the load itself does to the caches before its window; all empty for transactions.
    """

    name: str
    article: str
    regime: str = ""
    equality: str = ""
    warmed: str = ""

    def titled(self, response: Response) -> str:
        """A response's title; that of a cost names this work, where the probe that declared it wrote "transaction"."""
        what, each, _ = response.title.rpartition(_EACH)
        return f"{what}{_EACH}{self.name}" if response.cost and each else response.title


TRANSACTION = Work("transaction", "a transaction")
CALL = Work(
    "call", "a call", equality="costs of a call are compared at equal work, the same calls of a log in every trial"
)
IO = Work(
    "I/O",
    "an I/O",
    regime=_NO_CHECKPOINTS,
    equality="costs of an I/O are compared at equal time",
)
QUERY = Work(
    "query",
    "a query",
    regime=_NO_CHECKPOINTS,
    equality="costs are compared at equal work, the same probes and one scan in every trial, and are means over all of "
    "these queries",
    warmed="then pg_prewarm of the table and its index, and index probes for the length of the warm-up",
)
_OF_DRIVERS = {"fio": IO, "cacheprobe": QUERY}
"""For records of earlier versions, which keep the driver's name alone."""


def recorded_work(study: Study) -> Work:
    """The work of a study whose record does not name it."""
    driver = study.fixed.get("load.driver")
    return TRANSACTION if driver is None else _OF_DRIVERS.get(driver.canonical, TRANSACTION)


CYCLES_WANTED = 2
"""Whole checkpoint cycles that a window is to cover; fewer show mostly the burst after a checkpoint."""

CUT_OFF_MAX = 0.1
"""Beyond this share of a window after its last whole cycle, the trial says so."""

BURST = "none"
UNPINNED = "default"
"""Checkpoints as the server's own settings start them."""
WORK = "work"
"""One cycle of equal work: what `cycle` becomes where transactions are counted."""
SOMEWHERE = "somewhere"
"""No CHECKPOINT came before the window, for want of the right: what any other becomes on a server that is not ours."""

COUNTED = "counted"
"""What a trial's regime names its instrument by, where instructions were counted and nothing was timed."""

COUNTED_ALONG = "counted_along"
"""Of the regime of a timed trial: the instrument of the counted trial that followed it, or why that has no count."""

STANDBYS = "synchronous_standby_names"
"""Of a trial's regime: the standbys that its commits waited for, as the server's setting names them."""

RESTARTED_BY = "restarted_by"
"""Of a trial's regime: the user's command that restarted the user's own server just before."""

WORDS: Mapping[str, str] = {
    "cycle": "whole checkpoint cycles, by time",
    "wal": "whole checkpoint cycles, short ones driven by WAL",
    UNPINNED: "whole checkpoint cycles, by the server's own settings",
    SOMEWHERE: "windows that begin anywhere in a checkpoint cycle, since no CHECKPOINT may be asked for",
    BURST: "the burst after a checkpoint",
    WORK: "one whole checkpoint cycle of equal work, closed by a CHECKPOINT in the window",
}
