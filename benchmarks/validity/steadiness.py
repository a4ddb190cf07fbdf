"""How often a series without cycles is called cyclic, and how often checkpoints' cycles are found.

Simulated seconds of transactions: noise with and without memory, walks, steps, warm-ups, drift and stalls for the false
alarms; dips that recover, as after a checkpoint, with wandering periods for the power.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt

import numpy as np
import numpy.typing as npt
from scipy.signal import lfilter  # type: ignore[import-untyped]

from pgassay.analysis.cycles import FALSE_ALARM, cycles
from pgassay.analysis.steadiness import TOLERANCE

Floats = npt.NDArray[np.float64]

LENGTHS = (60, 120, 300, 900)
FALSE_ALARM_MAX = 2 * FALSE_ALARM
POWER_LEAST = 0.9
"""Of cycles as deep as `JUDGED`, from as many on in the window."""
JUDGED = (0.3, 0.03, 0.0, 7)
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


def dips(
    rng: np.random.Generator, trials: int, seconds: int, period_s: float, depth: float, memory: float, noise: float
) -> Floats:
    """Sudden dips that recover within a third of the period; each cycle's length wanders by 5 %."""
    found = 1.0 + remembering(rng, trials, seconds, memory, noise)
    for row in found:
        begin = float(rng.uniform(-period_s, 0.0))
        while begin < seconds:
            end = begin + period_s * float(rng.normal(1.0, 0.05))
            mine = np.arange(max(0, int(np.ceil(begin))), min(seconds, int(np.ceil(end))))
            row[mine] -= depth * np.exp(-(mine - begin) / (period_s / 3))
            begin = end
    return found


def called(seconds: Floats) -> npt.NDArray[np.bool_]:
    """Which are called cyclic by their seconds."""
    found = cycles(seconds)
    return (found.chance < FALSE_ALARM) & (found.swing >= TOLERANCE)


def alarms(trials: int, seed: int) -> Iterator[Alarm]:
    """False alarms of every kind and length."""
    rng = np.random.default_rng(seed)
    for seconds in LENGTHS:
        for kind, series in steady(rng, trials, seconds):
            yield Alarm(kind, seconds, float(called(series).mean()))


def power(trials: int, seed: int) -> Iterator[Found]:
    """Cycles found, from three in a window to twenty."""
    rng = np.random.default_rng(seed)
    for seconds in (120, 300, 900):
        for many in (3.0, 4.0, 5.0, 7.0, 10.0, 20.0):
            period_s = seconds / many
            if not 12 <= period_s <= 300:
                continue
            for depth in (0.1, 0.3):
                for memory, noise in ((0.0, 0.03), (0.5, 0.05)):
                    series = dips(rng, trials, seconds, period_s, depth, memory, noise)
                    right = called(series) & (np.abs(cycles(series).period_s / period_s - 1.0) < 0.2)
                    yield Found(many, seconds, depth, noise, memory, float(right.mean()))


def broken_alarm(alarm: Alarm, trials: int) -> bool:
    """More than `FALSE_ALARM_MAX`, by more than three standard errors?"""
    return alarm.share > FALSE_ALARM_MAX + 3.0 * sqrt(FALSE_ALARM_MAX * (1.0 - FALSE_ALARM_MAX) / trials)


def broken_power(found: Found) -> bool:
    """Deep cycles in usual noise, seven of them or more, and yet not found?"""
    depth, noise, memory, many = JUDGED
    judged = found.depth >= depth and found.noise <= noise and found.memory <= memory and found.cycles >= many
    return judged and found.share < POWER_LEAST
