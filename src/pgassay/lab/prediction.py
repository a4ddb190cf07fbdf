"""What a run's loads become on other drives: from each treatment's write signature to drives of any size.

Emulated drives that were aged have recorded how their load writes (`drive.write_signature`). With `times` more data it
is simulated on a drive of another capacity and over-provisioning. The same simulation of the recorded drive itself is
set beside what that drive settled at when it was aged, which no part of the prediction has seen: that is its error.
From runs at several scales space, compression and write amplification are led to the real size (`lab.extrapolation`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from statistics import median

from pgassay.analysis.scale_law import Point
from pgassay.bench.write_signature import SIGNATURE, SUFFIX, WriteSignature
from pgassay.drive.options import DriveOptions
from pgassay.flash import messages
from pgassay.flash.prediction import COMPRESSING, SIMULATED_BYTES, Prediction, Target, predict
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
from pgassay.study.parsing import parse_recorded
from pgassay.study.responses import Status

_SOURCE = "drive"
_LIVE_SHARE = "drive.live_share"
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

    `bases` say of each drive how its write amplification was led to the real size. The place is that of the run with
    the most data.
    """

    place: Place
    kind: str
    physical: Figure
    compression: Figure
    drives: tuple[Prediction, ...]
    bases: tuple[Basis, ...]
    checks: tuple[Check, ...]


@dataclass(frozen=True)
class Recorded:
    """One treatment of the run, by medians over its valid trials."""

    place: Place
    signature: WriteSignature
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
    where no treatment was aged in all of them, or where all have the same size.
    """
    parts = [_parts(run, asked) for run in runs]
    if any(not each for each in parts):
        raise messages.nothing_to_predict(next(run.path for run, each in zip(runs, parts, strict=True) if not each))
    names = [name for name in parts[0] if all(name in each for each in parts)]
    if not names:
        raise messages.no_treatment_in_common()
    for name in names:
        mine = sorted((each[name] for each in parts), key=lambda part: part.times)
        if len(mine) > 1 and mine[-1].times < _APART * mine[0].times:
            raise messages.runs_of_one_size()
        yield _predicted(mine, asked)


def _parts(run: Run, asked: Asked) -> Mapping[tuple[str, int], _Part]:
    """By treatment and the place of its condition in the study."""
    study = parse_recorded(run.header.study, run.study)
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


def _predicted(parts: Sequence[_Part], asked: Asked) -> Predicted:
    """From one run, or several, that with the most data first."""
    largest = parts[0].recorded
    stored = physical([each.space.physical for each in parts]).times(asked.data_bytes)
    ratio = compression([each.space.compression for each in parts])
    superblock = None if asked.superblock_bytes is None else asked.superblock_bytes // _BLOCK_BYTES

    def target(spare: float, stored_bytes: float, compressed: float, times: float) -> Target:
        live = max(stored_bytes * compressed, (asked.live_share or 0.0) * asked.capacity_bytes)
        share = 1 / compressed if largest.kind == COMPRESSING else 1.0
        return Target(largest.kind, asked.capacity_bytes, spare, live, times, share, superblock, asked.rated_cycles)

    drives, bases = [], []
    for spare in asked.over_provisioning:
        each = []
        for part in parts:  # with all its fixed costs, so many times: the law leads from there
            own = part.space.physical.value * asked.data_bytes
            there = target(spare, own, exp(part.space.compression.value), part.times)
            each.append(predict(part.recorded.signature, there, asked.simulated_bytes))
        drive, basis = _together(target(spare, stored.value, ratio.value, parts[0].times), each, parts)
        drives.append(drive)
        bases.append(basis)
    checks = tuple(Check(each.run, each.recorded.settled, _again(each.recorded)) for each in parts)
    return Predicted(largest.place, largest.kind, stored, ratio, tuple(drives), tuple(bases), checks)


def _together(target: Target, each: Sequence[Prediction], parts: Sequence[_Part]) -> tuple[Prediction, Basis]:
    """What the simulations of several runs lead to: none where one of them runs out of space."""
    if len(each) == 1:
        return each[0], Basis.LINEAR
    points = []
    for found, part in zip(each, parts, strict=True):
        if found.write_amplification is None or found.interval is None:
            return Prediction(target, None, None, settled=False), Basis.LAW
        low, high = found.interval
        error = log(high / low) / 2 / _NORMAL
        points.append(Point(part.times, log(found.write_amplification), error, _MANY))
    figure = amplification(points)
    settled = all(found.settled for found in each)
    return Prediction(target, figure.value, figure.interval, settled), figure.basis


def _again(each: Recorded) -> Prediction:
    """The simulation of the drive that was recorded."""
    own = int(each.capacity_bytes)
    share = 1 / each.compression_ratio if each.kind == COMPRESSING else 1.0
    live = each.live_share * own
    target = Target(each.kind, own, each.over_provisioning, live, 1.0, share, each.pages_per_block)
    return predict(each.signature, target, own)


def recorded(run: Run) -> list[Recorded]:
    """Every treatment whose drive was aged and whose space was measured."""
    trials: dict[Place, list[TrialRecord]] = {}
    for trial in run.trials:
        if trial.status is Status.VALID:
            trials.setdefault(trial.place, []).append(trial)
    found = (_one(run, place, mine) for place, mine in trials.items())
    return [each for each in found if each is not None]


def _one(run: Run, place: Place, trials: Sequence[TrialRecord]) -> Recorded | None:
    """None for a treatment whose drive was not aged, or whose space was not measured."""
    regime = trials[0].regime
    file = run.trial_directory(trials[0].number) / f"{_SOURCE}.{SIGNATURE}{SUFFIX}"
    capacity, spare = (regime.get(f"{_SOURCE}.{name}") for name in ("capacity_bytes", "over_provisioning"))
    superblock = regime.get(f"{_SOURCE}.superblock_bytes")
    settled = regime.get(f"{_SOURCE}.settled_write_amplification")
    database, ratio = (_median(trials, name) for name in (DATABASE, RATIO))
    if not run.disk.exists(file) or not isinstance(capacity, int | float) or not isinstance(spare, int | float):
        return None
    if database is None or ratio is None:
        return None
    level = trials[0].levels.get(_LIVE_SHARE)
    return Recorded(
        place,
        WriteSignature.from_text(run.disk.read(file).decode()),
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
