"""Effects at equal machine speed: block contrasts less what a covariate explains that no treatment can touch.

CUPED (Deng et al., WSDM 2013) and regression adjustment (Lin, Ann. Appl. Stat. 2013) for five blocks: the exponent is
fixed beforehand, which costs nothing and cannot bias, or estimated within treatments, which costs a degree of freedom
and carries its error into the interval. A covariate that the treatment touches eats the effect. So each study has to
show that the covariate itself does not differ between treatments by as much as would matter (two one-sided tests,
Schuirmann 1987); else the adjustment is refused, with its number. Where the machine is so noisy that adjusting would
help most, five blocks cannot show it (docs/statistics.md): only what is untouched by its making is of use there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, inf, isfinite, log, nan, sqrt

import numpy as np

from pgassay.analysis import messages
from pgassay.analysis.boundaries import Floats, fixed_critical, with_more_freedom
from pgassay.analysis.effects import Certainty
from pgassay.analysis.observations import Observation, Table, tables
from pgassay.study.levels import Cell
from pgassay.study.responses import Scale

BIAS_MAX = 0.01
"""The share of the response by which an adjustment may be wrong because the treatment touches the covariate."""

BIAS_ERROR = 0.05
"""The error rate of each of the two tests that show it."""

INVERSE = -1.0
"""The fixed exponent of times and of CPU per transaction: twice the time for the same work is half the speed."""

ESTIMATED_ALPHA = 0.93
"""The part of the error rate that an estimated exponent leaves: with a degree of freedom less, looks hang together
less, and all of them together would err in 5.4 % instead of 5 % (benchmarks/validity)."""

WHOLE_MIN = 4
"""Blocks below which an exponent is not estimated."""


@dataclass(frozen=True)
class Exponent:
    """By which power of the covariate the response goes; `error` is its standard error, 0 where it was fixed."""

    value: float
    error: float = 0.0

    @property
    def fixed(self) -> bool:
        """Was it fixed before the data?"""
        return self.error == 0.0


@dataclass(frozen=True)
class Adjusted:
    """An effect (ratio) raw and at equal covariate, with intervals of the same certainty.

    `touched`, `touched_low` and `touched_high`: by which factor the adjustment would be wrong if all of the covariate's
    own difference between the two were the treatment's doing, with the interval of two one-sided tests. `explained` is
    the share of the contrasts' variance that went; negative where the adjustment added noise. `refused` says why the
    adjusted effect must not be used; empty where it may.
    """

    treatment: str
    cell: Cell
    covariate: str
    exponent: Exponent
    blocks: int
    raw: float
    raw_low: float
    raw_high: float
    estimate: float
    low: float
    high: float
    explained: float
    touched: float
    touched_low: float
    touched_high: float
    refused: str


def within_treatments(response: Floats, covariate: Floats) -> Exponent | None:
    """The exponent from what is left of both when blocks and treatments are taken out, shape (blocks, treatments).

    Logarithms, without gaps. So no difference between treatments takes part. None below `WHOLE_MIN` blocks, or where
    the covariate does not vary.
    """
    blocks, treatments = response.shape
    if blocks < WHOLE_MIN or treatments < 2:
        return None
    y, x = (_without_means(each) for each in (response, covariate))
    width = float((x * x).sum())
    if width == 0.0:
        return None
    value = float((x * y).sum()) / width
    rest = y - value * x
    freedom = (blocks - 1) * (treatments - 1) - 1
    return Exponent(value, max(sqrt(float((rest * rest).sum()) / freedom / width), 1e-300))


def _without_means(values: Floats) -> Floats:
    return np.asarray(values - values.mean(axis=0) - values.mean(axis=1, keepdims=True) + values.mean())


def adjusted_contrasts(contrasts: Floats, covariate: Floats, exponent: Exponent, comparisons: int) -> tuple[float, ...]:
    """Mean, standard error and degrees of freedom of log-ratios less `exponent` times the covariate's log-ratios.

    The variance is σ²/n + error² x̄² : with one comparison the ordinary regression's, exact for normal noise. An
    estimated exponent that `comparisons` share costs each of them 1/comparisons degrees of freedom.
    """
    n = len(contrasts)
    left = contrasts - exponent.value * covariate
    mean, shift = float(left.mean()), float(covariate.mean())
    freedom = n - 1 - (0.0 if exponent.fixed else 1.0 / comparisons)
    rest = left - mean
    variance = float(rest @ rest) / freedom if freedom > 0.0 else inf
    return mean, sqrt(variance / n + (exponent.error * shift) ** 2), freedom


def adjust(
    response: Sequence[Observation],
    covariate: Sequence[Observation],
    name: str,
    baseline: str,
    certainty: Certainty,
    *,
    exponent: float | None = INVERSE,
    untouched: bool = False,
) -> tuple[Adjusted, ...]:
    """Every treatment against the baseline, raw and at equal covariate, both on a ratio scale.

    `exponent` is the one fixed beforehand; None estimates it within the treatments of each cell, from blocks that have
    all of them. `untouched`: the covariate is measured where no treatment runs (a metronome between slices), so nothing
    has to be shown, and it is refused only where a difference is. Treatments without two blocks in common with the
    baseline are left out.
    """
    values, clocks = tables(response, Scale.RATIO), tables(covariate, Scale.RATIO)
    found = []
    for cell, table in values.items():
        clock = clocks.get(cell)
        if clock is None:
            continue
        treatments = [each for each in table.treatments if each != baseline]
        chosen = Exponent(exponent) if exponent is not None else _estimated(table, clock)
        for treatment in treatments:
            pairs = _pairs(table, clock, treatment, baseline)
            if chosen is not None and len(pairs[0]) > 1:
                found.append(_adjusted(treatment, cell, name, pairs, chosen, certainty, len(treatments), untouched))
    return tuple(found)


def _column(table: Table, treatment: str) -> Mapping[int, float]:
    return table.values.get(treatment, {})


def _pairs(table: Table, clock: Table, treatment: str, baseline: str) -> tuple[Floats, Floats]:
    """Log-ratios of the response and of the covariate in the blocks that have all four values."""
    columns = [_column(each, name) for each in (table, clock) for name in (treatment, baseline)]
    blocks = sorted(set.intersection(*(set(column) for column in columns)))
    logs = [np.log([column[block] for block in blocks]) if blocks else np.empty(0) for column in columns]
    return logs[0] - logs[1], logs[2] - logs[3]


def _estimated(table: Table, clock: Table) -> Exponent | None:
    both = [name for name in table.treatments if name in clock.treatments]
    columns = [_column(each, name) for each in (table, clock) for name in both]
    blocks = sorted(set.intersection(*(set(column) for column in columns))) if columns else []
    logs = [np.log([[_column(each, name)[block] for name in both] for block in blocks]) for each in (table, clock)]
    return within_treatments(logs[0], logs[1]) if blocks else None


def _adjusted(
    treatment: str,
    cell: Cell,
    name: str,
    pairs: tuple[Floats, Floats],
    exponent: Exponent,
    certainty: Certainty,
    comparisons: int,
    untouched: bool,
) -> Adjusted:
    contrasts, shifts = pairs
    n = len(contrasts)
    value = certainty.critical(n, certainty.alpha)
    raw, raw_error, _ = adjusted_contrasts(contrasts, shifts, Exponent(0.0), comparisons)
    mean, error, freedom = adjusted_contrasts(contrasts, shifts, exponent, comparisons)
    wide = value * raw_error
    if not exponent.fixed:
        value = certainty.critical(n, ESTIMATED_ALPHA * certainty.alpha)
    half = with_more_freedom(value, n, freedom - (n - 1)) * error if freedom > 0.0 else inf
    middle, reach = touched(shifts, exponent)
    spread = float(contrasts.var())
    low, high = exp(_short(middle - reach)) - 1.0, exp(_short(middle + reach)) - 1.0
    margin = log(1.0 + BIAS_MAX)
    accepted = abs(middle) + reach <= margin or (untouched and abs(middle) - reach <= margin)
    return Adjusted(
        treatment=treatment,
        cell=cell,
        covariate=name,
        exponent=exponent,
        blocks=n,
        raw=exp(raw),
        raw_low=exp(_short(raw - wide)) if isfinite(wide) else 0.0,
        raw_high=exp(_short(raw + wide)),
        estimate=exp(mean),
        low=exp(_short(mean - half)) if isfinite(half) else 0.0,
        high=exp(_short(mean + half)),
        explained=1.0 - float((contrasts - exponent.value * shifts).var()) / spread if spread > 0.0 else nan,
        touched=exp(middle),
        touched_low=1.0 + low,
        touched_high=1.0 + high,
        refused="" if accepted else messages.adjustment_refused(name, n, exp(middle) - 1.0, low, high, BIAS_MAX),
    )


def _short(value: float) -> float:
    return min(max(value, -700.0), 700.0)


def touched(shifts: Floats, exponent: Exponent) -> tuple[float, float]:
    """By how much the covariate's own difference moves the adjusted mean, and the half-width of the two tests."""
    n = len(shifts)
    error = float(shifts.std(ddof=1)) / sqrt(n) if n > 1 else inf
    return exponent.value * float(shifts.mean()), abs(exponent.value) * fixed_critical(n, 2.0 * BIAS_ERROR) * error


def blocks_to_accept(spread: float, exponent: float = INVERSE, bias: float = BIAS_MAX, most: int = 200) -> int | None:
    """Blocks until an untouched covariate, whose log-ratios have this `spread`, is accepted about half of the time."""
    margin = log(1.0 + bias)
    for n in range(2, most + 1):
        error = abs(exponent) * spread / sqrt(n)
        if sqrt(0.455) * error + fixed_critical(n, 2.0 * BIAS_ERROR) * error <= margin:
            return n
    return None
