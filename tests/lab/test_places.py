"""Where prepared data are kept: a place that no drive of a study would use is refused, and not ignored."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from pgassay.errors import UsageError
from pgassay.lab.arms import ResolvedStudy, resolve
from pgassay.lab.environment import Environment, ServerAccess
from pgassay.lab.places import require_kept
from pgassay.lab.run import prepare, reopen
from pgassay.lab.workbench import BenchOptions, Workbench
from pgassay.record.directory import HOST_FILE
from pgassay.record.formats import encode
from pgassay.testing.planted import make_run
from tests.lab.simulation import fake_site, study_of

PLACE = Path("/nonexistent")


class PassedError(Exception):
    """What comes after is not reached."""


class Bench:
    """As much of a bench as is asked before the drives are."""

    def __init__(self, options: BenchOptions) -> None:
        self.options = options

    def environment(self) -> Environment:
        return fake_site()

    def require(self, resolved: ResolvedStudy) -> None: ...

    def require_room(self, missing: object) -> None:
        raise PassedError

    def missing_builds(self, requests: object) -> None: ...

    def describe(self) -> None:
        raise PassedError


def bench_with(place: Path | None) -> Workbench:
    return cast("Workbench", Bench(BenchOptions(snapshots_in=place)))


def on(drives: Mapping[str, str], environment: Environment | None = None) -> ResolvedStudy:
    fixed = {f"drive.{name}": level for name, level in drives.items()}
    return resolve(study_of(fixed=fixed), environment or fake_site())


@pytest.mark.parametrize("drives", [{"data": "image"}, {"data": "ssd"}, {"data": "csd", "wal": "image"}])
def test_a_run_refuses_a_place_in_which_none_of_its_drives_keeps_anything(drives: dict[str, str]) -> None:
    with pytest.raises(UsageError, match='kept in "/nonexistent"') as caught:
        prepare(on(drives), bench_with(PLACE))
    assert "--snapshots-in" in str(caught.value.hint)
    with pytest.raises(PassedError):
        prepare(on(drives), bench_with(None))


@pytest.mark.parametrize(
    "drives", [{}, {"data": "directory:/mnt"}, {"data": "device:/dev/vdb"}, {"data": "ssd", "wal": "directory:/mnt"}]
)
def test_one_directory_or_device_suffices(drives: dict[str, str]) -> None:
    require_kept(PLACE, on(drives))


def test_a_study_of_an_image_beside_a_directory_keeps_the_directorys_there() -> None:
    factors, design = {"drive.data": ["image", "directory"]}, {"baseline": {"drive.data": "image"}}
    require_kept(PLACE, resolve(study_of(factors=factors, design=design), fake_site()))


def test_a_server_of_the_users_own_keeps_nothing_outside_itself() -> None:
    with pytest.raises(UsageError, match="--server"):
        require_kept(PLACE, on({}, replace(fake_site(), server=ServerAccess(ours=False))))


def test_resume_refuses_a_new_place_and_goes_on_with_one_that_the_run_began_with(tmp_path: Path) -> None:
    """Older versions took it without a word."""
    run = make_run(tmp_path / "run", finished=False, fixed=["drive.data=image"])
    host = {**run.host, "place": {"snapshots_in": str(PLACE)}}
    (run.path / HOST_FILE).write_bytes(encode({"format": 1, "facts": host}))
    with pytest.raises(UsageError, match="kept in"):
        reopen(run.path, bench_with(Path("/other")))
    for place in (PLACE, None):
        with pytest.raises(PassedError):
            reopen(run.path, bench_with(place))
