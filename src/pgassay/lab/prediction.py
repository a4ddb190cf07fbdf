"""What a run's loads become on other drives: from each treatment's write signature to drives of any size.

Emulated drives that were aged have recorded how their load writes (`drive.write_signature`). With `times` more data it
is simulated on a drive of another capacity and over-provisioning. The same simulation of the recorded drive itself is
set beside what that drive settled at when it was aged, which no part of the prediction has seen: that is its error.
From runs at several scales space, compression and write amplification are led to the real size (`lab.extrapolation`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from math import exp, inf, log, sqrt
from statistics import fmean, median

from pgassay.analysis.scale_law import Point
from pgassay.bench.write_signature import SIGNATURE, SUFFIX, WriteSignature
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
from pgassay.lab.extrapolation import (
    DATABASE,
    RATIO,
    Basis,
    Figure,
    Space,
    amplification,
    compression,
    physical,
    space_of,
)
from pgassay.record.reading import Run
from pgassay.record.values import TrialRecord
from pgassay.study.levels import Place
from pgassay.study.responses import Status

_SOURCE = "drive"
_LIVE_SHARE = "drive.live_share"
_DRIVE = "drive.data"
_BLOCK_BYTES = 4096
_APART = 1.1
"""Runs whose data differ by less than this tell nothing of other sizes."""
_NORMAL, _MANY = 1.96, 1000
"""A simulation's interval in standard errors, and the degrees of freedom that it stands for."""


@dataclass(frozen=True)
class Asked:
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
    database_bytes: float
    compression_ratio: float


@dataclass(frozen=True)
class _Part:
    """What one run has of one treatment: its recording, its space, and how many times more data are asked about."""

    run: str
    recorded: Recorded
    space: Space
    times: float


def predictions(runs: Sequence[Run], asked: Asked) -> Iterator[Predicted]:
    """Of each treatment whose drive was aged in every run; takes seconds each.

    Runs are of one study, at several scales; which of them has how much data is told by the baseline's. Conditions are
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
        _check_sizes(part, asked)
    found = {name: [_simulated(part, asked) for part in mine] for name, mine in asked_about.items()}
    by_run = zip(zip(*asked_about.values(), strict=True), zip(*found.values(), strict=True), strict=True)
    spreads = [_spreads(of_run, simulated) for of_run, simulated in by_run]
    for name, mine in asked_about.items():
        yield _predicted(mine, found[name], spreads, asked)


def _parts(run: Run, asked: Asked) -> Mapping[tuple[str, int], _Part]:
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


def _target(each: Recorded, asked: Asked, spare: float, stored_bytes: float, compressed: float, times: float) -> Target:
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


def _targets(part: _Part, asked: Asked) -> Sequence[Target]:
    """The drives that are asked about, with all of the run's fixed costs so many times."""
    stored, compressed = part.space.physical.value * asked.data_bytes, exp(part.space.compression.value)
    return [_target(part.recorded, asked, spare, stored, compressed, part.times) for spare in asked.over_provisioning]


def _check_sizes(part: _Part, asked: Asked) -> None:
    """Refuse what is too large before the first minute of simulations, the recorded drive included."""
    for target in _targets(part, asked):
        for each in part.recorded.recordings:
            loads_side_by_side(each, target, asked.simulated_bytes)
    own = _own(part.recorded)
    loads_side_by_side(part.recorded.signature, own, own.capacity_bytes)


def _simulated(part: _Part, asked: Asked) -> _Simulated:
    """What each recording of one run makes of each drive."""
    return [
        [predict(each, target, asked.simulated_bytes) for each in part.recorded.recordings]
        for target in _targets(part, asked)
    ]


def _spreads(parts: Sequence[_Part], treatments: Sequence[_Simulated]) -> Sequence[tuple[float, int]]:
    """By over-provisioning: the variance between recordings of one treatment, and its degrees of freedom.

    Of the logarithms, over all treatments of a run together: each has few recordings. Those that treatments share count
    once.
    """
    found = []
    for of_drive in zip(*treatments, strict=True):
        groups = _apart([_by_recording(part, one) for part, one in zip(parts, of_drive, strict=True)])
        freedom = sum(len(group) - 1 for group in groups)
        squares = sum((each - fmean(group)) ** 2 for group in groups for each in group)
        found.append((squares / freedom if freedom else 0.0, freedom))
    return found


def _by_recording(part: _Part, found: Sequence[Prediction]) -> Mapping[int, float]:
    """Logarithms of what was simulated, by the identity of each recording; without those that ran out of space."""
    both = zip(part.recorded.recordings, found, strict=True)
    return {id(of): log(each.write_amplification) for of, each in both if each.write_amplification}


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
    asked: Asked,
) -> Predicted:
    """From one run, or several, that with the most data first."""
    largest = parts[0].recorded
    stored = physical([each.space.physical for each in parts]).times(asked.data_bytes)
    ratio = compression([each.space.compression for each in parts])
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
        figure = amplification(known)
        settled = all(found.settled for each in simulated for found in each[number])
        drives.append(Prediction(target, figure.value, figure.interval, settled))
        bases.append(figure.basis)
    alone = tuple(tuple(found.write_amplification for found in each) for each in simulated[0])
    checks = tuple(Check(each.run, each.recorded.settled, _again(each.recorded)) for each in parts)
    wal = largest.signature.wal_blocks * _BLOCK_BYTES * parts[0].times
    share = (wal if asked.wal_bytes is None else min(wal, asked.wal_bytes)) / asked.capacity_bytes
    return Predicted(largest.place, largest.kind, stored, ratio, tuple(drives), tuple(bases), alone, share, checks)


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
    """The drive that was recorded."""
    own = int(each.capacity_bytes)
    share = 1 / each.compression_ratio if each.kind == COMPRESSING else 1.0
    live = each.live_share * own
    return Target(each.kind, own, each.over_provisioning, live, 1.0, share, each.pages_per_block)


def _again(each: Recorded) -> Prediction:
    """The simulation of the drive that was recorded."""
    own = _own(each)
    return predict(each.signature, own, own.capacity_bytes)


def recorded(run: Run) -> list[Recorded]:
    """Every treatment whose drive was aged and whose space was measured."""
    trials: dict[Place, list[TrialRecord]] = {}
    for trial in run.trials:
        if trial.status is Status.VALID:
            trials.setdefault(trial.place, []).append(trial)
    found = {place: each for place, mine in trials.items() if (each := _one(run, place, mine)) is not None}
    loads = {place: _load_of(trials[place][0]) for place in found}
    return [
        replace(each, recordings=_of_any_drive(place, found, loads)) if each.kind != COMPRESSING else each
        for place, each in found.items()
    ]


def _of_any_drive(
    place: Place, found: Mapping[Place, Recorded], loads: Mapping[Place, Mapping[str, str]]
) -> tuple[WriteSignature, ...]:
    """The recordings of one load on all drives, its own first: a normal drive stores every block whole."""
    others = (each.recordings for other, each in found.items() if other != place and loads[other] == loads[place])
    return tuple(chain(found[place].recordings, *others))


def _load_of(trial: TrialRecord) -> Mapping[str, str]:
    """All levels of a trial but which drives it had: the same are the same load."""
    return {name: level.canonical for name, level in trial.levels.items() if not name.startswith(_DRIVE)}


def _one(run: Run, place: Place, trials: Sequence[TrialRecord]) -> Recorded | None:
    """None for a treatment whose drive was not aged, or whose space was not measured."""
    regime = trials[0].regime
    files = [run.trial_directory(trial.number) / f"{_SOURCE}.{SIGNATURE}{SUFFIX}" for trial in trials]
    capacity, spare = (regime.get(f"{_SOURCE}.{name}") for name in ("capacity_bytes", "over_provisioning"))
    superblock = regime.get(f"{_SOURCE}.superblock_bytes")
    settled = regime.get(f"{_SOURCE}.settled_write_amplification")
    database, ratio = (_median(trials, name) for name in (DATABASE, RATIO))
    if not run.disk.exists(files[0]) or not isinstance(capacity, int | float) or not isinstance(spare, int | float):
        return None
    if database is None or ratio is None:
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
        database,
        ratio,
    )


def _median(trials: Sequence[TrialRecord], name: str) -> float | None:
    found = [value for trial in trials if (value := trial.responses.get(name)) is not None]
    return median(found) if found else None
