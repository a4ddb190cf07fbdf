"""How long a run will take, for its plan: load, the other steps of each trial, and snapshots that are missing.

The rates are means over runs on one quiet machine (two cores, ext4, clones copied, PostgreSQL 15 with pages of 2 to
8 kB, pgbench at scales 20 and 100); other drives differ, so a plan says "about". A run measures its own trials:
its decisions go by those alone (see `decisions`).
"""

from dataclasses import dataclass
from pathlib import Path

from pgassay.bench.load import LoadOptions
from pgassay.drive.block.device import size_bytes
from pgassay.drive.options import OneDrive
from pgassay.lab.arms import ResolvedStudy
from pgassay.load import drivers
from pgassay.study.drives import DriveKind
from pgassay.study.levels import Arm
from pgassay.study.model import Study

TRIAL_S = 0.4
"""A server's start and end, and two readings of every probe."""
STATE_S_PER_GB = 3.2
"""Cloning the data, bringing them into the caches, and removing them."""
UPKEEP_S_PER_GB = 4.1
"""CHECKPOINT and VACUUM of every page, where `load.maintenance` asks for them."""
LAYOUT_S_PER_GB = 2.6
"""Writing the file that a load makes for itself in each clone (fio's), with an fsync at its end: the mean of three
files of 1 GB on a busy machine, which took 1 to 5 s."""
PREPARATION_S = 0.5
"""initdb, start and end."""
PREPARATION_S_PER_GB = 7.4
"""Filling, keys, VACUUM and writing it all to the drive; ageing is not in it."""

OVERHEAD_S = 2.0
"""What decisions assume that a trial takes beside its load until one has been measured. The hashes of decisions depend
on it, so it must not change while there are records; plans show what `forecast` finds instead."""

DURATION_S = 60.0
"""The assumed length of a window whose load ends when its work is done."""

_GB = 1e9


def planned_s(study: Study) -> float:
    """The length of a trial that decisions assume before one has been measured: the mean over the arms, in seconds."""
    return sum(planned_trial_s(study, arm) for arm in study.arms) / len(study.arms)


def load_s(study: Study) -> float:
    """Warm-up and window of a trial: the mean over the arms, in seconds."""
    return sum(_load_s(study, arm) for arm in study.arms) / len(study.arms)


def window_s(study: Study) -> float:
    """The measured window of a trial: the mean over the arms, in seconds."""
    lengths = [_options_of(study, arm).duration_s for arm in study.arms]
    return sum(DURATION_S if each is None else each for each in lengths) / len(lengths)


def length_known(study: Study) -> bool:
    """Does the study say how long its trials take? Not where an arm counts transactions instead of time."""
    return all(_options_of(study, arm).timed_s is not None for arm in study.arms)


def _options_of(study: Study, arm: Arm) -> LoadOptions:
    """What an arm asks of its load, where no site is at hand to resolve the arm for."""
    levels = study.levels_of(arm).items()
    return drivers.options_of(
        {name.removeprefix("load."): level.canonical for name, level in levels if name.startswith("load.")}
    )


def planned_trial_s(study: Study, arm: Arm) -> float:
    """The length of a trial of this arm that decisions assume before one has been measured, in seconds."""
    return _load_s(study, arm) + OVERHEAD_S


def _load_s(study: Study, arm: Arm) -> float:
    options = _options_of(study, arm)
    # A default warm-up is left out, as in the decisions of the records that there are.
    warmup_s = options.warmup_s if "load.warmup" in study.levels_of(arm) else 0
    return (DURATION_S if options.duration_s is None else options.duration_s) + warmup_s


@dataclass(frozen=True)
class Forecast:
    """Seconds: of load in a trial, all that a trial takes, and of that the layout of the load's own file (means over
    the arms); of making the missing snapshots and of ageing the drives, once. `layout_bytes`: the largest such file.
    """

    load_s: float
    trial_s: float
    layout_s: float
    layout_bytes: int
    preparation_s: float
    ageing_s: float


@dataclass(frozen=True)
class Overwriting:
    """A device of so many bytes that is written over so many times before its first trial; how long that takes depends
    on the device, so no time is forecast."""

    device: str
    drive_writes: int
    size_bytes: int


def overwritings(resolved: ResolvedStudy) -> tuple[Overwriting, ...]:
    """Every device that the study writes over first, once each. Raises `DriveError` where one cannot be opened."""
    found: dict[Path, OneDrive] = {}
    for arm in resolved.arms:
        for each in arm.setup.drive.drives:
            if each.kind is DriveKind.DEVICE and each.path is not None and each.precondition:
                found.setdefault(each.path.resolve(), each)
    return tuple(Overwriting(str(each.path), each.precondition, size_bytes(path)) for path, each in found.items())


def forecast(resolved: ResolvedStudy) -> Forecast:
    """How long a study will take; where arms count transactions `load_s` is a guess (see `length_known`)."""
    beside_s = layout_s = 0.0
    preparing: dict[str, float] = {}
    for arm in resolved.arms:
        rate = STATE_S_PER_GB + (UPKEEP_S_PER_GB if arm.setup.load.maintenance else 0.0)
        layout_s += LAYOUT_S_PER_GB * arm.laid_out_bytes / _GB
        beside_s += TRIAL_S + rate * arm.kept_bytes / _GB
        key = arm.snapshot_key
        if key not in preparing:
            there = arm.drive.has_snapshot(key)
            preparing[key] = 0.0 if there else PREPARATION_S + PREPARATION_S_PER_GB * arm.kept_bytes / _GB
    loaded_s = load_s(resolved.study)
    arms = len(resolved.arms)
    return Forecast(
        load_s=loaded_s,
        trial_s=loaded_s + (beside_s + layout_s) / arms,
        layout_s=layout_s / arms,
        layout_bytes=max(arm.laid_out_bytes for arm in resolved.arms),
        preparation_s=sum(preparing.values()),
        ageing_s=_ageing_s(resolved),
    )


def _ageing_s(resolved: ResolvedStudy) -> float:
    """Ageing the study's drives: the load runs once for each snapshot, as in a trial."""
    planned: dict[str, float] = {}
    for arm in resolved.arms:
        if arm.drive.ageing() is not None:
            planned.setdefault(arm.snapshot_key, planned_trial_s(resolved.study, arm.arm))
    return sum(planned.values())
