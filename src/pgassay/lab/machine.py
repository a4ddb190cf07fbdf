"""What is known of this machine before a run begins: its noise, the length of trials and the capacities of its drives.

It comes from calibrations, disk studies and runs that the user has made here, kept in small files of the user's
(`record.calibrations`, `record.disk_capacities`, `record.trial_lengths`).
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pgassay.bench.load import LoadOptions
from pgassay.bench.places import Mount
from pgassay.errors import PgassayError
from pgassay.host.facts import host_id
from pgassay.lab.arms import ResolvedArm, ResolvedStudy
from pgassay.lab.forecast import times_expected
from pgassay.load import drivers
from pgassay.record import calibrations, disk_capacities, trial_lengths
from pgassay.record.calibrations import REALTIME, TURNS, WAYS, Calibration, NoiseRecord, Setting, TurnsRecord
from pgassay.record.disk import RealDisk
from pgassay.record.trial_lengths import Kind, Lengths, Pace
from pgassay.record.values import TrialRecord

SCHEDULING = "host.scheduling"
TPS = "tps"
"""The response whose noise in turns a calibration measures."""


@dataclass(frozen=True)
class KnownNoise:
    """The largest noise among a study's arms, the calibration that it is from, and how its load differs."""

    noise: NoiseRecord
    calibration: Calibration
    differences: tuple[str, ...]

    @property
    def source(self) -> str:
        """In words: `calibrated 2026-01-02, this load`."""
        return _source(self.calibration, self.differences)


def _source(calibration: Calibration, differences: Sequence[str]) -> str:
    load = f"with {', '.join(differences)}" if differences else "this load"
    return f"calibrated {calibration.measured_utc[:10]}, {load}"


def setting_of(arm: ResolvedArm, mount: Mount) -> Setting:
    """What a calibration with this arm's load holds for."""
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


def known_noise(resolved: ResolvedStudy, mount: Mount) -> KnownNoise | None:
    """None where nothing alike was calibrated for one of the arms, or not for the primary response."""
    found: list[KnownNoise] = []
    for nearest, differences in _nearest(resolved, mount):
        noise = nearest.noise.get(resolved.study.primary) if nearest else None
        if nearest is None or noise is None:
            return None
        found.append(KnownNoise(noise, nearest, differences))
    return max(found, key=lambda each: each.noise.noise)


@dataclass(frozen=True)
class KnownTurns:
    """What equal servers in turns came to where a study's load was calibrated: the noisiest of its arms."""

    turns: TurnsRecord
    calibration: Calibration
    differences: tuple[str, ...]

    @property
    def source(self) -> str:
        """In words, as that of a noise."""
        return _source(self.calibration, self.differences)


def known_turns(resolved: ResolvedStudy, mount: Mount) -> Mapping[str, KnownTurns]:
    """By way of taking turns; without those that were not measured for one of the arms. Only `tps` was."""
    if resolved.study.primary != TPS:
        return {}
    nearest = list(_nearest(resolved, mount))
    found: dict[str, KnownTurns] = {}
    for way in WAYS:
        known = [KnownTurns(each.turns[way], each, differ) for each, differ in nearest if each and way in each.turns]
        if known and len(known) == len(nearest):
            found[way] = max(known, key=lambda each: each.turns.noise)
    return found


def best_slice_s(resolved: ResolvedStudy, mount: Mount) -> float | None:
    """The length of slice that a calibration of this load found best here; None without one."""
    known = known_turns(resolved, mount)
    levels = resolved.study.fixed
    way = REALTIME if SCHEDULING in levels and levels[SCHEDULING].canonical == "realtime" else TURNS
    return known[way].turns.best_slice_s if way in known else None


def known_trial_s(resolved: ResolvedStudy, mount: Mount) -> float | None:
    """How long a trial took on average where this very load was calibrated; None unless it was for every arm."""
    lengths = []
    for nearest, differences in _nearest(resolved, mount):
        if nearest is None or differences:
            return None
        lengths.append(nearest.trial_s)
    return sum(lengths) / len(lengths)


def _nearest(resolved: ResolvedStudy, mount: Mount) -> Iterator[tuple[Calibration | None, tuple[str, ...]]]:
    """For each arm the calibration that fits best, and how its load differs."""
    known = [_with_whole_load(each) for each in calibrations.read(resolved.site.disk, user_file()).calibrations]
    for arm in resolved.arms:
        setting = setting_of(arm, mount)
        nearest = calibrations.nearest(known, setting)
        yield nearest, nearest.setting.differences(setting) if nearest else ()


def known_pace(resolved: ResolvedStudy, latest: int = trial_lengths.LATEST) -> Pace:
    """How many times as long as expected trials of this kind took in the `latest` runs here."""
    known = trial_lengths.read(resolved.site.disk, lengths_file())
    return known.pace(_kind_of(resolved), _data_bytes(resolved), latest)


def remember_lengths(resolved: ResolvedStudy, trials: Sequence[TrialRecord], preparing_s: Mapping[str, float]) -> None:
    """Keep what these trials took for later plans. No run fails for what cannot be kept."""
    if resolved.site.attached:
        return
    with suppress(PgassayError, OSError):
        found = times_expected(resolved, trials, preparing_s)
        if found is not None:
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            new = Lengths(now, _kind_of(resolved), _data_bytes(resolved), *found)
            trial_lengths.remember(resolved.site.disk, lengths_file(), new)


def _kind_of(resolved: ResolvedStudy) -> Kind:
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
    place = Setting(**place_of(first.drive.mount()), postgres="", load={})
    drives = "/".join(sorted({arm.drive.kind for arm in resolved.arms}))
    return Kind(place, drives, resolved.study.design.pairing, load)


def _data_bytes(resolved: ResolvedStudy) -> int:
    return max(arm.kept_bytes for arm in resolved.arms)


def known_capacities(mount: Mount) -> dict[str, str | float]:
    """What the drive can do, from the last calibration of this place; empty without one."""
    place = Setting(host_id(), mount.filesystem, mount.device, "", {})
    return calibrations.capacities_of(calibrations.read(RealDisk(), user_file()).calibrations, place)


def known_clock(mount: Mount) -> tuple[float | None, str]:
    """The greatest share of impossible latencies that calibrations of this place counted, and when."""
    place = Setting(**place_of(mount), postgres="", load={})
    return calibrations.worst_clock(calibrations.read(RealDisk(), user_file()).calibrations, place)


def place_of(mount: Mount) -> dict[str, str]:
    """Which drive the clusters are on, as host.json has it."""
    return {"host": host_id(), "filesystem": mount.filesystem, "device": mount.device}


def known_disk(mount: Mount) -> dict[str, Any]:
    """What the last disk study of this drive found; empty without one."""
    place = Setting(**place_of(mount), postgres="", load={})
    found = disk_capacities.read(RealDisk(), disk_file()).of(place)
    return found.facts() if found is not None else {}


def user_file() -> Path:
    """The user's file of calibrations."""
    return calibrations.user_file(os.environ, Path.home())


def disk_file() -> Path:
    """The user's file of what disk studies found."""
    return user_file().with_name(disk_capacities.FILE)


def lengths_file() -> Path:
    """The user's file of what trials took."""
    return user_file().with_name(trial_lengths.FILE)
