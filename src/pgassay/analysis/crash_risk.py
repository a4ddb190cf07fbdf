"""How probable it is that a power cut damages something: exact bounds on a proportion, also while it is watched.

The bound that decides holds whenever one looks: a confidence sequence by Robbins' mixture (Ann. Math. Stat. 41(5),
1970) of binomial likelihoods with a Beta prior, cut at 1/alpha by Ville's inequality. For a number of cuts that was
fixed beforehand the bound of Clopper and Pearson (Biometrika 26(4), 1934) is tighter and stands beside it.

Crash states of one epoch (the time between two flushes) share their history, so an epoch counts once, as damaged if any
of its cuts was.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from math import log

from scipy.optimize import brentq  # type: ignore[import-untyped]
from scipy.special import betaln, xlog1py, xlogy  # type: ignore[import-untyped]
from scipy.stats import beta  # type: ignore[import-untyped]

ALPHA = 0.05
_PRIOR = (0.5, 20.0)
"""Of the mixture: most of it below a tenth, where the bounds of safe configurations lie. Any prior is valid."""


@dataclass(frozen=True)
class Risk:
    """Of `epochs` independent ones `damaged` were; `upper` holds whenever one looks, `fixed_upper` at a fixed end.

    Both are one-sided at 95 %; 1.0 without an epoch.
    """

    cuts: int
    damaged_cuts: int
    epochs: int
    damaged: int
    upper: float
    fixed_upper: float


def risk_of(cuts: Iterable[tuple[Hashable, bool]], alpha: float = ALPHA) -> Risk:
    """From (epoch, whether the cut did damage) of every cut."""
    every = list(cuts)
    found: dict[Hashable, bool] = {}
    for epoch, damaged in every:
        found[epoch] = found.get(epoch, False) or damaged
    damaged_epochs = sum(found.values())
    return Risk(
        cuts=len(every),
        damaged_cuts=sum(damaged for _, damaged in every),
        epochs=len(found),
        damaged=damaged_epochs,
        upper=sequence_upper(damaged_epochs, len(found), alpha),
        fixed_upper=fixed_upper(damaged_epochs, len(found), alpha),
    )


def fixed_upper(damaged: int, epochs: int, alpha: float = ALPHA) -> float:
    """The one-sided upper bound of Clopper and Pearson."""
    return 1.0 if damaged >= epochs else float(beta.ppf(1.0 - alpha, damaged + 1, epochs - damaged))


def sequence_upper(damaged: int, epochs: int, alpha: float = ALPHA) -> float:
    """The largest share that the mixture has not rejected after so many epochs; a bound at all times together."""
    if damaged >= epochs:
        return 1.0
    a, b = _PRIOR
    mixture = betaln(a + damaged, b + epochs - damaged) - betaln(a, b)

    def excess(share: float) -> float:
        """Above 0 where the share is rejected."""
        return float(mixture - xlogy(damaged, share) - xlog1py(epochs - damaged, -share) + log(alpha))

    middle = damaged / epochs
    nearly = 1.0 - 1e-15
    return 1.0 if excess(nearly) <= 0 else float(brentq(excess, max(middle, 1e-15), nearly, xtol=1e-12))
