"""Every message of the design for users: why an arm leaves, why a run ends, what a budget allows.

The journal keeps the reasons; a replay does not depend on their words (`lab.decisions.disagreements`).
"""

from pgassay.analysis.messages import bound_per_cent, duration, percent, plural
from pgassay.analysis.verdicts import SET_ASIDE, SETTLED


def kept_order(factor: str) -> str:
    """The caution beside the effects of a factor in `design.fixed_order`."""
    return f"{factor} keeps its order inside every block, so drift within a block would look like its effect"


def about(title: str, verdict: str) -> str:
    """A verdict with the title of its response in front, unless it names the response itself."""
    return verdict if title in verdict else f"{title} {verdict}"


def hosts_not_heard(heard: int, wanted: int) -> str:
    """Why a verdict does not end a run over a fleet yet."""
    return f"unresolved: blocks of {heard} hosts so far, and of {wanted} are wanted"


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


def not_safe_yet(epochs: int, upper: float, below: float) -> str:
    """A verdict on power cuts: none did damage, yet the bound (a share) is not as low as was asked."""
    return (
        f"no power cut of {epochs:,} {plural('epoch', epochs)} did damage: below {bound_per_cent(upper)} % a cut,"
        f" and {bound_per_cent(below)} % was asked for"
    )


def nothing_to_compare() -> str:
    """Why a baseline leaves: every treatment that was compared with it has its verdict."""
    return f"{SETTLED}: no treatment is left to compare with it"


def failing(outcomes: int) -> str:
    """Why an arm leaves: its last `outcomes` trials all failed because of its settings."""
    return f"{outcomes} {plural('trial', outcomes)} in a row failed because of its settings"


def without_baseline(baseline: str) -> str:
    """Why an arm leaves: its baseline failed too often."""
    return f"its baseline ({baseline or 'baseline'}) kept failing, so it cannot be compared with anything"


def baseline_fails(baseline: str, outcomes: int) -> str:
    """Why the run ends: its only baseline failed `outcomes` times in a row, so nothing can be compared."""
    times = f"{outcomes} {plural('time', outcomes)}"
    return f"the baseline ({baseline or 'baseline'}) failed {times} in a row because of its settings"


def all_settled() -> str:
    """Why the run ends: all verdicts are settled."""
    return "every verdict is settled"


def set_aside(blocks: int | None) -> str:
    """Why an arm leaves: it needs too many `blocks` for the budget (None: any number), and others need the time."""
    needs = (
        "no affordable number of blocks would settle it" if blocks is None else f"it needs about {blocks} more blocks"
    )
    return f"{SET_ASIDE}: {needs}, so the rest of the budget goes to the treatments that it can settle"


def others_settled(aside: int) -> str:
    """Why the run ends: all verdicts are settled but those of `aside` treatments that were set aside."""
    return f"every verdict that the budget allows is settled; {aside} {plural('treatment', aside)} set aside"


def nothing_left() -> str:
    """Why the run ends: only baselines are left."""
    return "no treatment is left beside the baseline"


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


def budget_short(budget_s: float, affordable: int, least: int, least_s: float) -> str:
    """A warning before the run: not even the least number of blocks fits. Times in seconds."""
    return (
        f"the budget of {duration(budget_s)} is too small: it holds about {affordable} {plural('block', affordable)}, "
        f"a verdict needs at least {least} ({duration(least_s)})"
    )


def too_few_blocks(blocks: int, least: int) -> str:
    """A warning before the run: so few blocks are allowed that no comparison is judged."""
    return f"no verdict can come from {blocks} {plural('block', blocks)}: the first comparison needs {least}"


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
