"""From slices of live servers that take turns to one value for each arm and block, and where their noise comes from.

The unit of inference stays the block: its servers were started afresh, and a server differs from its twin for as long
as it lives (Kalibera and Tuma 2006), so slices narrow a block's value and never count as repetitions. A *round* gives
every live arm one slice; ABBA is two rounds. A slice that is discarded takes its round with it, for all arms: what is
left of that round would set one arm's good moment against nothing. See docs/statistics.md, "Alternating blocks".
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, log, sqrt
from statistics import fmean

from pgassay.analysis.boundaries import LEVEL, chi_square, fixed_critical

SHIFT_MAX = 0.01
"""The largest shift of a contrast by the first part of its slices that may be left."""

ROUNDS_MIN = 2
"""Whole rounds below which an arm has no value in a block."""

PER_TRANSACTION = "_per_transaction"
"""How names end of covariates whose mean is weighted by transactions; all others are weighted by seconds."""


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
    covariates: Mapping[str, float] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        return self.active_s + self.flush_s


@dataclass(frozen=True)
class BlockValue:
    """What an arm did in a block: all its transactions over all its seconds (flushes charged), in whole rounds."""

    block: int
    arm: str
    transactions: float
    seconds: float
    rounds: int
    covariates: Mapping[str, float] = field(default_factory=dict)

    @property
    def tps(self) -> float:
        return self.transactions / self.seconds


@dataclass(frozen=True)
class LostRound:
    """A round that counts for no arm, with the reason."""

    block: int
    round: int
    reason: str


@dataclass(frozen=True)
class Alternation:
    """The value of each arm in each block, and the rounds that were lost."""

    values: tuple[BlockValue, ...]
    lost: tuple[LostRound, ...]


def block_values(rows: Sequence[SliceRow]) -> Alternation:
    """Values by block, in order; an arm with fewer than `ROUNDS_MIN` whole rounds in a block has none there.

    A round must hold a slice of every arm that has one in its block.
    """
    values: list[BlockValue] = []
    lost: list[LostRound] = []
    for block, mine in _by_block(rows).items():
        live = list(dict.fromkeys(row.arm for row in mine))
        whole, gone = _whole_rounds(block, mine, live)
        lost += gone
        if len(whole) >= ROUNDS_MIN:
            values += [_value(block, arm, [each[arm] for each in whole]) for arm in live]
    return Alternation(tuple(values), tuple(lost))


def _by_block(rows: Iterable[SliceRow]) -> dict[int, list[SliceRow]]:
    found: dict[int, list[SliceRow]] = {}
    for row in sorted(rows, key=lambda row: (row.block, row.round, row.position)):
        found.setdefault(row.block, []).append(row)
    return found


def _whole_rounds(
    block: int, rows: Sequence[SliceRow], arms: Sequence[str]
) -> tuple[list[dict[str, SliceRow]], list[LostRound]]:
    """The rounds that have one usable slice of each arm, arm to slice, and those that have not."""
    rounds: dict[int, list[SliceRow]] = {}
    for row in rows:
        rounds.setdefault(row.round, []).append(row)
    whole, lost = [], []
    for number, slices in rounds.items():
        mine = [row for row in slices if row.arm in arms]
        reason = next(filter(None, map(_unusable, mine)), "")
        absent = [arm or "baseline" for arm in arms if sum(row.arm == arm for row in mine) != 1]
        if absent and not reason:
            reason = f"{', '.join(absent)} {'has' if len(absent) == 1 else 'have'} not exactly one slice"
        if reason:
            lost.append(LostRound(block, number, reason))
        else:
            whole.append({row.arm: row for row in mine})
    return whole, lost


def _unusable(row: SliceRow) -> str:
    why = row.discarded
    if not (why or (0.0 < row.transactions < inf and 0.0 < row.active_s < inf and 0.0 <= row.flush_s < inf)):
        why = f"{row.transactions:g} transactions in {row.seconds:g} s"
    return f"{row.arm or 'baseline'}: {why}" if why else ""


def _value(block: int, arm: str, slices: Sequence[SliceRow]) -> BlockValue:
    transactions, covariates = sum(row.transactions for row in slices), {}
    for name in sorted(set.intersection(*(set(row.covariates) for row in slices))):
        weights = [row.transactions if name.endswith(PER_TRANSACTION) else row.active_s for row in slices]
        total = sum(row.covariates[name] * weight for row, weight in zip(slices, weights, strict=True))
        covariates[name] = total / sum(weights)
    return BlockValue(block, arm, transactions, sum(row.seconds for row in slices), len(slices), covariates)


@dataclass(frozen=True)
class Shares:
    """Variances of the logarithm of a slice's speed by source; one that came out negative is 0.

    `machine` is what the slices of a round share: pairing takes it out. `instance` is what belongs to a start of a
    server: more rounds do not reduce it. `slice` is the rest of a slice's own, of which `residual` is what the scatter
    *within* slices explains if it had no memory (None where slices were not counted in parts). `contrast` is the
    standard deviation of a block's log-ratio with `rounds` rounds, as found, with `freedom` degrees of freedom.
    """

    machine: float
    instance: float
    slice: float
    residual: float | None
    rounds: float
    contrast: float
    freedom: int


def shares(rows: Sequence[SliceRow], baseline: str) -> Shares | None:
    """Variance components by the method of moments; None below two blocks of two rounds with the baseline.

    Within a block the slices are rounds × arms without repetition: their interaction is the slices' variance, the
    rounds' mean square above it the machine's. Between blocks the contrasts with the baseline vary by twice
    (instance + slice / rounds); rounds enter by the mean of 1 / rounds, which is exact where blocks differ in length.
    """
    squares = freedom = round_squares = round_freedom = part_squares = 0.0
    part_freedom = 0
    contrasts: dict[str, list[float]] = {}
    inverse: list[float] = []
    for block, mine in _by_block(rows).items():
        arms = list(dict.fromkeys(row.arm for row in mine))
        whole, _ = _whole_rounds(block, mine, arms)
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
        for each in whole:
            for row in each.values():
                logs = _part_logs(row)
                if len(logs) > 1:
                    part_squares += sum((part - fmean(logs)) ** 2 for part in logs) / len(logs)
                    part_freedom += len(logs) - 1
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
    per_slice = squares / freedom
    share = sum(inverse) / len(inverse)
    arms_mean = 1.0 + freedom / round_freedom
    return Shares(
        machine=max(0.0, (round_squares / round_freedom - per_slice) / arms_mean),
        instance=max(0.0, contrast / 2.0 - per_slice * share),
        slice=per_slice,
        residual=min(per_slice, part_squares / part_freedom) if part_freedom else None,
        rounds=1.0 / share,
        contrast=sqrt(contrast),
        freedom=between_freedom,
    )


def _part_logs(row: SliceRow) -> list[float]:
    """Logarithms of the parts' transactions; none where a part is empty, which has no logarithm."""
    return [log(part) for part in row.parts] if len(row.parts) > 1 and min(row.parts) > 0.0 else []


@dataclass(frozen=True)
class Carry:
    """How much the first part of its slices shifts an arm's log-speed, with its interval over blocks.

    For the baseline: its own shift. For others: that of their log-ratio to the baseline, which is the bias that a
    carry-over from the server before would make; what both share cancels.
    """

    arm: str
    shift: float
    low: float
    high: float


@dataclass(frozen=True)
class Washout:
    """Does a slice still feel the one before it? `limit`: the largest shift of a contrast that may be left."""

    carries: tuple[Carry, ...]
    blocks: int
    limit: float

    @property
    def complete(self) -> bool:
        """True when every arm's contrast is shown to shift by less than the limit."""
        return bool(self.carries) and all(
            -self.limit < each.low and each.high < self.limit for each in self.carries[1:]
        )

    @property
    def shifted(self) -> tuple[Carry, ...]:
        return tuple(each for each in self.carries[1:] if each.low > self.limit or each.high < -self.limit)


def washout(rows: Sequence[SliceRow], baseline: str) -> Washout:
    """Test for a trend over the position in a slice, in the unit that matters: the shift of the block's log-ratio.

    A slice's shift is ln(mean of all parts / mean of all but the first): what leaving out the first part as well would
    change. Means over a block's slices are one observation, intervals Student's over blocks (unbounded below two).
    Slices without parts, or with an empty one, are passed over. The baseline comes first.
    """
    shifts: dict[str, dict[int, float]] = {}
    for block, mine in _by_block(rows).items():
        arms = list(dict.fromkeys(row.arm for row in mine))
        whole, _ = _whole_rounds(block, mine, arms)
        for arm in arms:
            parts = [each[arm].parts for each in whole if _part_logs(each[arm])]
            if parts:
                shifts.setdefault(arm, {})[block] = fmean(log(fmean(each) / fmean(each[1:])) for each in parts)
    base = shifts.get(baseline)
    if base is None:
        return Washout((), 0, SHIFT_MAX)
    compared = {baseline: list(base.values())}
    for arm, mine_by_block in shifts.items():
        both = [shift - base[block] for block, shift in mine_by_block.items() if block in base]
        if arm != baseline and both:
            compared[arm] = both
    carries = []
    for arm, of_arm in compared.items():
        count, mean, half = len(of_arm), fmean(of_arm), inf
        if count > 1:
            spread = sqrt(sum((shift - mean) ** 2 for shift in of_arm) / (count - 1))
            half = fixed_critical(count, 1.0 - LEVEL) * spread / sqrt(count)
        carries.append(Carry(arm, mean, mean - half, mean + half))
    return Washout(tuple(carries), len(base), SHIFT_MAX)


@dataclass(frozen=True)
class Turns:
    """What turns leave of the noise: standard deviations of logarithms, those of one arm's value in a block.

    `noise` is a contrast's divided by √2, so that it compares with a trial's noise; with its 95 % interval
    (chi-square, `freedom` degrees).
    """

    shares: Shares
    noise: float
    noise_low: float
    noise_high: float


def turns_of(rows: Sequence[SliceRow], baseline: str) -> Turns | None:
    """Of a run whose servers took turns; None where it has too few blocks or rounds to tell."""
    found = shares(rows, baseline)
    if found is None:
        return None
    low, high = (
        found.contrast * sqrt(found.freedom / chi_square(share, found.freedom) / 2.0) for share in (0.975, 0.025)
    )
    return Turns(found, found.contrast / sqrt(2.0), low, high)
