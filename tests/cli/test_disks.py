"""A finished disk study is remembered for its drive, and taken along by later runs there."""

import dataclasses
from pathlib import Path

import pytest

from pgassay.cli import _runs
from pgassay.interfaces.places import Mount
from pgassay.lab import machine
from pgassay.record.reading import Run
from pgassay.report.findings import Findings
from tests.report.test_bottleneck import make_disk

MOUNT = Mount(Path("/d"), Path("/"), "ext4", "/dev/a", "rw", 1, 1, reflink=False)


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state/pgassay/disk.json"


def study(path: Path, mount: Mount | None) -> Run:
    run = make_disk(path)
    run.host["place"] = {"data_directory": "/d", **(machine.place_of(mount) if mount else {})}
    return run


def test_later_runs_on_the_drive_take_along_what_was_found(tmp_path: Path, state: Path) -> None:
    assert machine.known_disk(MOUNT) == {}
    _runs.remember(Findings(study(tmp_path / "disk", MOUNT)))
    found = machine.known_disk(MOUNT)
    assert found["per_s"] == {"reads": 9000.0, "written_bytes": 400e6, "flushes": 1000.0}
    assert found["run"] == str(tmp_path / "disk")
    assert found["at"]["reads"] == "load.pattern=random:100%, load.threads=4"
    assert machine.known_disk(dataclasses.replace(MOUNT, device="/dev/b")) == {}


def test_nothing_is_kept_of_other_drives_and_of_records_that_do_not_tell_the_place(tmp_path: Path, state: Path) -> None:
    _runs.remember(Findings(study(tmp_path / "older", None)))
    chosen = study(tmp_path / "chosen", MOUNT)
    chosen.study["fixed"] = {"drive.data": "directory:/elsewhere"}
    _runs.remember(Findings(chosen))
    assert not state.exists()
