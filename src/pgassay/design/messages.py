"""What the design says to people: why an arm left, why a run ended, and what a budget can and cannot do."""

from pgassay.analysis.messages import duration, percent, plural
from pgassay.analysis.verdicts import SET_ASIDE, SETTLED


def kept_order(factor: str) -> str:
    """What a fixed order costs."""
    return f"{factor} keeps its order inside every block, so drift within a block would look like its effect"


def about(title: str, verdict: str) -> str:
    """A verdict on a response that is not the only one; most say themselves what they are about."""
    return verdict if title in verdict else f"{title} {verdict}"


def settled(verdict: str) -> str:
    """An arm leaves because it is decided."""
    return f"{SETTLED}: {verdict}"


def nothing_to_compare() -> str:
    """A baseline leaves because all that was set against it is decided."""
    return f"{SETTLED}: nothing left to compare with it"


def failing(outcomes: int) -> str:
    """An arm leaves because it cannot do the work."""
    return f"{outcomes} {plural('trial', outcomes)} in a row failed by its own doing"


def without_baseline(baseline: str) -> str:
    """An arm leaves because its baseline did."""
    return f"its baseline ({baseline or 'baseline'}) kept failing, so there is nothing to compare it with"


def baseline_fails(baseline: str, outcomes: int) -> str:
    """The run ends because nothing can be compared."""
    times = f"{outcomes} {plural('time', outcomes)}"
    return f"the baseline ({baseline or 'baseline'}) failed {times} in a row by its own doing"


def all_settled() -> str:
    """The run ends because it knows."""
    return "every verdict is settled"


def set_aside(blocks: int | None) -> str:
    """An arm leaves because its verdict is out of reach, and others' are not."""
    needs = "no number of blocks in reach would tell" if blocks is None else f"it needs about {blocks} more blocks"
    return f"{SET_ASIDE}: {needs}, so what is left of the budget goes to those that it can decide"


def others_settled(aside: int) -> str:
    """The run ends because it knows what it can know."""
    return f"every verdict in reach is settled; {aside} {plural('treatment', aside)} set aside"


def nothing_left() -> str:
    """The run ends because no treatment is left."""
    return "no treatment but the baseline is left in play"


def blocks_done(blocks: int) -> str:
    """The run ends at its largest number of blocks."""
    return "the only block is done" if blocks == 1 else f"all {blocks} blocks are done"


def budget_done(blocks: int, least: int, budget_s: float) -> str:
    """The run ends because the next block does not fit."""
    text = f"the next block does not fit in the budget of {duration(budget_s)}"
    if blocks < least:
        run = "was run" if blocks == 1 else "were run"
        text += f": {blocks} of at least {least} {plural('block', least)} {run}, too few for a verdict"
    return text


def spoilt(blocks: int) -> str:
    """The run ends because the machine does not let it measure."""
    last = "block" if blocks == 1 else f"{blocks} blocks"
    return f"every trial of the last {last} was spoilt from outside"


def budget_short(budget_s: float, affordable: int, least: int, least_s: float) -> str:
    """Before the run: not even the least number of blocks fits."""
    return (
        f"the budget of {duration(budget_s)} will not do: it holds about {affordable} {plural('block', affordable)}, "
        f"a verdict needs at least {least} ({duration(least_s)})"
    )


def resolution_short(resolution: float, needed: int | None, needed_s: float | None, allowed: int) -> str:
    """Before the run: the asked resolution is out of reach at this noise."""
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
