"""What a run's loads become on other drives: from each treatment's write signature to drives of any size.

Emulated drives that were aged have recorded how their load writes (`drive.write_signature`). With `times` more data it
is simulated on a drive of another capacity and over-provisioning. The same simulation of the recorded drive itself is
compared with what that drive settled at when it was aged, which no part of the prediction has seen: that is its error.
From runs at several scales space, compression and write amplification are led to the real size.

Space on flash goes by the law of `analysis.scale_law`: fixed costs are there at any size, so as bytes for a byte of the
baseline's data it is `limit + c * N`, whatever Cochran's test sees of them. One run cannot tell the two apart: then all
of it is taken to grow with the data, and the interval is that between its blocks alone.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain, pairwise
from math import exp, inf, isfinite, log, sqrt
from statistics import fmean, median, stdev

from pgassay.analysis.scale_law import Judgement, Point, judge, trend
from pgassay.drive.options import DriveOptions
from pgassay.errors import UsageError
from pgassay.flash.prediction import (
    COMPRESSING,
    SIMULATED_BYTES,
    Prediction,
    Target,
    loads_side_by_side,
    predict,
)
from pgassay.interfaces.write_signature import SIGNATURE, SUFFIX, WriteSignature
from pgassay.record.reading import Run
from pgassay.record.values import TrialRecord
from pgassay.study.levels import Cell, Place
from pgassay.study.responses import Status

DATABASE, PHYSICAL, RATIO = "database_bytes", "physical_bytes", "compression_ratio"


class Basis(StrEnum):
    """How a figure was led to the real size."""

    LINEAR = "one run, scaled linearly"
    AGREE = "the runs agree"
    LAW = "limit + c * N"
    UNTESTED = "limit + c * N of two runs, which cannot test it"


@dataclass(frozen=True)
class Figure:
    """A figure at the real size and its 95 % interval; None where that is not known."""

    value: float
    interval: tuple[float, float] | None
    basis: Basis

    def times(self, factor: float) -> "Figure":
        low, high = self.interval or (0.0, 0.0)
        return replace(self, value=self.value * factor, interval=self.interval and (low * factor, high * factor))


@dataclass(frozen=True)
class Space:
    """One treatment of one run: bytes of flash for a byte of the baseline's data, and the logarithm of compression."""

    physical: Point
    compression: Point


def space_of(trials: Sequence[TrialRecord], baseline: str, data_bytes: float) -> Mapping[Place, Space]:
    """By block, of every treatment that was measured in blocks where the baseline was; `data_bytes` are the original's.

    A block's size of the database is that of its baseline.
    """
    valid = [trial for trial in trials if trial.status is Status.VALID]
    sizes: dict[tuple[Cell, int], float] = {}
    for trial in valid:
        size = trial.responses.get(DATABASE)
        if trial.treatment == baseline and size:
            sizes[trial.place.cell, trial.block] = size
    found: dict[Place, list[tuple[float, float]]] = {}
    for trial in valid:
        size = sizes.get((trial.place.cell, trial.block))
        physical, ratio = trial.responses.get(PHYSICAL), trial.responses.get(RATIO)
        if size and physical and ratio:
            found.setdefault(trial.place, []).append((physical / size, log(ratio)))
    scales = {cell: data_bytes / fmean(size for (of, _), size in sizes.items() if of == cell) for cell, _ in sizes}
    return {
        place: Space(*(point(scales[place.cell], values) for values in zip(*pairs, strict=True)))
        for place, pairs in found.items()
    }


def point(by: float, values: Sequence[float]) -> Point:
    error = stdev(values) / sqrt(len(values)) if len(values) > 1 else inf
    return Point(by, fmean(values), error, len(values))


def physical(points: Sequence[Point]) -> Figure:
    found = _led(points, trend)
    low, high = found.interval or (0.0, 0.0)
    return replace(found, value=max(0.0, found.value), interval=found.interval and (max(0.0, low), high))


def _led(points: Sequence[Point], law: Callable[[Sequence[Point]], Judgement]) -> Figure:
    """To the real size: from one run in proportion, from several by this law."""
    if len(points) == 1:
        value, half, basis = points[0].value, points[0].half, Basis.LINEAR
    else:
        found = law(points)
        value, half = found.value, found.half
        basis = Basis.AGREE if found.agree else Basis.LAW if found.tested else Basis.UNTESTED
    return Figure(value, (value - half, value + half) if isfinite(half) else None, basis)


def _ratio(figure: Figure) -> Figure:
    """From logarithms; what lies beyond all numbers is not known."""
    low, high = figure.interval or (0.0, inf)
    return replace(figure, value=exp(figure.value), interval=(exp(low), exp(high)) if high < _LARGEST else None)


_LARGEST = 700.0


_SOURCE = "drive"
_LIVE_SHARE = "drive.live_share"
_DRIVE = "drive.data"
_BLOCK_BYTES = 4096
_APART = 1.1
"""Runs whose data differ by less than this tell nothing of other sizes."""
_NORMAL, _MANY = 1.96, 1000
"""A simulation's interval in standard errors, and the degrees of freedom that it stands for."""


@dataclass(frozen=True)
class DriveQuestion:
    """The drives that are asked about: data of the baseline in bytes, capacity, shares of spare flash.

    `live_share` fills the drive up with cold data; None: it holds the data alone.
    """

    data_bytes: int
    capacity_bytes: int
    over_provisioning: Sequence[float]
    live_share: float | None = None
    rated_cycles: int = 3000
    simulated_bytes: int = SIMULATED_BYTES
    """Of a larger drive so much is simulated."""
    superblock_bytes: int | None = None
    """Of the drive; None: a thousandth of it."""
    wal_bytes: int | None = None
    """What WAL takes there; None: as much of the drive as in the recording."""


@dataclass(frozen=True)
class Check:
    """The error of the method on a drive that a run recorded.

    `settled` is what that drive's own ageing came to (None where it did not settle), `again` what is simulated for it.
    """

    run: str
    settled: float | None
    again: Prediction

    @property
    def error(self) -> float | None:
        """How far the simulation of the recorded drive is from what it settled at, as a share."""
        if self.settled is None or self.again.write_amplification is None:
            return None
        return self.again.write_amplification / self.settled - 1


@dataclass(frozen=True)
class Predicted:
    """One treatment: its space, what its drive would be like, and the check by the drive of each run.

    `bases` say of each drive how its write amplification was led to the real size (None: it runs out of space),
    `recordings` what each recording of the run with the most data alone makes of it. The place is that of this run, and
    so is `wal_share`: of the drive that is asked about, as it is simulated.
    """

    place: Place
    kind: str
    physical: Figure
    compression: Figure
    drives: tuple[Prediction, ...]
    bases: tuple[Basis | None, ...]
    recordings: tuple[tuple[float | None, ...], ...]
    wal_share: float
    checks: tuple[Check, ...]


@dataclass(frozen=True)
class Recorded:
    """One treatment of the run, by medians over its valid trials.

    `signature` is of the load that aged its drive to what it `settled` at; `recordings` are all that stand for it.
    """

    place: Place
    signature: WriteSignature
    recordings: tuple[WriteSignature, ...]
    kind: str
    capacity_bytes: float
    over_provisioning: float
    pages_per_block: int | None
    live_share: float
    settled: float | None
    compression_ratio: float


@dataclass(frozen=True)
class _Part:
    """What one run has of one treatment: its recording, its space, and how many times more data are asked about."""

    run: str
    recorded: Recorded
    space: Space
    times: float


def predictions(runs: Sequence[Run], asked: DriveQuestion) -> Iterator[Predicted]:
    """Of each treatment whose drive was aged in every run; takes seconds each.

    Runs are of one study, at several scales; which of them has how much data is seen by the baseline's. Conditions are
    the same where they stand in the same place of their study: a model's warehouses are other ones. Raises `UsageError`
    where no treatment was aged in all of them, where two of them have the same size, or where a drive is too large to
    be simulated.
    """
    parts = [_parts(run, asked) for run in runs]
    if any(not each for each in parts):
        raise UsageError(
            f"{next(run.path for run, each in zip(runs, parts, strict=True) if not each)} holds no write signature",
            "a run has one for each emulated drive that was aged: drive.data=ssd or csd with drive.state=aged",
        )
    names = [name for name in parts[0] if all(name in each for each in parts)]
    if not names:
        raise UsageError(
            "the runs have no treatment in common whose drive was aged",
            "give runs of one study at several scales: pgassay run STUDY --scale 1/1000, and again with --scale 1/250",
        )
    asked_about = {name: sorted((each[name] for each in parts), key=lambda part: part.times) for name in names}
    if any(b.times < _APART * a.times for mine in asked_about.values() for a, b in pairwise(mine)):
        raise UsageError(
            "the data of two runs differ by less than a tenth, so they tell nothing of other sizes",
            "give runs at several scales, or one of these",
        )
    for part in chain.from_iterable(asked_about.values()):
        # What is too large is refused before the first minute of simulations, the recorded drive included.
        for target in _targets(part, asked):
            for each in part.recorded.recordings:
                loads_side_by_side(each, target, asked.simulated_bytes)
        own = _own(part.recorded)
        loads_side_by_side(part.recorded.signature, own, own.capacity_bytes)
    found = {name: [_simulated(part, asked) for part in mine] for name, mine in asked_about.items()}
    by_run = zip(zip(*asked_about.values(), strict=True), zip(*found.values(), strict=True), strict=True)
    spreads = [_spreads(of_run, simulated) for of_run, simulated in by_run]
    for name, mine in asked_about.items():
        yield _predicted(mine, found[name], spreads, asked)


def _parts(run: Run, asked: DriveQuestion) -> Mapping[tuple[str, int], _Part]:
    """By treatment and the place of its condition in the study."""
    study = run.asked
    baseline = study.design.baseline.name
    space = space_of(run.trials, baseline, asked.data_bytes)
    cells = list(dict.fromkeys(arm.place.cell for arm in study.arms))
    return {
        (each.place.treatment, cells.index(each.place.cell)): _Part(
            run.path.name, each, space[each.place], space[each.place].physical.by
        )
        for each in recorded(run)
        if each.place in space
    }


def _target(
    each: Recorded, asked: DriveQuestion, spare: float, stored_bytes: float, compressed: float, times: float
) -> Target:
    live = max(stored_bytes * compressed, (asked.live_share or 0.0) * asked.capacity_bytes)
    return Target(
        each.kind,
        asked.capacity_bytes,
        spare,
        live,
        times,
        1 / compressed if each.kind == COMPRESSING else 1.0,
        None if asked.superblock_bytes is None else asked.superblock_bytes // _BLOCK_BYTES,
        asked.rated_cycles,
        asked.wal_bytes,
    )


_Simulated = Sequence[Sequence[Prediction]]
"""By over-provisioning, and there by recording."""


def _targets(part: _Part, asked: DriveQuestion) -> Sequence[Target]:
    stored, compressed = part.space.physical.value * asked.data_bytes, exp(part.space.compression.value)
    return [_target(part.recorded, asked, spare, stored, compressed, part.times) for spare in asked.over_provisioning]


def _simulated(part: _Part, asked: DriveQuestion) -> _Simulated:
    every, size_bytes = part.recorded.recordings, asked.simulated_bytes
    return [[predict(each, target, size_bytes) for each in every] for target in _targets(part, asked)]


def _spreads(parts: Sequence[_Part], treatments: Sequence[_Simulated]) -> Sequence[tuple[float, int]]:
    """By over-provisioning: the variance between recordings of one treatment, and its degrees of freedom.

    Of the logarithms, over all treatments of a run together: each has few recordings. Those that treatments share count
    once.
    """
    found = []
    for of_drive in zip(*treatments, strict=True):
        # Logarithms of what was simulated, by the identity of each recording; without those that ran out of space.
        known = [
            {
                id(of): log(each.write_amplification)
                for of, each in zip(part.recorded.recordings, one, strict=True)
                if each.write_amplification
            }
            for part, one in zip(parts, of_drive, strict=True)
        ]
        groups = _apart(known)
        freedom = sum(len(group) - 1 for group in groups)
        squares = sum((each - fmean(group)) ** 2 for group in groups for each in group)
        found.append((squares / freedom if freedom else 0.0, freedom))
    return found


def _apart(groups: Sequence[Mapping[int, float]]) -> Sequence[Sequence[float]]:
    """The groups whose recordings are not all in another one, and of equal ones the first."""
    return [
        list(group.values())
        for number, group in enumerate(groups)
        if group
        and not any(group.keys() < other.keys() for other in groups)
        and not any(group.keys() == other.keys() for other in groups[:number])
    ]


def _predicted(
    parts: Sequence[_Part],
    simulated: Sequence[_Simulated],
    spreads: Sequence[Sequence[tuple[float, int]]],
    asked: DriveQuestion,
) -> Predicted:
    """From one run, or several, that with the most data first."""
    largest = parts[0].recorded
    stored = physical([each.space.physical for each in parts]).times(asked.data_bytes)
    ratio = _ratio(_led([each.space.compression for each in parts], trend))  # fixed costs change it as they do space
    drives: list[Prediction] = []
    bases: list[Basis | None] = []
    for number, spare in enumerate(asked.over_provisioning):
        target = _target(largest, asked, spare, stored.value, ratio.value, parts[0].times)
        points = [
            _point(part.times, each[number], spread[number])
            for part, each, spread in zip(parts, simulated, spreads, strict=True)
        ]
        known = [each for each in points if each is not None]
        if len(known) < len(points):  # one of them runs out of space
            drives.append(Prediction(target, None, None, settled=False))
            bases.append(None)
            continue
        figure = _ratio(_led(known, judge))  # it need not go by fixed costs: the runs agree, or the law is followed
        settled = all(found.settled for each in simulated for found in each[number])
        drives.append(Prediction(target, figure.value, figure.interval, settled))
        bases.append(figure.basis)
    alone = tuple(tuple(found.write_amplification for found in each) for each in simulated[0])
    checks = []
    for each in parts:  # the simulation of the drive that was recorded
        own = _own(each.recorded)
        again = predict(each.recorded.signature, own, own.capacity_bytes)
        checks.append(Check(each.run, each.recorded.settled, again))
    wal = largest.signature.wal_blocks * _BLOCK_BYTES * parts[0].times
    share = (wal if asked.wal_bytes is None else min(wal, asked.wal_bytes)) / asked.capacity_bytes
    return Predicted(
        largest.place, largest.kind, stored, ratio, tuple(drives), tuple(bases), alone, share, tuple(checks)
    )


def _point(times: float, each: Sequence[Prediction], spread: tuple[float, int]) -> Point | None:
    """The mean of one run's recordings, with the error of the simulations and, where it is known, that between them.

    The error is infinite where that of one simulation is not known.
    """
    values = [log(found.write_amplification) for found in each if found.write_amplification]
    ends = [log(high / low) for found in each if found.interval for low, high in (found.interval,)]
    if len(values) < len(each):
        return None
    if len(ends) < len(each):
        return Point(times, fmean(values), inf, len(each))
    variance, freedom = spread
    if len(each) < 2:
        return Point(times, values[0], ends[0] / 2 / _NORMAL, _MANY)
    error = sqrt((fmean(ends) / 2 / _NORMAL) ** 2 / len(each) + variance / len(each))
    return Point(times, fmean(values), error, freedom + 1)


def _own(each: Recorded) -> Target:
    own = int(each.capacity_bytes)
    share = 1 / each.compression_ratio if each.kind == COMPRESSING else 1.0
    live = each.live_share * own
    return Target(each.kind, own, each.over_provisioning, live, 1.0, share, each.pages_per_block)


def recorded(run: Run) -> list[Recorded]:
    """Every treatment whose drive was aged and whose space was measured."""
    trials: dict[Place, list[TrialRecord]] = {}
    for trial in run.trials:
        if trial.status is Status.VALID:
            trials.setdefault(trial.place, []).append(trial)
    found = {place: each for place, mine in trials.items() if (each := _one(run, place, mine)) is not None}
    # All levels of a trial but which drives it had: the same are the same load.
    loads = {
        place: {name: level.canonical for name, level in trials[place][0].levels.items() if not name.startswith(_DRIVE)}
        for place in found
    }
    recordings = []
    for place, each in found.items():
        if each.kind == COMPRESSING:
            recordings.append(each)
        else:  # it stores every block whole, so the recordings of its load on all drives stand for it, its own first
            others = (one.recordings for at, one in found.items() if at != place and loads[at] == loads[place])
            recordings.append(replace(each, recordings=tuple(chain(each.recordings, *others))))
    return recordings


def _one(run: Run, place: Place, trials: Sequence[TrialRecord]) -> Recorded | None:
    """None for a treatment whose drive was not aged, or whose space was not measured."""
    regime = trials[0].regime
    files = [run.trial_directory(trial.number) / f"{_SOURCE}.{SIGNATURE}{SUFFIX}" for trial in trials]
    capacity, spare = (regime.get(f"{_SOURCE}.{name}") for name in ("capacity_bytes", "over_provisioning"))
    superblock = regime.get(f"{_SOURCE}.superblock_bytes")
    settled = regime.get(f"{_SOURCE}.settled_write_amplification")
    ratios = [value for trial in trials if (value := trial.responses.get(RATIO)) is not None]
    sized = any(trial.responses.get(DATABASE) is not None for trial in trials)
    if not run.disk.exists(files[0]) or not isinstance(capacity, int | float) or not isinstance(spare, int | float):
        return None
    if not ratios or not sized:
        return None
    level = trials[0].levels.get(_LIVE_SHARE)
    texts = dict.fromkeys(run.disk.read(file).decode() for file in files if run.disk.exists(file))
    signatures = tuple(WriteSignature.from_text(text) for text in texts)
    return Recorded(
        place,
        signatures[0],
        signatures,
        str(regime.get(f"{_SOURCE}.model", "")),
        float(capacity),
        float(spare),
        int(superblock) // _BLOCK_BYTES if isinstance(superblock, int | float) else None,
        float(level.canonical) if level is not None else DriveOptions().live_share,
        settled if isinstance(settled, float) else None,
        median(ratios),
    )
