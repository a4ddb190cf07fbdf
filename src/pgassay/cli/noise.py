"""This machine's noise for a study that is about to run, from the calibrations that the user has made here."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pgassay.bench.places import Mount
from pgassay.host.identity import host_id
from pgassay.lab.composition import Composition, compose
from pgassay.lab.site import Site
from pgassay.record import calibrations
from pgassay.record.calibrations import Calibration, NoiseRecord, Setting
from pgassay.record.disk import RealDisk
from pgassay.study.model import Study


@dataclass(frozen=True)
class KnownNoise:
    """The largest noise among a study's arms, the calibration that it is from, and how its load differs."""

    noise: NoiseRecord
    calibration: Calibration
    differences: tuple[str, ...]

    @property
    def source(self) -> str:
        """In words: `calibrated 2026-01-02, this load`."""
        load = f"with {', '.join(self.differences)}" if self.differences else "this load"
        return f"calibrated {self.calibration.measured_utc[:10]}, {load}"


def setting_of(composition: Composition, site: Site, mount: Mount) -> Setting:
    """What a calibration of this composition holds for."""
    installation = site.installation(composition.setup.installation)
    load = {name: value for name, value in composition.setup.load.items() if name != "keep_log"}
    return Setting(host_id(), mount.filesystem, mount.device, str(installation.version.major), load)


def known_noise(study: Study, site: Site, mount: Mount) -> KnownNoise | None:
    """None where nothing alike was calibrated for one of the arms, or not for the primary response."""
    found: list[KnownNoise] = []
    for nearest, differences in _nearest(study, site, mount):
        noise = nearest.noise.get(study.primary) if nearest else None
        if nearest is None or noise is None:
            return None
        found.append(KnownNoise(noise, nearest, differences))
    return max(found, key=lambda each: each.noise.noise)


def known_trial_s(study: Study, site: Site, mount: Mount) -> float | None:
    """How long a trial took on average where this very load was calibrated; None unless it was for every arm."""
    lengths = []
    for nearest, differences in _nearest(study, site, mount):
        if nearest is None or differences:
            return None
        lengths.append(nearest.trial_s)
    return sum(lengths) / len(lengths)


def _nearest(study: Study, site: Site, mount: Mount) -> Iterator[tuple[Calibration | None, tuple[str, ...]]]:
    """For each arm the calibration that fits best, and how its load differs."""
    known = calibrations.read(site.disk, user_file())
    for arm in study.arms:
        setting = setting_of(compose(study.levels_of(arm), site.catalogue), site, mount)
        nearest = known.nearest(setting)
        yield nearest, nearest.setting.differences(setting) if nearest else ()


def known_capacities(mount: Mount) -> dict[str, str | float]:
    """What the drive can do, from the last calibration of this place; empty without one."""
    place = Setting(host_id(), mount.filesystem, mount.device, "", {})
    return calibrations.capacities_of(calibrations.read(RealDisk(), user_file()).calibrations, place)


def user_file() -> Path:
    """The user's file of calibrations."""
    return calibrations.user_file(os.environ, Path.home())
