"""Slices of live servers that take turns: where their noise comes from, and what one turn leaves to the next.

The unit of inference stays the block: its servers were started afresh, and a server differs from its twin for as long
as it lives (Kalibera and Tuma 2006), so slices narrow a block's value and never count as repetitions. A *round* gives
every live arm one slice; ABBA is two rounds. A slice that is discarded takes its round with it, for all arms: what is
left of that round would set one arm's good moment against nothing. See docs/statistics.md, "Alternating blocks".
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf, log, sqrt
from statistics import fmean, stdev

from pgassay.analysis.boundaries import LEVEL, chi_square, fixed_critical

SHIFT_MAX = 0.01
"""The largest shift of a contrast by the first part of its slices that may be left."""

ROUNDS_MIN = 2
"""Whole rounds below which a block says nothing."""


@dataclass(frozen=True)
class SliceRow:
    """One slice: `arm` had the machine for `active_s` seconds, as the `position`-th of its round (all from 1).

    `flush_s`: seconds that writing out what the slice left dirty took, charged to it. `discarded`: why it may not
    count; empty if it may. `parts`: transactions in equal parts of the active time; empty where they were not counted.
    """

    block: int
    round: int
    position: int
    arm: str
    transactions: float
    active_s: float
    flush_s: float = 0.0
    discarded: str = ""
    parts: tuple[float, ...] = ()

    @property
    def seconds(self) -> float:
        return self.active_s + self.flush_s


def _by_block(rows: Iterable[SliceRow]) -> dict[int, list[SliceRow]]:
    found: dict[int, list[SliceRow]] = {}
    for row in sorted(rows, key=lambda row: (row.block, row.round, row.position)):
        found.setdefault(row.block, []).append(row)
    return found


def _whole_rounds(rows: Sequence[SliceRow], arms: Sequence[str]) -> list[dict[str, SliceRow]]:
    """The rounds that have one usable slice of each arm and no other, arm to slice."""
    rounds: dict[int, list[SliceRow]] = {}
    for row in rows:
        rounds.setdefault(row.round, []).append(row)
    found = []
    for slices in rounds.values():
        usable = all(
            0.0 < row.transactions < inf and 0.0 < row.active_s < inf and 0.0 <= row.flush_s < inf and not row.discarded
            for row in slices
        )
        if usable and sorted(row.arm for row in slices) == sorted(arms):
            found.append({row.arm: row for row in slices})
    return found


@dataclass(frozen=True)
class Shares:
    """Variances of the logarithm of a slice's speed by source; one that came out negative is 0.

    `machine` is what the slices of a round share: pairing takes it out. `instance` is what belongs to a start of a
    server: more rounds do not reduce it. `slice` is the rest of a slice's own. `noise` is the standard deviation of an
    arm's value in a block with `rounds` rounds: a contrast's divided by √2, so that it compares with a trial's noise;
    with its 95 % interval (chi-square).
    """

    machine: float
    instance: float
    slice: float
    rounds: float
    noise: float
    noise_low: float
    noise_high: float


def shares(rows: Sequence[SliceRow], baseline: str) -> Shares | None:
    """Variance components by the method of moments; None below two blocks of two rounds with the baseline.

    Within a block the slices are rounds × arms without repetition: their interaction is the slices' variance, the
    rounds' mean square above it the machine's. Between blocks the contrasts with the baseline vary by twice
    (instance + slice / rounds); rounds enter by the mean of 1 / rounds, which is exact where blocks differ in length.
    """
    squares = freedom = round_squares = round_freedom = 0.0
    contrasts: dict[str, list[float]] = {}
    inverse: list[float] = []
    for mine in _by_block(rows).values():
        arms = list(dict.fromkeys(row.arm for row in mine))
        whole = _whole_rounds(mine, arms)
        if len(whole) < ROUNDS_MIN or baseline not in arms or len(arms) < 2:
            continue
        table = [[log(each[arm].transactions / each[arm].seconds) for arm in arms] for each in whole]
        by_round = [fmean(line) for line in table]
        by_arm = [fmean(column) for column in zip(*table, strict=True)]
        middle = fmean(by_round)
        squares += sum(
            (value - by_round[place] - by_arm[arm] + middle) ** 2
            for place, line in enumerate(table)
            for arm, value in enumerate(line)
        )
        freedom += (len(whole) - 1) * (len(arms) - 1)
        round_squares += len(arms) * sum((mean - middle) ** 2 for mean in by_round)
        round_freedom += len(whole) - 1
        inverse.append(1.0 / len(whole))
        base = by_arm[arms.index(baseline)]
        for arm, mean in zip(arms, by_arm, strict=True):
            if arm != baseline:
                contrasts.setdefault(arm, []).append(mean - base)
    between = [column for column in contrasts.values() if len(column) > 1]
    if not between or not freedom:
        return None
    between_squares = sum(sum((each - fmean(column)) ** 2 for each in column) for column in between)
    between_freedom = sum(len(column) - 1 for column in between)
    contrast = between_squares / between_freedom
    low, high = (sqrt(contrast * between_freedom / chi_square(end, between_freedom) / 2.0) for end in (0.975, 0.025))
    per_slice = squares / freedom
    share = sum(inverse) / len(inverse)
    arms_mean = 1.0 + freedom / round_freedom
    return Shares(
        machine=max(0.0, (round_squares / round_freedom - per_slice) / arms_mean),
        instance=max(0.0, contrast / 2.0 - per_slice * share),
        slice=per_slice,
        rounds=1.0 / share,
        noise=sqrt(contrast / 2.0),
        noise_low=low,
        noise_high=high,
    )


@dataclass(frozen=True)
class Carry:
    """How much the first part of its slices shifts an arm's log-ratio to the baseline, with its interval over blocks.

    It is the bias that a carry-over from the server before would make; what both share cancels.
    """

    arm: str
    shift: float
    low: float
    high: float


def carried_over(rows: Sequence[SliceRow], baseline: str) -> tuple[Carry, ...]:
    """Does a slice still feel the one before it? The arms whose log-ratio shifts by more than `SHIFT_MAX`.

    A slice's shift is ln(mean of all parts / mean of all but the first): what leaving out the first part as well would
    change. Means over a block's slices are one observation, intervals Student's over blocks (unbounded below two).
    Slices without parts, or with an empty one, are passed over: it has no logarithm.
    """
    shifts: dict[str, dict[int, float]] = {}
    for block, mine in _by_block(rows).items():
        arms = list(dict.fromkeys(row.arm for row in mine))
        whole = _whole_rounds(mine, arms)
        for arm in arms:
            parts = [each[arm].parts for each in whole if len(each[arm].parts) > 1 and min(each[arm].parts) > 0.0]
            if parts:
                shifts.setdefault(arm, {})[block] = fmean(log(fmean(each) / fmean(each[1:])) for each in parts)
    base = shifts.pop(baseline, {})
    carries = []
    for arm, by_block in shifts.items():
        of_arm = [shift - base[block] for block, shift in by_block.items() if block in base]
        if len(of_arm) > 1:
            half = fixed_critical(len(of_arm), 1.0 - LEVEL) * stdev(of_arm) / sqrt(len(of_arm))
            carries.append(Carry(arm, fmean(of_arm), fmean(of_arm) - half, fmean(of_arm) + half))
    return tuple(each for each in carries if each.low > SHIFT_MAX or each.high < -SHIFT_MAX)
