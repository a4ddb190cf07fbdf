"""An arm is resolved once: its setup, the key of its snapshot, what it needs of a drive, how often data are read."""

import hashlib
from pathlib import Path

import pytest

from pgassay.drive.options import DriveOptions
from pgassay.interfaces.factor import Stage
from pgassay.interfaces.load import FileHashes, Load, LoadOptions, Tools
from pgassay.interfaces.places import Version
from pgassay.interfaces.server import Installation
from pgassay.lab.arms import ResolvedStudy, page_overhead, resolve
from pgassay.lab.catalogue import every_factor
from pgassay.load import drivers
from pgassay.study.parsing import parse
from pgassay.testing.fakes import FakeClock, FakeInstallation
from tests.fakes.runner import FakeRunner
from tests.lab.machine import Machine
from tests.lab.simulation import DOCUMENT, Simulation, arm_with, fake_site, study_of


def test_every_level_reaches_the_room_that_it_is_for() -> None:
    arm = arm_with(server__work_mem="8MB", load__clients="4", init__wal_segment_size="64MB", table__fillfactor="90")
    assert arm.setup.settings == {"work_mem": "8MB"}
    assert arm.setup.load.to_levels()["clients"] == "4"
    assert arm.setup.load.connections == 4
    assert arm.setup.init_options == {"wal_segment_size": "64MB"}
    stages = [bound.factor.stage for bound in arm.bound]
    assert stages == sorted(stages, key=list(Stage).index), "in the order in which they are applied"
    assert [bound.name for bound in arm.at(Stage.DATA)] == ["table.fillfactor"]


def test_data_take_more_room_by_the_fillfactor_of_every_table_and_not_by_that_of_one() -> None:
    full = arm_with(load__scale="1").data_bytes
    assert arm_with(load__scale="1", table__fillfactor="50").data_bytes == pytest.approx(2 * full, abs=2)
    assert arm_with(load__scale="1", table__pgbench_history__fillfactor="50").data_bytes == full


def test_arms_that_differ_in_the_server_alone_share_a_snapshot() -> None:
    base = arm_with(server__work_mem="4MB", load__clients="1").snapshot_key
    assert arm_with(server__work_mem="8MB", load__clients="64").snapshot_key == base


@pytest.mark.parametrize(
    "other", [{"table__fillfactor": "90"}, {"load__scale": "2"}, {"init__data_checksums": "on"}, {"load__age": "2x"}]
)
def test_whatever_is_baked_into_the_data_makes_another_snapshot(other: dict[str, str]) -> None:
    usual = {"table__fillfactor": "100", "load__scale": "1", "init__data_checksums": "off", "load__age": "none"}
    assert arm_with(**usual).snapshot_key != arm_with(**{**usual, **other}).snapshot_key


def test_another_postgresql_makes_another_snapshot() -> None:
    older = FakeInstallation(Version(16, 1, "postgres (PostgreSQL) 16.1 (fake)"))
    arm = arm_with(load__scale="1")
    other = resolve(arm.study, fake_site(installation=lambda version, build: older)).arms[0]
    assert arm.snapshot_key != other.snapshot_key


def test_levels_typed_differently_but_equal_share_a_snapshot() -> None:
    assert (
        arm_with(init__wal_segment_size="16MB").snapshot_key == arm_with(init__wal_segment_size="16384kB").snapshot_key
    )


def test_the_place_of_a_script_is_no_part_of_the_data(tmp_path: Path) -> None:
    script = tmp_path / "a.sql"
    script.write_text("SELECT 1;\n")
    assert arm_with(load__script=str(script)).snapshot_key == arm_with(load__script="select-only").snapshot_key


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The name of each file whose contents are hashed, in order."""
    seen: list[str] = []
    plain = hashlib.file_digest

    def counting(file: object, digest: str) -> object:
        seen.append(Path(file.name).name)  # type: ignore[attr-defined]
        return plain(file, digest)  # type: ignore[arg-type]

    monkeypatch.setattr(hashlib, "file_digest", counting)
    return seen


def resolved_with(init: Path) -> ResolvedStudy:
    """Three fillfactors on the user's own data, as a workbench resolves them: a load for each arm, hashes for all."""
    hashes = FileHashes()

    def load(options: LoadOptions, installation: Installation) -> Load:
        return drivers.make(options, Tools(installation.bindir, FakeRunner(), FakeClock(), hashes))

    study = study_of(load={"init": str(init), "script": "simple-update"})
    return resolve(study, fake_site(load=load))


def test_the_users_data_are_read_once_whatever_asks_for_a_snapshot(tmp_path: Path, reads: list[str]) -> None:
    init = tmp_path / "data.sql"
    init.write_text("CREATE TABLE a ();\n")
    resolved = resolved_with(init)
    first = [arm.snapshot_key for arm in resolved.arms]
    assert len(set(first)) == 3
    assert [arm.snapshot_key for arm in resolved.arms] == first
    resolved.needs(DriveOptions())
    assert reads == ["data.sql"], "the next trial goes by size, time and inode"


def test_data_that_changed_during_a_run_are_noticed(tmp_path: Path, reads: list[str]) -> None:
    init = tmp_path / "data.sql"
    init.write_text("CREATE TABLE a ();\n")
    arm = resolved_with(init).arms[0]
    before = arm.snapshot_key
    init.write_text("CREATE TABLE ab ();\n")
    assert arm.snapshot_key != before, "another size"
    replaced = tmp_path / "new.sql"
    replaced.write_text("CREATE TABLE a ();\n")
    replaced.rename(init)
    assert arm.snapshot_key == before, "the same contents again, in another file"
    assert len(reads) == 3


def test_each_drive_keeps_its_own_snapshots_and_all_have_one_size(tmp_path: Path) -> None:
    document = {
        **DOCUMENT,
        "factors": {"drive.data": ["image", "directory"], "table.fillfactor": ["100", "50"]},
        "conditions": {"load.scale": ["1", "3"]},
        "load": {"driver": "pgbench"},
        "design": {**DOCUMENT["design"], "baseline": {"drive.data": "image", "table.fillfactor": "100"}},
    }
    study = parse("simulated", document, every_factor())
    resolved = Simulation(Machine(tmp_path), study).resolved()
    found = [resolved.needs(arm.setup.drive) for arm in resolved.arms]
    assert len(set(found)) == 1, "both drives are alike"
    needs = found[0]
    assert needs.snapshots == 4, "two fillfactors at two scales, not those of the other drive too"
    assert needs.data_bytes < needs.kept_bytes < needs.snapshots * needs.data_bytes, "small ones count as small"


def test_small_pages_need_more_room() -> None:
    """Measured at scale 10: 177.4 MB on 1 kB pages, 166.6 MB on 8 kB pages, so at least 6.5 % more."""
    assert page_overhead(8192) == 1.0
    assert page_overhead(32768) == 1.0, "never promised to be less"
    one, two, four = (page_overhead(size * 1024) for size in (1, 2, 4))
    assert 1.065 < one < 1.2
    assert one > two > four > 1.0
