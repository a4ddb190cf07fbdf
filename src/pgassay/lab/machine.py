"""What is known of this machine before a run begins: its noise, the length of trials and the capacities of its drives.

It comes from calibrations, disk studies and runs that the user has made here, kept in small files of the user's
(`record.calibrations`, `record.known`).

The rates of a forecast are means over runs on one quiet machine (two cores, ext4, clones copied, PostgreSQL 15 with
pages of 2 to 8 kB, pgbench at scales 20 and 100); other machines and drives differ, so a plan multiplies them by what
past runs took here (`known_pace`). A run measures its own trials: its decisions go by those alone (see `decisions`).
"""

import os
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, TypeVar

from pgassay.design.schedule import rounds_of
from pgassay.errors import PgassayError
from pgassay.host.facts import host_id
from pgassay.interfaces.load import LoadOptions
from pgassay.interfaces.places import Mount
from pgassay.lab.alternation import CONNECTION_S
from pgassay.lab.arms import ResolvedArm, ResolvedStudy
from pgassay.load import drivers
from pgassay.record import calibrations, formats, known
from pgassay.record.calibrations import TURNS, Calibration, NoiseRecord, Setting, TurnsRecord
from pgassay.record.disk import RealDisk
from pgassay.record.known import Kind, Lengths, Pace
from pgassay.record.values import TrialRecord
from pgassay.study.model import ALTERNATE, Study
from pgassay.study.responses import Status

TRIAL_S = 0.4
"""A server's start and end, and two readings of every probe."""
STATE_S_PER_GB = 3.2
"""Cloning the data, bringing them into the caches, and removing them."""
UPKEEP_S_PER_GB = 4.1
"""CHECKPOINT and VACUUM of every page, where `load.maintenance` asks for them."""
LAYOUT_S_PER_GB = 2.6
"""Writing the file that a load makes for itself in each clone (fio's), with an fsync at its end: the mean of three
files of 1 GB on a busy machine, which took 1 to 5 s."""
TURN_S = 0.2
"""What a server's turn takes besides its slice: lead-in, last transactions, standing still, the metronome (two cores,
three servers, 64 s of turns)."""
PREPARATION_S = 0.5
"""initdb, start and end."""
PREPARATION_S_PER_GB = 7.4
"""Filling, keys, VACUUM and writing it all to the drive; ageing is not in it."""

OVERHEAD_S = 2.0
"""What decisions assume that a trial takes besides its load until one has been measured. The hashes of decisions depend
on it, so it must not change while there are records; plans show what `forecast` finds instead."""

DURATION_S = 60.0
"""The assumed length of a window whose load ends when its work is done."""

_GB = 1e9


def planned_s(study: Study) -> float:
    """The length of a trial that decisions assume before one has been measured: the mean over the arms, in seconds."""
    lengths = []
    for arm in study.arms:
        levels = study.levels_of(arm)
        load = {name.removeprefix("load."): each.canonical for name, each in levels.items() if name.startswith("load.")}
        lengths.append(planned_trial_s(drivers.options_of(load), levels))
    return sum(lengths) / len(lengths)


def window_s(loads: Sequence[LoadOptions]) -> float:
    """The measured window of a trial: the mean over the arms' loads, in seconds."""
    return sum(map(_duration_s, loads)) / len(loads)


def length_known(loads: Iterable[LoadOptions]) -> bool:
    """Do the arms' loads say how long trials take? Not where one counts transactions instead of time."""
    return all(each.timed_s is not None for each in loads)


def planned_trial_s(options: LoadOptions, levels: Container[str]) -> float:
    """The length of a trial with these levels that decisions assume before one has been measured, in seconds."""
    # A default warm-up is left out, as in the decisions of the records that there are.
    warmup_s = options.warmup_s if "load.warmup" in levels else 0
    return _duration_s(options) + warmup_s + OVERHEAD_S


@dataclass(frozen=True)
class Forecast:
    """Seconds: of load in a trial, all that a trial takes, and of that the layout of the load's own file (means over
    the arms); of making the missing snapshots and of ageing the drives, once. `layout_bytes`: the largest
    such file. `paced_by`: of so many past runs here.
    """

    load_s: float
    trial_s: float
    layout_s: float
    layout_bytes: int
    preparation_s: float
    ageing_s: float
    paced_by: int


def forecast(resolved: ResolvedStudy, pace: Pace | None = None) -> Forecast:
    """How long a study will take at this pace; where arms count transactions `load_s` is a guess (see `length_known`).

    Whether servers take turns must be decided by then.
    """
    pace = pace or Pace()
    arms = len(resolved.arms)
    loaded_s = sum(map(_loaded_s, resolved.arms)) / arms
    preparing: dict[str, float] = {}
    for arm in resolved.arms:
        key = arm.snapshot_key
        if key not in preparing:
            preparing[key] = 0.0 if arm.drive.has_snapshot(key) else _preparing_s(arm)
    aged: dict[str, float] = {}  # ageing the drives: the load runs once for each snapshot, as in a trial
    for arm in resolved.arms:
        if arm.drive.ageing() is not None:
            length_s = planned_trial_s(arm.setup.load, resolved.study.levels_of(arm.arm))
            aged.setdefault(arm.snapshot_key, length_s)
    return Forecast(
        load_s=loaded_s,
        trial_s=loaded_s + pace.trial * sum(map(_overhead_s, resolved.arms)) / arms,
        layout_s=pace.trial * sum(map(_layout_s, resolved.arms)) / arms,
        layout_bytes=max(arm.setup.load.laid_out_bytes for arm in resolved.arms),
        preparation_s=pace.preparation * sum(preparing.values()),
        ageing_s=sum(aged.values()),
        paced_by=pace.runs,
    )


def times_expected(
    resolved: ResolvedStudy, trials: Sequence[TrialRecord], preparing_s: Mapping[str, float]
) -> tuple[float, float | None] | None:
    """How many times as long as expected these trials took besides their load, and making snapshots (None: none were
    made), of which `preparing_s` has the seconds by key.

    None where trials do not tell: those of loads that end when their work is done.
    """
    by_name = {arm.arm.name: arm for arm in resolved.arms}
    whole = [each for each in trials if each.status is not Status.OUTCOME and each.arm in by_name]
    expected_s = sum(_overhead_s(by_name[each.arm]) for each in whole)
    took_s = sum(each.length_s - _loaded_s(by_name[each.arm]) for each in whole)
    if not length_known(arm.setup.load for arm in resolved.arms) or expected_s <= 0.0 or took_s <= 0.0:
        return None
    by_key = {arm.snapshot_key: arm for arm in resolved.arms if arm.drive.ageing() is None}
    made = by_key.keys() & preparing_s.keys()
    asked_s = sum(_preparing_s(by_key[key]) for key in made)
    return took_s / expected_s, sum(preparing_s[key] for key in made) / asked_s if made else None


def _loaded_s(arm: ResolvedArm) -> float:
    return _duration_s(arm.setup.load) + arm.setup.load.warmup_s


def _duration_s(options: LoadOptions) -> float:
    return DURATION_S if options.duration_s is None else options.duration_s


def _overhead_s(arm: ResolvedArm) -> float:
    rate = STATE_S_PER_GB + (UPKEEP_S_PER_GB if arm.setup.load.maintenance else 0.0)
    design, turns_s = arm.study.design, 0.0
    if design.pairing == ALTERNATE:
        rounds = rounds_of(arm.setup.load.duration_s or DURATION_S, design.slice_s)
        turns_s = CONNECTION_S + TURN_S * rounds
    return TRIAL_S + rate * arm.kept_bytes / _GB + _layout_s(arm) + turns_s


def _layout_s(arm: ResolvedArm) -> float:
    return LAYOUT_S_PER_GB * arm.setup.load.laid_out_bytes / _GB


def _preparing_s(arm: ResolvedArm) -> float:
    return PREPARATION_S + PREPARATION_S_PER_GB * arm.kept_bytes / _GB


TPS = "tps"
"""The response whose noise in turns a calibration measures."""


Found = TypeVar("Found")


@dataclass(frozen=True)
class Calibrated(Generic[Found]):
    """What a calibration found for the noisiest of a study's arms, and which: `calibrated 2026-01-02, this load`."""

    found: Found
    source: str


def setting_of(arm: ResolvedArm, mount: Mount) -> Setting:
    major = arm.installation.version.major
    return Setting(host_id(), mount.filesystem, mount.device, str(major), _whole_load(arm.setup.load))


def _whole_load(options: LoadOptions) -> dict[str, str]:
    """Every option that may change what a run yields; pgbench's log is only kept."""
    levels = {"driver": options.driver, **options.to_levels()}
    return {name: text for name, text in levels.items() if name != "keep_log"}


def _with_whole_load(calibration: Calibration) -> Calibration:
    """With the defaults that an older version left out; as it is where this version does not know its load."""
    try:
        load = _whole_load(drivers.options_of(calibration.setting.load))
    except PgassayError:
        return calibration
    return replace(calibration, setting=replace(calibration.setting, load=load))


Nearest = Sequence[tuple[Calibration | None, tuple[str, ...]]]
"""For each arm the calibration that fits best, and how its load differs."""


def nearest_calibrations(resolved: ResolvedStudy, mount: Mount) -> Nearest:
    here = [_with_whole_load(each) for each in calibrations.read(resolved.environment.disk, user_file()).calibrations]
    settings = [setting_of(arm, mount) for arm in resolved.arms]
    found = [(calibrations.nearest(here, each), each) for each in settings]
    return [(nearest, nearest.setting.differences(each) if nearest else ()) for nearest, each in found]


def known_noise(primary: str, nearest: Nearest) -> Calibrated[NoiseRecord] | None:
    """None where nothing alike was calibrated for one of the arms, or not for the primary response."""
    found: list[Calibrated[NoiseRecord]] = []
    for each, differences in nearest:
        noise = each.noise.get(primary) if each else None
        if each is None or noise is None:
            return None
        found.append(Calibrated(noise, _source(each, differences)))
    return max(found, key=lambda each: each.found.noise)


def _source(calibration: Calibration, differences: Sequence[str]) -> str:
    load = f"with {', '.join(differences)}" if differences else "this load"
    return f"calibrated {calibration.measured_utc[:10]}, {load}"


def known_turns(primary: str, nearest: Nearest) -> Calibrated[TurnsRecord] | None:
    """What equal servers in turns came to; None unless it was measured for all arms, and only `tps` was."""
    measured = [(each, differ) for each, differ in nearest if each and TURNS in each.turns] if primary == TPS else []
    mine = [Calibrated(each.turns[TURNS], _source(each, differ)) for each, differ in measured]
    return max(mine, key=lambda each: each.found.noise) if mine and len(mine) == len(nearest) else None


def known_trial_s(nearest: Nearest) -> float | None:
    """How long a trial took on average where this very load was calibrated; None unless it was for every arm."""
    lengths = [each.trial_s for each, differences in nearest if each is not None and not differences]
    return sum(lengths) / len(lengths) if len(lengths) == len(nearest) else None


def known_pace(resolved: ResolvedStudy, latest: int = known.LATEST) -> Pace:
    """How many times as long as expected trials of this kind took in the `latest` runs here."""
    lengths = formats.read_or(resolved.environment.disk, user_file(known.LENGTHS_FILE), known.KnownLengths())
    return lengths.pace(*_kind_of(resolved), latest)


def remember_lengths(resolved: ResolvedStudy, trials: Sequence[TrialRecord], preparing_s: Mapping[str, float]) -> None:
    """Keep what these trials took for later plans. No run fails for what cannot be kept."""
    if not resolved.environment.server.ours:
        return
    with suppress(PgassayError, OSError):
        found = times_expected(resolved, trials, preparing_s)
        if found is not None:
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            new = Lengths(now, *_kind_of(resolved), *found)
            known.remember_lengths(resolved.environment.disk, user_file(known.LENGTHS_FILE), new)


def _kind_of(resolved: ResolvedStudy) -> tuple[Kind, int]:
    """Of what kind its trials are, and the bytes of data of the largest."""
    first = resolved.arms[0]
    options = first.setup.load
    steps = {
        "cuts": bool(options.cuts),
        "maintenance": options.maintenance,
        "page_space": options.page_space,
        "compressibility": options.compressibility,
        "check": first.setup.drive.check,
    }
    load = "+".join((options.driver, *(name for name, asked in steps.items() if asked)))
    place = _place(first.drive.mount())
    drives = "/".join(sorted({arm.drive.kind for arm in resolved.arms}))
    kind = Kind(place, drives, resolved.study.design.pairing, load)
    return kind, max(arm.kept_bytes for arm in resolved.arms)


def known_clock(mount: Mount) -> tuple[float | None, str]:
    """The greatest share of impossible latencies that calibrations of this place counted, and when."""
    return calibrations.worst_clock(calibrations.read(RealDisk(), user_file()).calibrations, _place(mount))


def place_of(mount: Mount) -> dict[str, str]:
    """Which drive the clusters are on, as host.json has it."""
    return {"host": host_id(), "filesystem": mount.filesystem, "device": mount.device}


def _place(mount: Mount) -> Setting:
    return Setting(**place_of(mount), postgres="", load={})


def known_disk(mount: Mount) -> dict[str, Any]:
    found = formats.read_or(RealDisk(), user_file(known.DISK_FILE), known.KnownDisks()).of(_place(mount))
    return found.facts() if found is not None else {}


def user_file(name: str = calibrations.FILE) -> Path:
    return calibrations.user_file(os.environ, Path.home()).with_name(name)
