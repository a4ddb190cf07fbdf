"""What the analysis says to people: why something was left out, and the words of verdicts and explanations."""

from collections.abc import Mapping, Sequence
from math import floor, isfinite, log10


def no_value(block: int, treatment: str) -> str:
    """A trial of `treatment` in `block` has no number for the response."""
    return f"block {block}: {treatment or 'baseline'} has no value"


def not_finite(block: int, treatment: str, value: float) -> str:
    """A trial of `treatment` in `block` has NaN or infinity for the response."""
    return f"block {block}: {treatment or 'baseline'} has the value {value}"


def not_positive(block: int, treatment: str, value: float) -> str:
    """A value that has no logarithm, on a ratio scale."""
    return f"block {block}: {treatment or 'baseline'} has the value {value:g}, and a ratio needs a positive one"


def twice(block: int, treatment: str) -> str:
    """Two values of one arm in one block."""
    return f"block {block}: {treatment or 'baseline'} has more than one value, the last is used"


def no_partner(block: int, missing: str) -> str:
    """A block in which only one of the two was measured."""
    return f"block {block}: {missing or 'baseline'} is missing, so there is nothing to compare"


def no_valid_trial(treatment: str, *, tried: bool = False) -> str:
    """A treatment of the study without a single usable value; `tried`: it has valid trials, but none of them usable."""
    return f"{treatment or 'baseline'} has no {'usable value' if tried else 'valid trial'}"


def few_blocks(blocks: int, least: int) -> str:
    """Too few blocks have both the treatment and its baseline for an interval, which needs `least`."""
    return f"{blocks} {plural('block', blocks)} in common with the baseline; an interval needs {least}"


def absent_levels(levels: Sequence[str], undeclared: Sequence[str] = ()) -> str:
    """A claim is about levels that the run neither varied nor held; nobody said what the `undeclared` drives are."""
    said = f"it is about {', '.join(levels)}, which this run did not have"
    if not undeclared:
        return said
    return f"{said}; is {' or '.join(undeclared)} such a drive? declare it as normal=… or compressing=…"


def no_such_treatment(levels: Mapping[str, str]) -> str:
    """A claim compares with a treatment that the run, though it had each of these levels, did not have."""
    listed = ", ".join(f"{name}={typed}" for name, typed in levels.items())
    return f"no treatment of this run is {listed} and no more"


NO_SUCH_ARM = "no arm of this run has these levels"


def no_such_pair(against: Mapping[str, str], than: Sequence[Mapping[str, str]] = ()) -> str:
    """A claim compares arms that differ in these levels alone, perhaps `than` others do; the run has no such arms."""
    if not against:
        return NO_SUCH_ARM
    listed = ", ".join(f"{name}={typed}" for name, typed in against.items())
    there = " or ".join(", ".join(f"{name}={typed}" for name, typed in each.items()) for each in than)
    return f"no two arms of this run differ in {listed} alone" + (f", and do so with {there}, too" if there else "")


def not_recorded(responses: Sequence[str]) -> str:
    """A claim is about responses that the run did not declare."""
    return f"this run did not measure {' and '.join(responses)}"


def one_host(host: str) -> str:
    """All blocks of a study over a fleet ran on one machine."""
    return f"all blocks ran on {host}: the interval holds for this host, not for hosts of its kind"


def more_hosts(hosts: int, *, differ: bool) -> str:
    """The verdict on a kind of host that no number of blocks on these hosts is likely to settle.

    `differ`: they were shown to differ; else they are too few to tell how far hosts do.
    """
    why = "differ too much" if differ else "are too few to tell how far hosts differ"
    return f"unresolved: {hosts} hosts {why}; more blocks on them will hardly help, more hosts will"


def no_spread(blocks: int) -> str:
    """All contrasts equal: nothing to estimate noise from."""
    return f"all {blocks} blocks give exactly the same contrast, so the interval has no width"


def beyond_horizon(blocks: int, horizon: int) -> str:
    """A run went on after the `horizon` that its intervals were planned for."""
    return f"{blocks} blocks where {horizon} were planned: the interval was widened for the extra looks"


def plural(noun: str, count: int) -> str:
    """`noun` with an s unless there is one."""
    return noun if count == 1 else f"{noun}s"


def duration(seconds: float) -> str:
    """A length of time as people say it: `40 s`, `12 min`, `4 h 20 min`."""
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if rest and hours < 24 else f"{hours} h"


def bound_per_cent(share: float) -> str:
    """A bound in per cent: rounded up, so that what is said holds."""
    exact = 100.0 * share
    shown = float(f"{exact:.3g}")
    return rounded(shown if shown >= exact else shown + 10.0 ** (floor(log10(exact)) - 2))


def percent(effect: float) -> str:
    """A share as people say it: 0.1 is `10 %`, 0.0042 is `0.4 %`."""
    value = abs(effect) * 100.0
    return (
        f"{value:.0f} %"
        if value >= 9.95
        else f"{value:.1f}".removesuffix(".0") + " %"
        if value >= 0.095
        else f"{value:.2g} %"
    )


def change(effect: float) -> str:
    """The size of an effect, rounded as the tables beside it: 0.136 is `13.6 %`, 0.2 is `20 %`."""
    return f"{tenths(abs(effect) * 100.0).removesuffix('.0')} %"


def needs(blocks: int | None, seconds: float | None) -> str:
    """What an answer would take: `needs about 12 more blocks, 25 min`; None for more blocks than a forecast reaches."""
    if blocks is None:
        return "needs more blocks than can be run"
    time = f", {duration(seconds)}" if seconds is not None else ""
    return f"needs about {blocks} more {plural('block', blocks)}{time}"


def claim_waits(blocks: int | None) -> str:
    """What a claim would take whose comparison has no verdict yet: as many blocks as the verdict asks for."""
    return f"the verdict comes first: it {needs(blocks, None)}"


def claim_needs(blocks: int | None, *, settled: bool) -> str:
    """What a claim would take by itself; where its comparison is `settled`, why it takes more than the verdict."""
    if not settled:
        return f"it {needs(blocks, None)}"
    return f"the verdict asks only for a difference and is settled, to tell this range {needs(blocks, None)}"


def unresolved(blocks: int | None, seconds: float | None, left: int | None = None) -> str:
    """The verdict while neither a difference nor equivalence is shown; `left` more blocks are allowed.

    `unresolved: needs about 12 more blocks, 25 min; 5 were left`.
    """
    text = f"unresolved: {needs(blocks, seconds)}"
    if blocks is not None and left is not None and 0 < left < blocks:
        text += _left(left)
    return text


def _left(blocks: int) -> str:
    return f"; {blocks} {'was' if blocks == 1 else 'were'} left"


def unresolved_yet(blocks: int, least: int, left: int, why: str = "") -> str:
    """The verdict below the `least` number of blocks: so few give no honest forecast, only how many are missing.

    `left` more blocks are allowed; `why` names what keeps even one block from being compared.
    """
    text = f"unresolved: needs at least {blocks} more {plural('block', blocks)} (a verdict takes {least})"
    text = f"{text}{_left(left)}" if 0 < left < blocks else text
    return f"{text}; {why}" if why else text


def not_judged_yet(blocks: int, least: int) -> str:
    """What an explanation says of a response below the `least` number of blocks, whatever its interval."""
    return f"cannot be judged yet ({blocks} {plural('block', blocks)}; a verdict takes {least})"


def unresolved_of_others(blocks: int, least: int, why: str, objections: Sequence[str]) -> str:
    """The verdict on runs of others that show neither a difference nor equivalence: nobody can add blocks to them."""
    if blocks < least:
        text = f"unresolved: {blocks} {plural('block', blocks)}, and a verdict takes {least}"
    else:
        text = "unresolved: these runs show neither a difference nor equivalence"
    return "; ".join([text, *([why] if why else []), *objections])


def objected(text: str, objections: Sequence[str]) -> str:
    """What the runs of others would say (`better: …`), and lint's reasons why they cannot."""
    return f"unresolved: {text.replace(': ', ' by the numbers alone: ', 1)}, but {'; '.join(objections)}"


def refused(reason: str) -> str:
    """The verdict on two that may not be compared."""
    return f"not compared: {reason}"


def failed(reason: str) -> str:
    """The verdict on a treatment without results."""
    return f"failed: {reason}" if reason else "failed: no valid trial"


def tenths(value: float) -> str:
    """Per cents and points: one decimal, and three significant digits from a hundred on: `86.6`, `187`.

    What is not nothing has two digits, however small: an interval's end at 0 would say that there may be no difference.
    """
    if _NOTHING < abs(value) < 0.05:
        return in_full(float(f"{value:.2g}"))
    return f"{value:.1f}" if abs(value) < 99.95 else f"{float(f'{value:.3g}'):,.0f}"


_NOTHING = 1e-6
"""Per cents below it are errors of arithmetic."""


def per_cent(value: float, decimals: int = 0) -> str:
    """A share as every report writes it: 0.123 is `12 %`, with a decimal `12.3 %`, and all of it `100 %`."""
    shown = f"{value * 100.0:.{decimals}f}"
    return "100 %" if shown == f"{100:.{decimals}f}" else f"{shown} %"


def rounded(value: float) -> str:
    """Three significant digits, with commas from a thousand on: `12,500`; `∞` for what has no bound."""
    if not isfinite(value):
        return "∞" if value > 0.0 else "-∞"
    digits = float(f"{value:.3g}")
    return f"{digits:,.0f}" if abs(digits) >= 100.0 else in_full(digits)


def in_full(value: float) -> str:
    """A number with three digits, without an exponent as long as it can be read: `0.00004`."""
    shown = f"{value:.3g}"
    return f"{value:.8f}".rstrip("0") if "e" in shown and abs(value) >= 1e-6 else shown


def steady() -> str:
    """There is no ratio of two spreads, because one of them is 0."""
    return "one of the two has no spread at all, so their ratio has no interval"


def moved_together(factors: Sequence[str]) -> str:
    """Factors whose levels always change together, so that their effects cannot be separated."""
    named = f"{', '.join(factors[:-1])} and {factors[-1]}"
    return f"{named} always move together, so this study cannot tell which of them has the effect"


def incomplete(block: int) -> str:
    """A block without all treatments of a factorial contrast."""
    return f"block {block}: not every treatment of this comparison has a value"


def pairs_missing(missing: int, of: int) -> str:
    """A factorial contrast averaged over fewer combinations than the study has."""
    return f"{missing} of {of} {plural('combination', of)} of the other factors have no valid trial and are left out"


def no_cost(title: str) -> str:
    """A resource that cannot be bounded, because its cost per transaction was not measured."""
    return f"{title}: its cost per transaction was not measured"


def no_capacity(title: str, source: str) -> str:
    """A resource whose capacity is not known, and why."""
    return f"{title}: its capacity is not known{f' ({source})' if source else ''}"


def no_use(title: str) -> str:
    """A resource that the load does not use."""
    return f"{title}: the load does not use it"


def nothing_bounds() -> str:
    """No capacity or no cost at all."""
    return "no resource could be bounded"


def saturates_first(title: str, per_s: float, used: float) -> str:
    """The tightest bound in a sentence: `per_s` transactions a second, of which the share `used` was measured."""
    if used >= 0.995:
        return f"{title} is full: all of it was in use"
    text = f"{title} saturates first, at about {rounded(per_s)} transactions per second"
    return f"{text}; {100 * used:.0f} % of it was in use"


def understated(title: str, used: float, source: str) -> str:
    """A capacity of which the load used more than there is: it says nothing about the limit."""
    told = f"{title}: the load used {used:.2g} times the capacity that was measured"
    return f"{told} ({source}), so that figure is too low for a limit"


def no_calibration(clusters: int, blocks: int, runs: int) -> str:
    """Too few trials to tell one source of noise from another."""
    return (
        f"{clusters} {plural('cluster', clusters)}, {blocks} whole {plural('block', blocks)} and {runs} "
        f"{plural('run', runs)} after each restart: at least two of each are needed"
    )


def not_one_slice(arms: Sequence[str]) -> str:
    """Why a round of alternating slices is lost: these arms have none in it, or more than one."""
    named = ", ".join(arm or "baseline" for arm in arms)
    return f"{named} {'has' if len(arms) == 1 else 'have'} not exactly one slice"


def discarded_slice(arm: str, reason: str) -> str:
    """Why a round of alternating slices is lost: the slice of `arm` may not count."""
    return f"{arm or 'baseline'}: {reason}"


def nothing_done(transactions: float, seconds: float) -> str:
    """A slice without transactions, or without time."""
    return f"{transactions:g} transactions in {seconds:g} s"
