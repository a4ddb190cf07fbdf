"""What a plan takes from the user's calibrations: the noise of the nearest load, the length of this very one."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pgassay.bench.places import Mount
from pgassay.lab.arms import resolve
from pgassay.lab.machine import known_noise, known_trial_s, setting_of, user_file
from pgassay.lab.site import Site
from pgassay.load.pgbench.options import PgbenchOptions
from pgassay.record import calibrations
from pgassay.record.calibrations import Calibration, NoiseRecord
from pgassay.record.disk import RealDisk
from pgassay.study.model import Study
from tests.lab.machine import Machine
from tests.lab.simulation import Simulation, study_of

MOUNT = Mount(Path("/data"), Path("/"), "ext4", "/dev/sda1", "rw", 1 << 40, 1 << 39, False)
WORK: Mapping[str, Any] = {"transactions": "1000", "duration": "1s"}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return replace(Simulation(Machine(tmp_path)).site(), disk=RealDisk())


def calibrated(study: Study, site: Site, **load: str) -> None:
    """As `pgassay calibrate` of the study's load, with other options."""
    setting = setting_of(resolve(study, site).arms[0], MOUNT)
    setting = replace(setting, load={**setting.load, **load})
    noise = {"tps": NoiseRecord(0.03, 0.02, 0.05, 0.0, 0.0, 0.03)}
    found = Calibration("2026-01-02T03:04:05Z", setting, 3, 5, 2, 17.5, 12.0, 9.0, noise)
    calibrations.remember(site.disk, user_file(), found)


def test_the_length_of_equal_work_is_known_where_this_very_load_was_calibrated(site: Site) -> None:
    study = study_of(load=WORK)
    assert known_trial_s(resolve(study, site), MOUNT) is None
    calibrated(study, site)
    assert known_trial_s(resolve(study, site), MOUNT) == 17.5
    assert known_trial_s(resolve(study_of(load={**WORK, "transactions": "2000"}), site), MOUNT) is None


def test_a_calibration_that_kept_only_the_options_that_were_given_is_of_this_load_by_its_defaults(site: Site) -> None:
    study = study_of(load={**WORK, "cache": "prewarmed", "vacuum": "off"})
    whole = setting_of(resolve(study, site).arms[0], MOUNT)
    defaults = PgbenchOptions().to_levels()
    needed = ("driver", "script")
    given = {name: text for name, text in whole.load.items() if name in needed or text != defaults.get(name)}
    assert "cache" not in given
    noise = {"tps": NoiseRecord(0.03, 0.02, 0.05, 0.0, 0.0, 0.03)}
    old = Calibration("2026-01-02T03:04:05Z", replace(whole, load=given), 3, 5, 2, 17.5, 12.0, 9.0, noise)
    calibrations.remember(site.disk, user_file(), old)
    assert known_trial_s(resolve(study, site), MOUNT) == 17.5
    cold = known_noise(resolve(study_of(load={**WORK, "cache": "cold"}), site), MOUNT)
    assert cold is not None
    assert cold.differences == ("cache=prewarmed",)


def test_noise_is_taken_from_the_nearest_load_and_says_how_that_differed(site: Site) -> None:
    study = study_of(load=WORK)
    calibrated(study, site, clients="8")
    found = known_noise(resolve(study, site), MOUNT)
    assert found is not None
    assert found.noise.noise == 0.03
    assert found.source == "calibrated 2026-01-02, with clients=8"
    assert known_trial_s(resolve(study, site), MOUNT) is None
    assert known_noise(resolve(study, site), replace(MOUNT, device="/dev/sdb1")) is None
