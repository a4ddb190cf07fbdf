"""The user's file of calibrations: what is found for which load, what replaces what, what a damaged file means."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.record.calibrations import (
    FILE,
    TURNS,
    Calibration,
    Known,
    NoiseRecord,
    Setting,
    TurnsRecord,
    nearest,
    read,
    read_from_run,
    remember,
    user_file,
    worst_clock,
    write_to_run,
)
from pgassay.record.errors import RecordError
from tests.fakes.disk import FakeDisk

HOME = Path("/house/ann")
HERE = Setting("host", "ext4", "/dev/a", "15", {"driver": "pgbench", "script": "simple-update", "clients": "4"})
NOISE = {"tps": NoiseRecord(0.02, 0.015, None, 0.01, 0.01, 0.015, 0.001)}


def _calibration(setting: Setting = HERE, when: str = "2026-01-02T00:00:00Z") -> Calibration:
    return Calibration(when, setting, 3, 8, 2, 15.0, 12.0, NOISE)


def _with_load(**load: str) -> Setting:
    return replace(HERE, load={**HERE.load, **load})


def test_what_is_remembered_is_read_again_and_replaced_by_a_later_one() -> None:
    disk = FakeDisk()
    disk.make_root(HOME)
    path = user_file({}, HOME)
    assert path == HOME / ".local/state/pgassay/calibration.json"
    for new in (_calibration(), _calibration(_with_load(clients="8")), _calibration(when="2026-02-02T00:00:00Z")):
        remember(disk, path, new)
    known = read(disk, path)
    assert [each.measured_utc[:7] for each in known.calibrations] == ["2026-01", "2026-02"]
    assert nearest(known.calibrations, HERE) == _calibration(when="2026-02-02T00:00:00Z")
    write_to_run(disk, HOME, _calibration())
    assert disk.exists(HOME / FILE)


def test_the_nearest_load_is_taken_and_its_differences_told() -> None:
    far, near = _calibration(_with_load(clients="8", scale="9")), _calibration(_with_load(clients="8"))
    assert nearest((far, near), HERE) == near
    assert near.setting.differences(HERE) == ("clients=8",)
    assert HERE.differences(replace(HERE, postgres="18")) == ("postgres=15",)
    assert Setting("", "", "", "15", {}).differences(_with_load())[0] == "clients=default"


@pytest.mark.parametrize(
    "other",
    [
        replace(HERE, host="else"),
        replace(HERE, filesystem="xfs"),
        replace(HERE, device="/dev/b"),
        _with_load(script="select-only"),
        _with_load(driver="sysbench"),
    ],
)
def test_another_place_or_script_says_nothing(other: Setting) -> None:
    assert nearest([_calibration(other)], HERE) is None


@pytest.mark.parametrize("text", [b"", b"\xff", b"[]", b'{"calibrations": [{}]}', b'{"calibrations": [], "format": 2}'])
def test_a_file_that_cannot_be_read_is_as_good_as_none(text: bytes) -> None:
    disk = FakeDisk()
    disk.make_root(HOME)
    assert read(disk, HOME / "none") == Known()
    disk.tool_writes(HOME / "bad", text)
    assert read(disk, HOME / "bad") == Known()


def test_xdg_is_followed_and_a_relative_one_is_not() -> None:
    assert user_file({"XDG_STATE_HOME": "/state"}, HOME) == Path("/state/pgassay/calibration.json")
    assert user_file({"XDG_STATE_HOME": "state"}, HOME).is_relative_to(HOME)


def test_a_full_disk_keeps_the_old_file() -> None:
    disk = FakeDisk()
    disk.make_root(HOME)
    path = HOME / "calibration.json"
    remember(disk, path, _calibration())
    disk.full_from = len(disk.steps) + 1
    with pytest.raises(RecordError):
        remember(disk, path, _calibration(_with_load(clients="8")))
    assert read(disk, path).calibrations == (_calibration(),)


IN_TURNS = TurnsRecord(0.014, 0.01, 0.03, 0.1, 0.01, 0.04, 16.0, 5, 1.0)


def test_what_turns_came_to_is_kept_and_an_older_file_has_none() -> None:
    disk = FakeDisk()
    disk.make_root(HOME)
    new = replace(_calibration(), turns={TURNS: IN_TURNS}, refused={"turns-realtime": "not permitted"}, pending=())
    write_to_run(disk, HOME, new)
    assert read_from_run(disk, HOME) == new
    remember(disk, user_file({}, HOME), new)
    assert read(disk, user_file({}, HOME)).calibrations == (new,)
    written = json.loads(disk.read(HOME / FILE))
    older = {name: value for name, value in written.items() if name not in ("turns", "refused", "pending")}
    disk.make_root(HOME / "older")
    disk.tool_writes(HOME / "older" / FILE, json.dumps(older).encode())
    found = read_from_run(disk, HOME / "older")
    assert found is not None
    assert (dict(found.turns), dict(found.refused), found.pending) == ({}, {}, ())


@pytest.mark.parametrize("damage", [b"", b"{", b'{"turns": 1}', b"\xff\xfe"])
def test_a_damaged_file_beside_a_run_counts_as_missing(damage: bytes) -> None:
    disk = FakeDisk()
    disk.make_root(HOME)
    assert read_from_run(disk, HOME) is None
    disk.tool_writes(HOME / FILE, damage)
    assert read_from_run(disk, HOME) is None


def test_more_rounds_average_slices_out_and_leave_what_belongs_to_a_start() -> None:
    assert IN_TURNS.noise_with(16) == pytest.approx((0.01**2 + 0.04**2 / 16) ** 0.5)
    assert IN_TURNS.noise_with(10**6) == pytest.approx(0.01, rel=1e-3)


def test_the_worst_clock_of_a_place_is_known_with_its_day() -> None:
    place = replace(HERE, postgres="", load={})
    worse = replace(_calibration(when="2026-02-02T00:00:00Z"), impossible_latency_share=0.02)
    better = replace(_calibration(_with_load(clients="8")), impossible_latency_share=0.0)
    assert worst_clock([better, worse, _calibration()], place) == (0.02, "2026-02-02")
    assert worst_clock([better], place) == (0.0, "2026-01-02")
    assert worst_clock([_calibration()], place) == (None, ""), "it was not counted"
    assert worst_clock([worse], replace(place, device="/dev/b")) == (None, "")
