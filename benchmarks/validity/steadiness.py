"""How often a series without cycles is called cyclic, and how often checkpoints' cycles are found.

Simulated seconds of transactions: noise with and without memory, walks, steps, warm-ups, drift and stalls for the false
alarms; dips that recover, as after a checkpoint, with wandering periods for the power. When checkpoints began is known.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt

import numpy as np
import numpy.typing as npt
from scipy.signal import lfilter  # type: ignore[import-untyped]

from pgassay.analysis.seconds import FALSE_ALARM, TOLERANCE, repetition

Floats = npt.NDArray[np.float64]

FALSE_ALARM_MAX = 2 * FALSE_ALARM
POWER_LEAST = 0.9
"""Of cycles as deep as `JUDGED`, from as many on in the window."""
JUDGED = (0.3, 0.03, 0.0, 4)
"""Two are found in four of five windows."""
KNOWN_LENGTHS = (66, 120, 300)
KNOWN_WINDOWS = ((66, 2), (120, 2), (120, 4), (300, 2), (300, 4), (300, 10))
"""Seconds, and cycles in them."""
_WARM_UP_S = 300


@dataclass(frozen=True)
class Alarm:
    """The share of series called cyclic that are not."""

    kind: str
    seconds: int
    share: float


@dataclass(frozen=True)
class Found:
    """The share of cyclic series that are found, with the period right within a fifth."""

    cycles: float
    seconds: int
    depth: float
    noise: float
    memory: float
    share: float


def remembering(rng: np.random.Generator, trials: int, seconds: int, memory: float, noise: float) -> Floats:
    """First-order autoregressive noise of the given standard deviation."""
    shocks = rng.standard_normal((trials, seconds + _WARM_UP_S)) * noise * sqrt(1.0 - memory**2)
    return np.asarray(lfilter([1.0], [1.0, -memory], shocks, axis=1)[:, _WARM_UP_S:], dtype=np.float64)


def steady(rng: np.random.Generator, trials: int, seconds: int) -> Iterator[tuple[str, Floats]]:
    """Every kind of series without cycles, about a mean of 1."""

    def noise(memory: float = 0.3, deviation: float = 0.05) -> Floats:
        return 1.0 + remembering(rng, trials, seconds, memory, deviation)

    places = np.arange(seconds)[None, :] / seconds
    for memory in (0.0, 0.3, 0.6, 0.9):
        yield f"memory {memory}", noise(memory)
    yield "two memories", noise(0.0) + noise(0.95) - 1.0
    yield "walk", noise(0.0, 0.03) + rng.normal(0.0, 0.01, (trials, seconds)).cumsum(axis=1)
    yield "step", noise() + np.where(places > rng.uniform(0.1, 0.9, (trials, 1)), 0.2, 0.0)
    yield "warm-up", noise() - 0.4 * np.exp(-places / rng.uniform(0.05, 0.4, (trials, 1)))
    yield "drift", noise() + 0.3 * places
    yield "stalls", noise() - 0.5 * (rng.uniform(size=(trials, seconds)) < 1 / 60)


def dips_and_starts(
    rng: np.random.Generator, trials: int, seconds: int, period_s: float, depth: float, memory: float, noise: float
) -> tuple[Floats, list[list[float]]]:
    """Sudden dips that recover within a third of the period, each cycle's length wandering by 5 %; and when each dip
    inside the window began (s)."""
    starts: list[list[float]] = []
    found = 1.0 + remembering(rng, trials, seconds, memory, noise)
    for row in found:
        begin = float(rng.uniform(-period_s, 0.0))
        starts.append([])
        while begin < seconds:
            starts[-1] += [begin] if begin >= 0.0 else []
            end = begin + period_s * float(rng.normal(1.0, 0.05))
            mine = np.arange(max(0, int(np.ceil(begin))), min(seconds, int(np.ceil(end))))
            row[mine] -= depth * np.exp(-(mine - begin) / (period_s / 3))
            begin = end
    return found, starts


def broken_alarm(alarm: Alarm, trials: int) -> bool:
    """More than `FALSE_ALARM_MAX`, by more than three standard errors?"""
    return alarm.share > FALSE_ALARM_MAX + 3.0 * sqrt(FALSE_ALARM_MAX * (1.0 - FALSE_ALARM_MAX) / trials)


def regular(rng: np.random.Generator, trials: int, seconds: int, many: int) -> list[list[float]]:
    """Moments of `many` checkpoints that the series know nothing of; each cycle's length wanders by 5 %."""
    period_s = seconds / (many + 0.1)
    gaps = period_s * rng.normal(1.0, 0.05, (trials, many))
    gaps[:, 0] *= rng.uniform(0.1, 0.9, trials)
    return [[start for start in row if start < seconds] for row in gaps.cumsum(axis=1).tolist()]


def repeats(series: Floats, starts: list[list[float]]) -> npt.NDArray[np.bool_]:
    """Which are called cyclic by their checkpoints."""
    found = [repetition(row, begun) for row, begun in zip(series, starts, strict=True)]
    return np.array([one is not None and one.chance < FALSE_ALARM and one.swing >= TOLERANCE for one in found])


def known_alarms_at(seconds: int, trials: int, seed: int) -> list[Alarm]:
    """False alarms of every kind with checkpoints beside them, two to five cycles in a window of one length."""
    rng, found = np.random.default_rng([seed, seconds, 2]), []
    for kind, series in steady(rng, trials, seconds):
        shares = [float(repeats(series, regular(rng, trials, seconds, many)).mean()) for many in (2, 3, 5)]
        found.append(Alarm(kind, seconds, max(shares)))
    return found


def known_alarms(trials: int, seed: int) -> Iterator[Alarm]:
    """Of every length."""
    for seconds in KNOWN_LENGTHS:
        yield from known_alarms_at(seconds, trials, seed)


def known_power_at(seconds: int, many: int, trials: int, seed: int) -> list[Found]:
    """Cycles found where their beginnings are known, `many` of them in a window of one length."""
    rng, told = np.random.default_rng([seed, seconds, 3, many]), []
    for depth in (0.1, 0.3):
        for memory, noise in ((0.0, 0.03), (0.5, 0.05), (0.5, 0.15)):
            # A little more than `many` periods, so that so many whole cycles fit whatever their lengths.
            series, starts = dips_and_starts(rng, trials, seconds, seconds / (many + 0.3), depth, memory, noise)
            seen = [[start + float(rng.uniform()) for start in row] for row in starts]  # counted once a second
            told.append(Found(many, seconds, depth, noise, memory, float(repeats(series, seen).mean())))
    return told


def known_power(trials: int, seed: int) -> Iterator[Found]:
    """Of every length, from two cycles in a window on."""
    for seconds, many in KNOWN_WINDOWS:
        yield from known_power_at(seconds, many, trials, seed)


def broken_known_power(found: Found) -> bool:
    """Deep cycles in usual noise whose beginnings are known, and yet not found?"""
    depth, noise, memory, many = JUDGED
    judged = found.depth >= depth and found.noise <= noise and found.memory <= memory and found.cycles >= many
    return judged and found.share < POWER_LEAST
