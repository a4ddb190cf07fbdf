"""Machines whose speed wanders, and two ways to measure on them: one after the other, and in turns.

Time is simulated in steps of a quarter second. A machine's speed has 1/f noise, bursts of a competitor, drift, noise
of each start of a server, or servers that come up in one of two states (docs/statistics.md); trials of eight seconds
follow each other, or all servers of a block take turns in slices of one second. The slowest round of
each block is lost, as to other programs. No treatment has an effect: what is found is false, at whichever look.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from scipy.signal import lfilter  # type: ignore[import-untyped]

from benchmarks.validity.simulate import Floats, Paths, look

STEP_S = 0.25
TRIAL_S = 8.0
RESTART_S = 4.0
SLICE_S = 1.0
OWN = 0.02
"""Standard deviation of what a second of load scatters by itself (logarithm)."""
BLOCKS = 8

MACHINES = ("1/f", "bursts", "drift", "instance", "two states", "all")
ARMS = (2, 3, 4, 5, 6)
BOUNDED_UP_TO = 0.05


@dataclass(frozen=True)
class Row:
    """Of one machine, number of arms and way: the share of studies with a false verdict, and half-widths in % at five
    blocks and at the end."""

    machine: str
    arms: int
    way: str
    studies: int
    false: float
    width_first: float
    width_last: float

    @property
    def broken(self) -> bool:
        """More false verdicts than 5 %, by more than three standard errors?"""
        return self.false > BOUNDED_UP_TO + 3.0 * sqrt(BOUNDED_UP_TO * (1.0 - BOUNDED_UP_TO) / self.studies)


def wandering(rng: np.random.Generator, studies: int, seconds: float, deviation: float) -> Floats:
    """1/f noise: first-order noises of equal variance, their memories an octave apart from 0.5 to 256 s."""
    steps = int(seconds / STEP_S) + 1
    found = np.zeros((studies, steps))
    memories = 0.5 * 2.0 ** np.arange(10)
    for memory_s in memories:
        keep = np.exp(-STEP_S / memory_s)
        shocks = rng.standard_normal((studies, steps)) * sqrt(1.0 - keep * keep)
        shocks[:, 0] = rng.standard_normal(studies)
        found += lfilter([1.0], [1.0, -keep], shocks, axis=1)
    return np.asarray(found * deviation / sqrt(len(memories)))


def _bursts(rng: np.random.Generator, studies: int, seconds: float) -> Floats:
    """A competitor that takes up to 60 % of a core, on for 3 s and off for 6 s on average."""
    steps = int(seconds / STEP_S) + 1
    busy = np.zeros((studies, steps))
    on = rng.random(studies) < 1 / 3
    share = rng.uniform(0.0, 0.6, studies)
    for step in range(steps):
        switch = rng.random(studies) < np.where(on, STEP_S / 3.0, STEP_S / 6.0)
        share = np.where(switch & ~on, rng.uniform(0.0, 0.6, studies), share)
        on = on ^ switch
        busy[:, step] = np.where(on, np.log1p(-share), 0.0)
    return busy


def machine(kind: str, rng: np.random.Generator, studies: int, seconds: float) -> Floats:
    """Logarithm of the machine's speed at each step, (studies, steps)."""
    found = wandering(rng, studies, seconds, 0.15 if kind in ("1/f", "all") else 0.02)
    if kind in ("bursts", "all"):
        found += _bursts(rng, studies, seconds)
    if kind in ("drift", "all"):
        found += log(0.8) * np.linspace(0.0, 1.0, found.shape[1])
    return found


def instances(kind: str, rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Logarithm of what each start of a server brings along."""
    found = np.zeros(shape)
    if kind in ("instance", "all"):
        found += rng.normal(0.0, 0.05, shape)
    if kind == "two states":
        found += log(1.6) * (rng.random(shape) < 0.5)
    return found


def _means(speed: Floats, begins_s: Floats, length_s: float) -> Floats:
    """Mean log speed over windows that begin at these seconds, (studies, …)."""
    sums = np.concatenate((np.zeros((len(speed), 1)), speed.cumsum(axis=1)), axis=1)
    first = (begins_s / STEP_S).astype(np.int64).reshape(len(speed), -1)
    steps = int(length_s / STEP_S)
    rows = np.arange(len(speed))[:, None]
    return np.asarray((sums[rows, first + steps] - sums[rows, first]) / steps).reshape(begins_s.shape)


def _order(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Random places, every second line mirrored; shape (studies, lines, arms)."""
    found = rng.random(shape).argsort(axis=2).argsort(axis=2)
    found[:, 1::2] = shape[2] - 1 - found[:, : shape[1] - shape[1] % 2 : 2]
    return found.astype(np.float64)


def measured(kind: str, arms: int, studies: int, rng: np.random.Generator, *, alternating: bool) -> Floats:
    """Logarithms of the blocks' values, (studies, blocks, arms)."""
    shape = (studies, BLOCKS, arms)
    block_s = arms * (TRIAL_S + RESTART_S)
    speed = machine(kind, rng, studies, BLOCKS * block_s + TRIAL_S)
    begins = np.arange(BLOCKS)[None, :, None] * block_s
    own = instances(kind, rng, shape)
    if not alternating:
        begins = begins + _order(rng, shape) * (TRIAL_S + RESTART_S) + RESTART_S
        seen = _means(speed, begins, TRIAL_S)
        scatter = rng.normal(0.0, OWN / sqrt(TRIAL_S), shape)
        return np.asarray(seen + own + scatter)
    rounds = int(TRIAL_S / SLICE_S)
    places = np.stack([_order(rng, (studies, rounds, arms)) for _ in range(BLOCKS)], axis=1)
    starts = begins[..., None] + np.arange(rounds)[None, None, :, None] * arms * SLICE_S + places * SLICE_S
    slices = _means(speed, starts + arms * RESTART_S, SLICE_S)
    transactions = np.exp(slices + rng.normal(0.0, OWN / sqrt(SLICE_S), slices.shape))
    disturbance = slices.mean(axis=3, keepdims=True)
    kept = disturbance > disturbance.min(axis=2, keepdims=True)
    return np.asarray(np.log((transactions * kept).sum(axis=2) / kept.sum(axis=2)) + own)


@dataclass(frozen=True)
class Measured:
    """A kind of machine, with its number among those that are simulated, and how many arms are measured how."""

    number: int
    machine: str
    arms: int
    alternating: bool


def cells(machines: tuple[str, ...] = MACHINES, numbers: tuple[int, ...] = ARMS) -> Iterator[Measured]:
    """Every machine with every number of arms, by both ways."""
    for number, kind in enumerate(machines):
        for arms in numbers:
            for alternating in (False, True):
                yield Measured(number, kind, arms, alternating)


def row(cell: Measured, studies: int, seed: int) -> Row:
    """Simulate one of them."""
    rng = np.random.default_rng([seed, cell.number, cell.arms, cell.alternating])
    values = measured(cell.machine, cell.arms, studies, rng, alternating=cell.alternating)
    return _row(cell.machine, cell.arms, "in turns" if cell.alternating else "sequential", look(values, BLOCKS))


def rows(
    studies: int, seed: int, machines: tuple[str, ...] = MACHINES, numbers: tuple[int, ...] = ARMS
) -> Iterator[Row]:
    """All of them."""
    for cell in cells(machines, numbers):
        yield row(cell, studies, seed)


def _row(kind: str, arms: int, way: str, paths: Paths) -> Row:
    return Row(
        machine=kind,
        arms=arms,
        way=way,
        studies=len(paths.mean),
        false=float(paths.different().any(axis=(1, 2)).mean()),
        width_first=100.0 * float(np.median(paths.half[:, 0])),
        width_last=100.0 * float(np.median(paths.half[:, -1])),
    )
