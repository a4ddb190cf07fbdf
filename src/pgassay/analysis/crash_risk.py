"""How probable it is that a power cut damages something: exact bounds on a proportion, also while it is watched.

The bound that decides holds whenever one looks: a one-sided confidence sequence by Robbins' mixture (Ann. Math. Stat.
41(5), 1970). For each share p the binomial likelihoods of all smaller shares are mixed by a Beta prior that ends at p;
over the likelihood of p that is a supermartingale while no epoch's chance is below p, so Ville's inequality rejects p
at 1/alpha. Epochs need not be independent for that: each one's chance may depend on those before. For a number of cuts
that was fixed beforehand the bound of Clopper and Pearson (Biometrika 26(4), 1934) is tighter and is given, too.

Crash states of one epoch (the time between two flushes) share their history, so an epoch counts once, as damaged if any
of its cuts was. Its first cut alone would be a fair draw; the others can only add damage and so widen the bound.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from math import log

from scipy.optimize import brentq  # type: ignore[import-untyped]
from scipy.special import betainc, betaln, xlog1py, xlogy  # type: ignore[import-untyped]
from scipy.stats import beta  # type: ignore[import-untyped]

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
    return 1.0 if damaged >= epochs else float(beta.ppf(1.0 - ALPHA, damaged + 1, epochs - damaged))


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
