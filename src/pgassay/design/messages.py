"""Every message of the design for users: why an arm leaves, why a run ends, what a budget allows.

The journal keeps the reasons; a replay does not depend on their words (`lab.decisions.disagreements`).
"""

from pgassay.analysis.messages import bound_per_cent, duration, percent, plural
from pgassay.analysis.verdicts import SETTLED


def settled(verdict: str) -> str:
    """Why an arm leaves: its verdict is settled."""
    return f"{SETTLED}: {verdict}"


def unsafe(damaged: int, epochs: int) -> str:
    """A verdict on power cuts: in so many epochs a cut did damage."""
    return f"unsafe: power cuts did damage in {damaged:,} of {epochs:,} {plural('epoch', epochs)}"


def safe(epochs: int, below: float) -> str:
    """A verdict on power cuts: none did damage, and the bound is as low as was asked (a share)."""
    rarer = f"so damage is rarer than {bound_per_cent(below)} % a cut"
    return f"safe: no power cut of {epochs:,} {plural('epoch', epochs)} did damage, {rarer}"


def failing(outcomes: int) -> str:
    """Why an arm leaves: its last `outcomes` trials all failed because of its settings."""
    return f"{outcomes} {plural('trial', outcomes)} in a row failed because of its settings"


def blocks_done(blocks: int) -> str:
    """Why the run ends: it has its largest number of blocks."""
    return "the only block is done" if blocks == 1 else f"all {blocks} blocks are done"


def budget_done(blocks: int, least: int, budget_s: float) -> str:
    """Why the run ends: the next block does not fit in the budget (seconds)."""
    text = f"the next block does not fit in the budget of {duration(budget_s)}"
    if blocks < least:
        run = "was run" if blocks == 1 else "were run"
        text += f": {blocks} of at least {least} {plural('block', least)} {run}, too few for a verdict"
    return text


def machine_too_busy(blocks: int) -> str:
    """Why the run ends: not one valid trial in the last `blocks` blocks."""
    last = "block" if blocks == 1 else f"{blocks} blocks"
    return f"every trial of the last {last} was invalid: this machine is too busy"


def resolution_short(resolution: float, needed: int | None, needed_s: float | None, allowed: int) -> str:
    """A warning before the run: the resolution needs more blocks than are allowed. `resolution` is a share."""
    if needed is None:
        return f"at this machine's noise ±{percent(resolution)} is out of reach, {_allowed(allowed, 'block')}"
    return (
        f"at this machine's noise ±{percent(resolution)} needs {needed} {plural('block', needed)}"
        f"{'' if needed_s is None else f', {duration(needed_s)}'}; {_allowed(allowed)}"
    )


def _allowed(blocks: int, noun: str = "") -> str:
    """`30 are allowed`, `1 block is allowed`."""
    named = f"{blocks} {plural(noun, blocks)}" if noun else f"{blocks}"
    return f"{named} {'is' if blocks == 1 else 'are'} allowed"
