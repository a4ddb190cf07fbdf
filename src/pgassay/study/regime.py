"""The words of a regime, used by what writes them into a record and by what reads them there.

`load.checkpoint` says which it is: how checkpoints are started decides what a window shows. See the PostgreSQL manual,
"WAL Configuration".
"""

from collections.abc import Mapping

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

WORDS: Mapping[str, str] = {
    "cycle": "whole checkpoint cycles, by time",
    "wal": "whole checkpoint cycles, short ones driven by WAL",
    UNPINNED: "whole checkpoint cycles, by the server's own settings",
    SOMEWHERE: "windows that begin anywhere in a checkpoint cycle, since no CHECKPOINT may be asked for",
    BURST: "the burst after a checkpoint",
    WORK: "one whole checkpoint cycle of equal work, closed by a CHECKPOINT in the window",
}
