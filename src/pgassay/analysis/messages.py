"""What the analysis says to people: why something was left out, and the words of verdicts and explanations."""

from collections.abc import Mapping, Sequence
from math import floor, isfinite, log10


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


def more_hosts(hosts: int, *, differ: bool) -> str:
    """The verdict on a kind of host that no number of blocks on these hosts is likely to settle.

    `differ`: they were shown to differ; else they are too few to tell how far hosts do.
    """
    why = "differ too much" if differ else "are too few to tell how far hosts differ"
    return f"unresolved: {hosts} hosts {why}; more blocks on them will hardly help, more hosts will"


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


def incomplete(block: int) -> str:
    """A block without all treatments of a factorial contrast."""
    return f"block {block}: not every treatment of this comparison has a value"


def nothing_bounds() -> str:
    """No capacity or no cost at all."""
    return "no resource could be bounded"
