"""When power was cut often enough: a treatment leaves once a cut did damage, or once the bound is as low as was asked.

With `design.risk_below` each treatment is judged by its own power cuts, the baseline among them, and nothing is
compared. The bound holds whenever one looks (`analysis.power_cuts`), so every block may be the last one. However low it
is, a treatment stays as long as its cuts did not meet what damage takes.
"""

from dataclasses import dataclass
from math import ceil

from pgassay.analysis.numbers import bound_per_cent, plural
from pgassay.analysis.power_cuts import epochs_below, sequence_upper
from pgassay.analysis.verdicts import Kind, Verdict

UNSAFE, EPOCHS, DAMAGED, UNTRIED = "unsafe_cuts", "cut_epochs", "unsafe_epochs", "untried_by_cuts"
AFTER = "cut_epochs_after_checkpoint"
"""Responses of a trial: its damaging cuts, the epochs in which power was cut, those with a damaging cut, how much of
what a verdict of safe needs no cut met, and the epochs with a cut after a whole checkpoint."""


@dataclass(frozen=True)
class Cuts:
    """What became of an arm's power cuts in so many blocks, by epochs."""

    blocks: int = 0
    epochs: int = 0
    damaged: int = 0
    tried: bool = True
    """Did they meet all that `Kind.SAFE` needs? True also where that was not recorded, as earlier versions decided."""
    after: int | None = None
    """Epochs with a cut after a whole checkpoint, which the bound counts. None: all, as earlier versions decided."""


def kind_of(damaged: int, upper: float, below: float | None, *, tried: bool) -> Kind:
    """Unsafe by one damaging cut. Else safe; unresolved while the bound is not below the share asked for, and while
    the cuts were not `tried` on all that damage takes."""
    if damaged:
        return Kind.UNSAFE
    return Kind.SAFE if tried and (below is None or upper < below) else Kind.UNRESOLVED


def verdict_of(cuts: Cuts, below: float) -> Verdict:
    """What is said of an arm where this share was asked for; unresolved, with how many blocks are missing."""
    counted = cuts.epochs if cuts.after is None else cuts.after
    upper = sequence_upper(cuts.damaged, counted)
    kind = kind_of(cuts.damaged, upper, below, tried=cuts.tried)
    if kind is Kind.UNSAFE:
        did = f"power cuts did damage in {cuts.damaged:,} of {cuts.epochs:,} {plural('epoch', cuts.epochs)}"
        return Verdict(kind, f"unsafe: {did}", against=())
    if kind is Kind.SAFE:
        none = f"no power cut of {counted:,} {plural('epoch', counted)} did damage"
        return Verdict(kind, f"safe: {none}, so damage is rarer than {bound_per_cent(below)} % a cut", against=())
    if upper < below:
        text = f"no power cut of {counted:,} did damage, yet they did not meet all that a verdict of safe needs"
        return Verdict(kind, text, against=())
    missing = epochs_below(below) - counted
    blocks = ceil(missing * cuts.blocks / counted) if counted else None
    return Verdict(
        kind,
        f"no power cut of {counted:,} {plural('epoch', counted)} did damage: below {bound_per_cent(upper)} % a cut,"
        f" and {bound_per_cent(below)} % was asked for",
        blocks,
        against=(),
    )
