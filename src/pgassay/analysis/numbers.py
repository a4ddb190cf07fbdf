"""How reports write numbers: three significant digits, shares in per cent, lengths of time as people say them."""

from math import floor, inf, isfinite, log10

_NOTHING = 1e-6
"""Per cents below it are errors of arithmetic."""


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


def change(effect: float, low: float = -inf, high: float = inf) -> str:
    """The size of an effect with its interval, rounded as in tables: 0.136 is `13.6 %`, 0.2 is `20 %`."""
    return f"{tenths(abs(effect) * 100.0, decimals_of(low * 100.0, high * 100.0)).removesuffix('.0')} %"


def tenths(value: float, decimals: int = 1) -> str:
    """Per cents and points: one decimal, and three significant digits from a hundred on: `86.6`, `187`.

    What is not nothing has two digits, however small: an interval's end at 0 would say that there may be no difference.
    """
    if _NOTHING < abs(value) < 0.5 * 10.0**-decimals:
        return in_full(float(f"{value:.2g}"))
    if decimals > 1 and _NOTHING < abs(value) < 9.995:
        return f"{value:.{decimals}f}"
    return f"{value:.1f}" if abs(value) < 99.95 else f"{float(f'{value:.3g}'):,.0f}"


def decimals_of(low: float, high: float) -> int:
    """Of per cents and points with this interval: `+0.14 [+0.13, +0.15]` where one decimal would hide its width."""
    return 2 if high - low < 0.5 else 1


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
