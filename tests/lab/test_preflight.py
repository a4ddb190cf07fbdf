"""What is refused before anything runs, and that nothing is started or written for it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pgassay.drive.options import WAL_KEPT_BYTES
from pgassay.errors import PgassayError, UsageError
from pgassay.host import cpus
from pgassay.interfaces.errors import Missing, SettingError
from pgassay.interfaces.load import Driver, LoadOptions
from pgassay.lab import host_stage
from pgassay.lab.arms import WAL_BYTES, WAL_WRITTEN_BYTES_PER_S_MAX, WRITTEN_BYTES_PER_S_MAX, ResolvedArm, resolve
from pgassay.lab.environment import ServerAccess
from pgassay.lab.preflight import check
from pgassay.lab.settings import settings_of
from pgassay.load import drivers
from pgassay.load.fio import FioOptions
from pgassay.load.pgbench.options import PgbenchOptions
from pgassay.load.sysbench import SysbenchOptions
from tests.fakes.drive import FakeDrive
from tests.lab.simulation import Simulation, simulate, study_of

SCALE_BYTES = 16_000_000


@pytest.fixture
def simulation(place: Path) -> Simulation:
    return simulate(place, events={})


def refused(simulation: Simulation, **changes: dict[str, Any]) -> PgassayError:
    with pytest.raises(PgassayError) as caught:
        check(resolve(study_of(**changes), simulation.environment()))
    assert simulation.machine.left_behind() == []
    assert simulation.machine.moments == []
    return caught.value


def test_what_is_in_order_passes_and_says_what_it_needs(simulation: Simulation) -> None:
    checked = check(simulation.resolved())
    assert [room.snapshots for room in checked.rooms] == [3]
    each = [SCALE_BYTES, SCALE_BYTES * 100 // 90, SCALE_BYTES * 2]
    assert checked.rooms[0].needed_bytes == sum(each) + max(each) + WAL_BYTES
    assert simulation.machine.moments == []


def test_a_snapshot_that_is_there_needs_no_room_again(simulation: Simulation) -> None:
    simulation.carry_on()
    assert check(simulation.resolved()).rooms[0].needed_bytes == SCALE_BYTES * 2 + WAL_BYTES


def test_what_each_trial_makes_for_itself_needs_no_room_in_snapshots(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk study of a file of 50 GB once asked for 101 GB."""
    whole = check(simulation.resolved()).rooms[0].needed_bytes
    monkeypatch.setattr(PgbenchOptions, "trial_bytes", SCALE_BYTES)
    each = [SCALE_BYTES, SCALE_BYTES * 100 // 90, SCALE_BYTES * 2]
    assert check(simulation.resolved()).rooms[0].needed_bytes == whole - sum(each)
    assert FioOptions(file_bytes=1 << 30).trial_bytes == 1 << 30


def test_a_drive_that_keeps_its_snapshots_outside_needs_room_for_one_cluster(simulation: Simulation) -> None:
    resolved = resolve(study_of(fixed={"drive.data": "csd"}), simulation.environment())
    admitted = (256 << 20) * 5 // 4 + (64 << 20)  # max_wal_size while a snapshot is made, which is the larger
    assert check(resolved).rooms[0].needed_bytes == SCALE_BYTES * 2 + admitted


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("scale", "did you mean load.scale?"),
        ("fillfactor", "did you mean index.fillfactor or table.fillfactor?"),
        ("cores", "did you mean host.cores or load.cores?"),
        ("shared_bufers", "SHOW ALL lists the settings"),
    ],
)
def test_a_name_of_another_room_that_is_taken_for_a_setting_is_recognised(
    simulation: Simulation, name: str, meant: str
) -> None:
    error = refused(simulation, fixed={f"server.{name}": "2"})
    assert error.message == f'PostgreSQL has no setting "{name}"'
    assert error.hint == meant


def test_an_unknown_response_is_named_with_the_near_one(simulation: Simulation) -> None:
    error = refused(simulation, responses={"primary": "hot_shares"})
    assert isinstance(error, UsageError)
    assert (error.message, error.hint) == ('the response "hot_shares" is not measured', 'did you mean "hot_share"?')
    assert "tps" in str(refused(simulation, responses={"secondary": ["zzz"]}).hint)


def test_every_arms_settings_are_checked_not_just_the_first(simulation: Simulation) -> None:
    error = refused(
        simulation, factors={"server.work_mem": ["4MB", "refuse me"]}, design={"baseline": {"server.work_mem": "4MB"}}
    )
    assert isinstance(error, SettingError)
    assert "work_mem" in error.message
    assert "no_such" in refused(simulation, fixed={"server.no_such": "1"}).message


class OtherOptions(LoadOptions):
    """No options but those of every load."""

    driver = "other"


def test_an_option_of_another_driver_is_refused_and_says_whose_it_is(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Driver(OtherOptions, drivers.find("pgbench").make, "")
    monkeypatch.setattr(drivers, "BUILT_IN", (other, drivers.find("pgbench")))
    with pytest.raises(UsageError, match=r'"load\.scale" is not an option of the load "other", but of pgbench'):
        drivers.options_of({"driver": "other", "duration": "60s", "scale": "1"})
    assert "load.scale" in refused(simulation, load={"driver": "other", "scale": "1"}).message


def test_a_missing_script_is_refused(simulation: Simulation) -> None:
    assert "/no/such.sql" in refused(simulation, load={"script": "/no/such.sql"}).message


def test_too_little_disk_is_refused_with_both_sizes(simulation: Simulation) -> None:
    machine = simulation.machine
    mount = replace(machine.drive.mount(), free_bytes=WAL_BYTES)
    machine.drive.mount = lambda: mount  # type: ignore[method-assign]
    error = refused(simulation)
    assert "free" in error.message
    assert "needs about" in error.message
    assert "--data-dir" in str(error.hint)


@pytest.mark.parametrize(
    ("kind", "apart", "named"),
    [("directory:/a", False, True), ("device:/dev/sdx", False, True), ("directory:/a", True, False),
     ("csd", False, False), ("image", False, False), ("databases", False, False)],
)  # fmt: skip
def test_the_hint_names_another_place_for_snapshots_where_they_lie_on_the_measured_drive(
    simulation: Simulation, kind: str, apart: bool, named: bool
) -> None:
    """Who had terabytes to prepare was told to make the data smaller."""
    drive = simulation.machine.drive
    mount = replace(drive.mount(), free_bytes=1)
    drive.mount = lambda: mount  # type: ignore[method-assign]
    on_server = kind == "databases"
    if on_server:
        drive.kind = kind
    if apart:
        drive.snapshots_on = replace(mount, path=Path("/kept"), mount_point=Path("/kept"), free_bytes=1 << 40)
    fixed = {} if on_server else {"drive.data": kind}
    assert ("--snapshots-in DIR" in str(refused(simulation, fixed=fixed).hint)) == named


def test_each_drive_needs_room_for_what_lies_on_it(simulation: Simulation) -> None:
    """The data of both drives were once asked for on the first."""
    places = {"directory:/a": FakeDrive(Path("/a")), "directory:/b": FakeDrive(Path("/b"))}
    study = study_of(factors={"drive.data": list(places)}, design={"baseline": {"drive.data": "directory:/a"}})
    environment = replace(simulation.environment(), drive=lambda wanted, needs: places[str(wanted.data.place)])
    first, second = check(resolve(study, environment)).rooms
    assert (first.mount.path, second.mount.path) == (Path("/a"), Path("/b"))
    assert first.needed_bytes == second.needed_bytes == SCALE_BYTES * 2 + WAL_BYTES
    places["directory:/b"]._free_bytes = WAL_BYTES
    with pytest.raises(PgassayError, match='"/b" has 1GB free'):
        check(resolve(study, environment))


def test_snapshots_in_a_place_of_their_own_need_their_room_there(simulation: Simulation) -> None:
    store = replace(simulation.machine.drive.mount(), path=Path("/kept"), mount_point=Path("/kept"))
    places = {"directory:/a": FakeDrive(Path("/a")), "directory:/b": FakeDrive(Path("/b"))}
    for drive in places.values():
        drive.snapshots_on = store
    factors = {"drive.data": list(places), "table.fillfactor": ["100", "50"]}
    study = study_of(factors=factors, design={"baseline": {"drive.data": "directory:/a", "table.fillfactor": "100"}})
    environment = replace(simulation.environment(), drive=lambda wanted, needs: places[str(wanted.data.place)])
    first, second, kept = check(resolve(study, environment)).rooms
    assert first.needed_bytes == second.needed_bytes == SCALE_BYTES * 2 + WAL_BYTES, "one clone, the largest"
    assert (kept.mount.path, kept.needed_bytes, kept.snapshots) == (Path("/kept"), 2 * SCALE_BYTES * 3, 4)
    assert (first.snapshots, second.snapshots) == (0, 0)
    for drive in places.values():
        drive.snapshots_on = replace(store, free_bytes=WAL_BYTES // 100)
    with pytest.raises(PgassayError, match='"/kept" has'):
        check(resolve(study, environment))


@pytest.mark.parametrize(
    ("load", "fixed", "wal_bytes"),
    [
        ({"checkpoint": "none"}, {}, WAL_WRITTEN_BYTES_PER_S_MAX * 9),  # eight seconds and one of warm-up
        ({"checkpoint": "cycle", "duration": "10min"}, {}, (20 << 30) + (64 << 20)),
        ({"duration": "10min"}, {"server.max_wal_size": "4GB"}, (5 << 30) + (64 << 20)),
        ({"duration": "10min"}, {"server.max_wal_size": "4096"}, (5 << 30) + (64 << 20)),
        ({"checkpoint": "none", "transactions": "1000"}, {}, (20 << 30) + (64 << 20)),
        ({"checkpoint": "wal", "duration": "10min"}, {}, WAL_BYTES),
        ({"checkpoint": "cycle", "duration": "10min", "script": "select-only"}, {}, WAL_BYTES),
        ({"checkpoint": "cycle", "duration": "1s", "warmup": "0s"}, {}, WAL_BYTES),
    ],
)
def test_a_directory_needs_room_for_the_wal_that_its_settings_admit(
    simulation: Simulation, load: dict[str, str], fixed: dict[str, str], wal_bytes: int
) -> None:
    """Checkpoints by time come with max_wal_size = 16GB; a plan once had 1 GB for all of it."""
    design = {"baseline": {"server.work_mem": "4MB"}}
    study = study_of(load=load, fixed=fixed, factors={"server.work_mem": ["4MB", "8MB"]}, design=design)
    assert check(resolve(study, simulation.environment())).rooms[0].needed_bytes == 2 * SCALE_BYTES + wal_bytes


def test_wal_that_only_the_fastest_load_writes_is_remarked_and_not_refused(simulation: Simulation) -> None:
    """A minute by time alone asks for 15 GB of WAL, which few loads write, and many machines have not free."""
    mount = simulation.machine.drive.mount()
    study = study_of(load={"checkpoint": "none"})
    needed = check(resolve(study, simulation.environment())).rooms[0].needed_bytes
    simulation.machine.drive.mount = lambda: replace(mount, free_bytes=needed)  # type: ignore[method-assign]
    assert check(resolve(study, simulation.environment())).tight == ()
    simulation.machine.drive.mount = lambda: replace(mount, free_bytes=needed - 1)  # type: ignore[method-assign]
    (room,) = check(resolve(study, simulation.environment())).tight
    least = needed - WAL_WRITTEN_BYTES_PER_S_MAX * 9 + WAL_BYTES
    assert (room.needed_bytes, room.least_bytes) == (needed, least)
    simulation.machine.drive.mount = lambda: replace(mount, free_bytes=least - 1)  # type: ignore[method-assign]
    with pytest.raises(PgassayError, match="this study needs about"):
        check(resolve(study, simulation.environment()))


@pytest.mark.parametrize("reflink", [True, False])
def test_a_clone_that_shares_its_blocks_needs_room_for_what_its_trial_can_write(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch, reflink: bool
) -> None:
    data = 10 * WRITTEN_BYTES_PER_S_MAX * 9  # of eight seconds and one of warm-up
    monkeypatch.setattr(ResolvedArm, "data_bytes", data)
    drive = FakeDrive(free_bytes=1 << 60, reflink=reflink)
    environment = replace(simulation.environment(), drive=lambda wanted, needs: drive)
    (room,) = check(resolve(study_of(), environment)).rooms
    assert room.needed_bytes == 3 * data + (data // 10 if reflink else data) + WAL_BYTES
    counted = study_of(load={"transactions": "1000"})
    assert check(resolve(counted, environment)).rooms[0].needed_bytes == 4 * data + WAL_BYTES, (
        "nobody knows how long it takes"
    )


def test_a_plan_names_all_that_the_machine_lacks_and_goes_on(simulation: Simulation) -> None:
    """A plan once stopped at the first of it, so nobody learned what a published study takes."""

    def no_program(driver: str) -> None:
        raise UsageError(f"{driver} is not installed")

    mount = replace(simulation.machine.drive.mount(), free_bytes=WAL_BYTES)
    simulation.machine.drive.mount = lambda: mount  # type: ignore[method-assign]
    environment = replace(simulation.environment(), memory_bytes=16 << 30, require_program=no_program)
    study = study_of(fixed={"server.shared_buffers": "64GB"})
    missing = Missing(planned=True)
    checked = check(resolve(study, replace(environment, missing=missing)))
    assert checked.rooms[0].needed_bytes > WAL_BYTES
    for said in ("pgbench is not installed", "server.shared_buffers = 64GB does not fit", "has 1GB free"):
        assert sum(said in each for each in missing.messages) == 1, said
    with pytest.raises(UsageError, match="pgbench is not installed"):
        check(resolve(study, environment))


def test_a_plan_still_refuses_what_no_machine_could_run(simulation: Simulation) -> None:
    planned = replace(simulation.environment(), missing=Missing(planned=True))
    with pytest.raises(PgassayError, match="no_such"):
        check(resolve(study_of(fixed={"server.no_such": "1"}), planned))


def test_wal_on_a_drive_of_its_own_needs_no_room_beside_the_data(simulation: Simulation) -> None:
    """A drive that is sized for its data alone was once too small for the plan."""
    beside, apart = FakeDrive(Path("/a")), FakeDrive(Path("/b"))
    study = study_of(
        factors={"drive.wal": ["beside", "directory:/wal"]},
        fixed={"drive.data": "directory:/data"},
        design={"baseline": {"drive.wal": "beside"}},
    )
    environment = replace(simulation.environment(), drive=lambda wanted, needs: beside if wanted.wal is None else apart)
    with_wal, without = check(resolve(study, environment)).rooms
    assert (with_wal.needed_bytes, without.needed_bytes) == (SCALE_BYTES * 2 + WAL_BYTES, SCALE_BYTES * 2)


def test_a_real_drive_of_the_wal_needs_room_for_it(simulation: Simulation) -> None:
    """A small one once failed within the trials."""
    data, wal = FakeDrive(Path("/a")), FakeDrive(Path("/b"))
    data.wal_on = wal
    study = study_of(fixed={"drive.data": "directory:/a", "drive.wal": "directory:/b"})
    environment = replace(simulation.environment(), drive=lambda wanted, needs: data)
    admitted = (256 << 20) * 5 // 4 + (64 << 20)  # max_wal_size while a snapshot is made, which is the larger
    on_data, on_wal = check(resolve(study, environment)).rooms
    assert (on_wal.mount.path, on_wal.needed_bytes) == (Path("/b"), admitted + 3 * WAL_KEPT_BYTES)
    assert (on_data.snapshots, on_wal.snapshots) == (3, 0), "a snapshot is one, whatever it lies on"
    wal.snapshots_on = replace(wal.mount(), mount_point=Path("/kept"))
    assert [room.needed_bytes for room in check(resolve(study, environment)).rooms[1:]] == [
        admitted,
        3 * WAL_KEPT_BYTES,
    ]
    data.snapshots_on = wal.snapshots_on
    together = check(resolve(study, environment)).rooms[2]
    wal.snapshots_on = None
    of_data = check(resolve(study, environment)).rooms[2]
    assert together.needed_bytes == of_data.needed_bytes + 3 * WAL_KEPT_BYTES
    assert together.snapshots == of_data.snapshots == 3
    data.snapshots_on, wal.snapshots_on = None, together.mount
    wal._free_bytes = admitted - 1
    with pytest.raises(PgassayError, match='"/b" has'):
        check(resolve(study, environment))


@pytest.mark.parametrize("kind", ["image", "csd"])
def test_a_drive_of_the_wal_that_is_made_for_the_study_is_as_large_as_it_says(
    simulation: Simulation, kind: str
) -> None:
    data, wal = FakeDrive(Path("/a")), FakeDrive(Path("/b"), free_bytes=1)
    data.wal_on = wal
    environment = replace(simulation.environment(), drive=lambda wanted, needs: data)
    study = study_of(fixed={"drive.data": "directory:/a", "drive.wal": kind})
    assert len(check(resolve(study, environment)).rooms) == 1


def test_data_and_wal_on_one_file_system_need_their_room_together(simulation: Simulation) -> None:
    data, wal = FakeDrive(Path("/a")), FakeDrive(Path("/a"))
    study = study_of(fixed={"drive.data": "directory:/a", "drive.wal": "directory:/a"})
    environment = replace(simulation.environment(), drive=lambda wanted, needs: data)
    (alone,) = check(resolve(study, environment)).rooms
    data.wal_on = wal
    (both,) = check(resolve(study, environment)).rooms
    assert both.needed_bytes == alone.needed_bytes + (256 << 20) * 5 // 4 + (64 << 20) + 3 * WAL_KEPT_BYTES
    assert both.snapshots == 3


def test_connections_for_every_thread_are_made_or_refused(simulation: Simulation) -> None:
    many = {"driver": "pgbench", "clients": "200"}
    error = refused(simulation, load=many, fixed={"server.max_connections": "150"})
    assert "200 connections" in error.message
    assert "205" in str(error.hint)
    check(resolve(study_of(load=many), simulation.environment()))


def test_a_server_has_room_for_the_loads_connections(simulation: Simulation) -> None:
    setup = simulation.resolved().arms[0].setup
    for load in (PgbenchOptions(clients=128), SysbenchOptions(threads=128)):
        assert settings_of(simulation.study, replace(setup, load=load))["max_connections"] == "148"
    for load in (PgbenchOptions(clients=16), SysbenchOptions(threads=16)):
        assert "max_connections" not in settings_of(simulation.study, replace(setup, load=load))
    assert "max_connections" not in settings_of(simulation.study, replace(setup, load=FioOptions(threads=128))), (
        "it opens none"
    )


REST = {"cores": "rest"}


def test_a_load_on_the_rest_of_the_cpus_is_refused_where_no_server_leaves_any(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every trial would end without a value, which the dry run did not say."""
    monkeypatch.setattr(cpus, "usable", lambda: frozenset({0, 1}))
    for fixed in ({}, {"host.cores": "all"}):
        error = refused(simulation, load=REST, fixed=fixed)
        assert isinstance(error, UsageError)
        assert '"load.cores" = rest' in error.message
        assert "--set host.cores=1" in str(error.hint)
    two = {"load.cores": ["rest", "all"]}
    assert '"load.cores" = rest' in refused(simulation, factors=two, design={"baseline": {"load.cores": "all"}}).message
    planned = replace(simulation.environment(), missing=Missing(planned=True))
    with pytest.raises(UsageError, match='"load\\.cores" = rest'):
        check(resolve(study_of(load=REST), planned))


def test_one_server_that_leaves_a_cpu_suffices_and_a_server_of_the_users_own_may(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpus, "usable", lambda: frozenset({0, 1}))
    factors, design = {"host.cores": ["all", "1"]}, {"baseline": {"host.cores": "1"}}
    check(resolve(study_of(load=REST, factors=factors, design=design), simulation.environment()))
    host_stage.require_rest(
        resolve(study_of(load=REST), replace(simulation.environment(), server=ServerAccess(ours=False))).arms
    )


def test_a_plan_names_that_a_larger_machine_would_leave_the_load_some_cpus(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpus, "usable", lambda: frozenset({0, 1}))
    assert "all 2 of this machine" in refused(simulation, load=REST, fixed={"host.cores": "2"}).message
    missing = Missing(planned=True)
    study = study_of(load=REST, fixed={"host.cores": "2"})
    check(resolve(study, replace(simulation.environment(), missing=missing)))
    assert sum("all 2 of this machine" in each for each in missing.messages) == 1
    monkeypatch.setattr(cpus, "usable", lambda: frozenset({0, 1, 2}))
    check(resolve(study, simulation.environment()))
