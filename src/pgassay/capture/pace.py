"""The source's own pace: the rate at which a load of scripts is due as the source's transactions were; pure.

A script is drawn as often as the source ran its statement or transaction in the window, so the rate is that of all
scripts that are played, and what cannot be played is no part of it. How busy a minute was is known from a log alone:
the busiest minute's calls over the mean's. Transactions come at random (exponential gaps) to whichever session is free,
so a session's pauses between two of them follow from the rate and are not played one by one.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from pgassay.capture.errors import CaptureError
from pgassay.capture.format import Load
from pgassay.capture.mixture import CapturedScript
from pgassay.study.units import format_number

FULL, SOURCE, BUSIEST = "full", "source", "busiest"
PACES = (FULL, SOURCE, BUSIEST)
"""As fast as it goes with the clients that there are; the mean rate of the window; the rate of the busiest minute."""
_DIGITS = 3


@dataclass(frozen=True)
class Pace:
    """Transactions a second: what is played, the mean, and the busiest minute's (None without a log)."""

    rate_tps: float
    mean_tps: float
    busiest_tps: float | None
    alone: bool = False
    """Is each statement a transaction by itself, since nothing tells which the source had in one?"""

    @property
    def multiple(self) -> float:
        """Of the source's mean."""
        return self.rate_tps / self.mean_tps


def require(pace: str, load: Load | None) -> None:
    """Raise `CaptureError` where the capture does not tell the pace that is asked for."""
    if pace == FULL:
        return
    if load is None or not sum(each.calls for each in load.statements):
        raise CaptureError(
            f'the capture has no load, so the pace "{pace}" is not known',
            "capture with pg_stat_statements or --log FILE, or name a rate with --set load.rate=N",
        )
    if pace == BUSIEST and burst(load) is None:
        raise CaptureError(
            "the capture has no log, so its busiest minute is not known",
            "capture with --log FILE; --pace source plays the mean rate of the window",
        )


def of(pace: str, load: Load | None, played: Iterable[CapturedScript]) -> Pace | None:
    """The rate for the scripts that are `played`; None at full pace, and where nothing is played."""
    scripts = list(played)
    drawn = sum(each.weight for each in scripts)
    if pace == FULL or load is None or not drawn:
        return None
    mean_tps = drawn / load.window_s
    most = burst(load)
    busiest_tps = None if most is None else mean_tps * most
    rate_tps = busiest_tps if pace == BUSIEST and busiest_tps is not None else mean_tps
    return Pace(rate_tps, mean_tps, busiest_tps, alone=not any(each.transaction for each in scripts))


def burst(load: Load) -> float | None:
    """The calls of the log's busiest minute over those of a minute on average; None without a log, and 1 for one of
    less than a minute, in which no minute is whole."""
    logged = load.logged
    if logged is None or not logged.calls or not logged.calls_by_minute:
        return None
    most = max(calls for _, calls in logged.calls_by_minute)
    return max(1.0, most / 60 / (logged.calls / logged.window_s))


def level(rate_tps: float) -> str:
    """As `load.rate` takes it."""
    return format_number(max(round(rate_tps, _DIGITS), 10**-_DIGITS))


def told(found: Pace) -> str:
    """The rate that is played, and what it is of the source's."""
    mean, rate = level(found.mean_tps), level(found.rate_tps)
    rate += f" {'statements, each a transaction,' if found.alone else 'transactions'}"
    if found.busiest_tps is None:
        return f"pace: {rate} a second are due, the source's mean\n"
    busiest = level(found.busiest_tps)
    if found.rate_tps == found.mean_tps:
        return f"pace: {rate} a second are due, the source's mean ({busiest} in its busiest minute)\n"
    return f"pace: {rate} a second are due, as in the source's busiest minute ({mean} on average)\n"
