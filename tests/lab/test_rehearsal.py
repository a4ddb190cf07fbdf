"""A rehearsal leaves the snapshot for the run and nothing else, however it ends."""

from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.interfaces.server import Server
from pgassay.lab.arms import ResolvedArm, resolve
from pgassay.lab.preparation import rehearse, with_settings
from tests.lab.machine import Machine
from tests.lab.simulation import Simulation


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "drive").mkdir()
    (tmp_path / "sockets").mkdir()
    return Machine(tmp_path / "drive")


@pytest.fixture
def arm(machine: Machine, tmp_path: Path) -> ResolvedArm:
    simulation = Simulation(machine)
    return resolve(simulation.study, replace(simulation.environment(), socket_directory=tmp_path / "sockets")).arms[0]


def test_the_server_has_the_settings_that_are_wanted(machine: Machine, arm: ResolvedArm) -> None:
    def work(server: Server) -> str:
        return machine.installation.servers[-1].settings["work_mem"]

    assert rehearse(arm, {"work_mem": "64MB"}, work) == "64MB"
    assert arm.drive.has_snapshot(arm.snapshot_key), "the run starts from it"
    assert machine.left_behind() == []


def test_libraries_are_loaded_besides_the_arms_own() -> None:
    name = "shared_preload_libraries"
    assert with_settings({name: "auto_explain"}, {name: "pg_stat_statements"}) == {
        name: "auto_explain, pg_stat_statements"
    }
    assert with_settings({name: "", "work_mem": "4MB"}, {name: "a"}) == {name: "a", "work_mem": "4MB"}
    assert with_settings({"work_mem": "4MB"}, {"work_mem": "8MB"}) == {"work_mem": "8MB"}


def test_a_server_that_does_not_start_with_them_starts_without(machine: Machine, arm: ResolvedArm) -> None:
    def work(server: Server) -> str:
        return machine.installation.servers[-1].settings["work_mem"]

    rehearse(arm, {}, work)
    machine.installation.start_failures.append('could not access file "pg_stat_statements"')
    assert rehearse(arm, {"work_mem": "64MB"}, work) != "64MB"
    assert machine.left_behind() == []


def test_nothing_is_left_after_a_fault(machine: Machine, arm: ResolvedArm) -> None:
    def work(server: Server) -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        rehearse(arm, {}, work)
    assert arm.drive.has_snapshot(arm.snapshot_key)
    assert machine.left_behind() == []
