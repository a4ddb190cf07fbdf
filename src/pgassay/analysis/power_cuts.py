"""What power cuts met and what they lost: a configuration is called safe only by cuts that could have shown damage.

A file that was never written back is damage only once a checkpoint has moved the start of recovery past its changes,
and a crash in the middle of a checkpoint recovers from the one before. So cuts must come both while a checkpoint is
under way and after whole ones, while WAL goes to segments that held older WAL, and between writes to each kind of file.

A recovered database must have every commit that its clients saw acknowledged, none that they did not send, and no gaps.
The load writes a row for each transaction, numbered by client, and its own log, outside the drive, has the time of each
answer. What was acknowledged less than `MARGIN_NS` before the cut is not judged: pgbench reads its clock a moment
before it writes the time down.

Bounds on how often a power cut damages something are exact, also while they are watched.

The bound that decides holds whenever one looks: a one-sided confidence sequence by Robbins' mixture (Ann. Math. Stat.
41(5), 1970). For each share p the binomial likelihoods of all smaller shares are mixed by a Beta prior that ends at p;
over the likelihood of p that is a supermartingale while no epoch's chance is below p, so Ville's inequality rejects p
at 1/alpha. Epochs need not be independent for that: each one's chance may depend on those before. For a number of cuts
that was fixed beforehand the bound of Clopper and Pearson (Biometrika 26(4), 1934) is tighter and is given, too.

Crash states of one epoch (the time between two flushes) share their history, so an epoch counts once, as damaged if any
of its cuts was. Its first cut alone would be a fair draw; the others can only add damage and so widen the bound.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Annotated

from msgspec import Meta
from scipy.optimize import brentq  # type: ignore[import-untyped]
from scipy.special import betainc, betaincinv, betaln, xlog1py, xlogy  # type: ignore[import-untyped]

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
class ServerAtCut:
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


def coverage_of(trials: Iterable[Sequence[ServerAtCut | None]]) -> Coverage:
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


ALPHA = 0.05
_PRIOR = (0.5, 20.0)
"""Of the mixture: most of it below a tenth, where the bounds of safe configurations lie. Any prior is valid."""


@dataclass(frozen=True)
class Risk:
    """Of `epochs` that were cut, `damaged` were; `upper` holds whenever one looks, `fixed_upper` at a fixed end.

    Both are one-sided at 95 %; 1.0 without an epoch.
    """

    cuts: int
    damaged_cuts: int
    epochs: int
    damaged: int
    upper: float
    fixed_upper: float


def risk_of(cuts: Iterable[tuple[Hashable, bool]]) -> Risk:
    """From (epoch, whether the cut did damage) of every cut."""
    made = damaging = 0
    by_epoch: dict[Hashable, bool] = {}
    for epoch, damaged in cuts:
        by_epoch[epoch] = by_epoch.get(epoch, False) or damaged
        made += 1
        damaging += damaged
    epochs, lost = len(by_epoch), sum(by_epoch.values())
    return Risk(made, damaging, epochs, lost, sequence_upper(lost, epochs), fixed_upper(lost, epochs))


def fixed_upper(damaged: int, epochs: int) -> float:
    """The one-sided upper bound of Clopper and Pearson."""
    return 1.0 if damaged >= epochs else float(betaincinv(damaged + 1, epochs - damaged, 1.0 - ALPHA))


def epochs_below(share: float) -> int:
    """The least number of epochs, all of them sound, that leaves a bound below `share`."""
    low, high = 0, 1
    while sequence_upper(0, high) >= share:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if sequence_upper(0, middle) < share else (middle, high)
    return high


def sequence_upper(damaged: int, epochs: int) -> float:
    """The largest share that the mixture has not rejected after so many epochs; a bound at all times together."""
    if damaged >= epochs:
        return 1.0
    a, b = _PRIOR
    sound = epochs - damaged
    mixture = betaln(a + damaged, b + sound) - betaln(a, b)

    def excess(share: float) -> float:
        """Above 0 where the share is rejected; rises with it, from below 0 at what was seen."""
        below = log(betainc(a + damaged, b + sound, share)) - log(betainc(a, b, share))
        return float(mixture + below - xlogy(damaged, share) - xlog1py(sound, -share) + log(ALPHA))

    seen, nearly = (damaged + 0.5) / (epochs + 0.5), 1.0 - 1e-15
    return 1.0 if excess(nearly) <= 0 else float(brentq(excess, seen, nearly, xtol=1e-12))
