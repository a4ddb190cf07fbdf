"""What treatments may tell about each other's noise: ways that were tried, their errors and what they gain.

Five blocks leave a contrast four degrees of freedom. This simulates, with looks after every block, how often each way
errs where noise is unequal (worst of many patterns of spreads up to 3 : 1, and of 10 : 1), and how wide its intervals
are beside each contrast's own variance with Bonferroni's share. docs/statistics.md has the conclusion.

python -m benchmarks.variance_sharing [--studies 20000] [--horizons 5,8] [--comparisons 2,3,5] [--seed 1]
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
import numpy.typing as npt
from scipy.special import digamma, polygamma  # type: ignore[import-untyped]
from scipy.stats import t as student  # type: ignore[import-untyped]

from pgassay.analysis.boundaries import FIRST_LOOK, criticals, prior_of

Floats = npt.NDArray[np.float64]
LEVEL = 0.05
CHOSEN = "moderated, guarded"
"""The way that `analysis.effects` goes."""


def patterns(arms: int) -> Iterator[tuple[str, bool, Floats]]:
    """Spreads of the arms (first: the baseline): name, whether beyond 3 : 1, and the spreads."""
    half = arms // 2
    for ratio in (2.0, 3.0, 10.0):
        for name, noisy in (
            ("one", [arms - 1]),
            ("two", [arms - 2, arms - 1]),
            ("half", list(range(half, arms))),
            ("all but one", list(range(arms - 1))),
            ("all but the baseline", list(range(1, arms))),
            ("the baseline", [0]),
            ("the baseline and one", [0, arms - 1]),
        ):
            spreads = np.ones(arms)
            spreads[noisy] = ratio
            yield f"{name} {ratio:g}:1", ratio > 3.0, spreads
    yield "rising", False, np.linspace(1.0, 3.0, arms)
    yield "falling", False, np.linspace(3.0, 1.0, arms)
    yield "equal", False, np.ones(arms)


@dataclass(frozen=True)
class Look:
    """One look: `blocks`, covariances of the contrasts (studies, K, K), and nominal errors by their share of alpha."""

    blocks: int
    covariance: Floats
    nominal: Mapping[int, float]

    @property
    def own(self) -> Floats:
        """Variances of the contrasts, (studies, K)."""
        return np.asarray(np.diagonal(self.covariance, axis1=1, axis2=2))

    @property
    def comparisons(self) -> int:
        """K."""
        return int(self.covariance.shape[1])

    def half(self, variance: Floats, freedom: float | Floats, share: int | None = None, factor: float = 1.0) -> Floats:
        """Half-widths for a variance of so many degrees, at the error of one of `share` comparisons (None: of K)."""
        nominal = factor * self.nominal[share or self.comparisons]
        return np.asarray(student.isf(nominal / 2, freedom) * np.sqrt(variance / self.blocks))

    @property
    def residual(self) -> Floats:
        """Twice the mean square of blocks × arms, (studies, 1): (blocks − 1) K degrees where all spreads are equal."""
        together = self.own.sum(axis=1) - self.covariance.sum(axis=(1, 2)) / (self.comparisons + 1)
        return np.asarray(2.0 * together / self.comparisons)[:, None]


def alone(look: Look) -> Floats:
    """Each contrast's own variance."""
    return look.half(look.own, look.blocks - 1)


def dunnett(look: Look) -> Floats:
    """The same with the joint distribution for equal spreads (correlation one half) instead of Bonferroni's share."""
    return look.half(look.own, look.blocks - 1, factor=_dunnett_factor(look.comparisons))


def pooled(look: Look) -> Floats:
    """The residual of blocks × arms for all."""
    half = look.half(look.residual, (look.blocks - 1) * look.comparisons)
    return np.broadcast_to(half, look.own.shape)


def pooled_unless_unequal(look: Look) -> Floats:
    """The same where the largest variance is not among the largest quarter of its law under equal spreads."""
    ratio = look.own.max(axis=1) / look.own.mean(axis=1)
    return np.where((ratio > _quarter(look.comparisons, look.blocks))[:, None], alone(look), pooled(look))


def pooled_guarded(look: Look) -> Floats:
    """The same, but nowhere narrower than the contrast's own interval with the whole error rate to itself."""
    return np.maximum(pooled(look), look.half(look.own, look.blocks - 1, share=1))


def estimated_prior(look: Look) -> Floats:
    """Smyth 2004: prior freedom and variance estimated from the variances' logarithms."""
    freedom = look.blocks - 1.0
    logs = np.log(look.own) - digamma(freedom / 2) + np.log(freedom / 2)
    excess = logs.var(axis=1, ddof=1) - polygamma(1, freedom / 2)
    grid = np.geomspace(0.1, 2000.0, 400)
    prior = np.interp(-excess, -polygamma(1, grid / 2), grid)[:, None]  # where none is left over, as good as all equal
    middle = np.exp(logs.mean(axis=1)[:, None] + digamma(prior / 2) - np.log(prior / 2))
    variance = (prior * middle + freedom * look.own) / (prior + freedom)
    return look.half(variance, prior + freedom)


def moderated(prior: float) -> Callable[[Look], Floats]:
    """A prior of so many degrees about the mean variance of the contrasts."""

    def half(look: Look) -> Floats:
        freedom = look.blocks - 1
        mean = look.own.mean(axis=1)[:, None]
        return look.half((prior * mean + freedom * look.own) / (prior + freedom), prior + freedom)

    return half


def guarded(prior: float) -> Callable[[Look], Floats]:
    """The same with the guard."""
    plain = moderated(prior)
    return lambda look: np.maximum(plain(look), look.half(look.own, look.blocks - 1, share=1))


def calibrated(factor: float) -> Callable[[Look], Floats]:
    """Eight degrees from a calibration of a machine whose noise is now `factor` times as large (true spreads: 1)."""

    def half(look: Look) -> Floats:
        freedom, known = look.blocks - 1, 2.0 / factor**2
        return look.half((8.0 * known + freedom * look.own) / (8.0 + freedom), 8.0 + freedom)

    return half


def ways(comparisons: int) -> dict[str, Callable[[Look], Floats]]:
    """All that were tried."""
    return {
        "own variance": alone,
        "Dunnett": dunnett,
        "pooled": pooled,
        "pooled unless unequal": pooled_unless_unequal,
        "pooled, guarded": pooled_guarded,
        "Smyth, prior estimated": estimated_prior,
        "Smyth, 8 degrees": moderated(8.0),
        "8 degrees, guarded": guarded(8.0),
        "calibration, as noisy": calibrated(1.0),
        "calibration, half as noisy": calibrated(2.0),
        CHOSEN: guarded(prior_of(comparisons)),
    }


_FACTORS: dict[int, float] = {}
_QUARTERS: dict[tuple[int, int], float] = {}


def _dunnett_factor(comparisons: int) -> float:
    """How much larger than a K-th of the error rate each comparison's may be, at five blocks of equal spreads."""
    if comparisons not in _FACTORS:
        look = _looks(np.random.default_rng(7).standard_normal((100_000, FIRST_LOOK, comparisons + 1)), FIRST_LOOK)[0]
        means, covariances = look
        ratios = np.abs(means) / np.sqrt(np.diagonal(covariances, axis1=1, axis2=2) / FIRST_LOOK)
        joint = float(np.quantile(ratios.max(axis=1), 1.0 - LEVEL))
        _FACTORS[comparisons] = 2.0 * float(student.sf(joint, FIRST_LOOK - 1)) * comparisons / LEVEL
    return _FACTORS[comparisons]


def _quarter(comparisons: int, blocks: int) -> float:
    if (comparisons, blocks) not in _QUARTERS:
        values = np.random.default_rng(8).standard_normal((20_000, blocks, comparisons + 1))
        own = (values[:, :, 1:] - values[:, :, :1]).var(axis=1, ddof=1)
        _QUARTERS[comparisons, blocks] = float(np.quantile(own.max(axis=1) / own.mean(axis=1), 0.75))
    return _QUARTERS[comparisons, blocks]


def _looks(values: Floats, horizon: int) -> list[tuple[Floats, Floats]]:
    """Means and covariances of the contrasts at each look."""
    contrasts = values[:, :, 1:] - values[:, :, :1]
    found = []
    for blocks in range(FIRST_LOOK, horizon + 1):
        seen = contrasts[:, :blocks]
        mean = seen.mean(axis=1)
        rest = seen - mean[:, None]
        found.append((mean, np.einsum("sbi,sbj->sij", rest, rest) / (blocks - 1)))
    return found


@dataclass
class Tried:
    """One way's results: error by pattern, and its width beside the own variance's where spreads are equal."""

    errors: dict[str, float]
    beyond: dict[str, float]
    widths: list[float]

    def worst(self, *, beyond: bool) -> tuple[float, str]:
        """The largest error and its pattern."""
        mine = self.beyond if beyond else self.errors
        return max((error, name) for name, error in mine.items())


def tried(horizon: int, comparisons: int, studies: int, seed: int) -> dict[str, Tried]:
    """Simulate all ways for a horizon and a number of comparisons."""
    steps = range(FIRST_LOOK, horizon + 1)
    shares = {
        share: [
            2.0 * float(student.sf(c, n - 1)) for n, c in zip(steps, criticals(horizon, LEVEL / share), strict=True)
        ]
        for share in {1, comparisons}
    }
    known = ways(comparisons)
    found = {name: Tried({}, {}, []) for name in known}
    for pattern, beyond, spreads in patterns(comparisons + 1):
        rng = np.random.default_rng([seed, horizon, comparisons, *pattern.encode()])
        values = rng.standard_normal((studies, horizon, comparisons + 1)) * spreads
        wrong = {name: np.zeros(studies, dtype=np.bool_) for name in known}
        for place, (mean, covariance) in enumerate(_looks(values, horizon)):
            look = Look(FIRST_LOOK + place, covariance, {share: each[place] for share, each in shares.items()})
            base = alone(look).mean()
            for name, way in known.items():
                half = way(look)
                wrong[name] |= (np.abs(mean) > half).any(axis=1)
                if pattern == "equal":
                    found[name].widths.append(float(half.mean() / base))
        for name, missed in wrong.items():
            (found[name].beyond if beyond else found[name].errors)[pattern] = float(missed.mean())
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; exit status 1 if the chosen way errs too often up to 3 : 1."""
    parser = argparse.ArgumentParser(prog="benchmarks.variance_sharing", description=__doc__)
    parser.add_argument("--studies", type=int, default=20_000)
    parser.add_argument("--horizons", default="5,8")
    parser.add_argument("--comparisons", default="2,3,5")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    allowed = LEVEL + 3.0 * sqrt(LEVEL * (1.0 - LEVEL) / asked.studies)
    broken = 0
    for comparisons in map(int, asked.comparisons.split(",")):
        for horizon in map(int, asked.horizons.split(",")):
            print(f"\n{comparisons} comparisons, looks from 5 to {horizon} blocks, {asked.studies} studies a pattern")
            print("way                          worst to 3:1                          at 10:1   width at 5, at the end")
            for name, one in tried(horizon, comparisons, asked.studies, asked.seed).items():
                error, where = one.worst(beyond=False)
                far, _ = one.worst(beyond=True)
                wrong = error > allowed
                broken += wrong and name == CHOSEN
                print(
                    f"{name:<27} {100 * error:6.2f} % {where:<24}{'errs' if wrong else '':<5} {100 * far:6.2f} % "
                    f"{one.widths[0]:8.2f} {one.widths[-1]:6.2f}",
                    flush=True,
                )
    print(f"\n{broken} bounds broken")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
