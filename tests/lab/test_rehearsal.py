"""A rehearsal leaves the snapshot for the run and nothing else, however it ends."""

from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.bench.server import Server
from pgassay.lab.arms import ResolvedArm, resolve
from pgassay.lab.rehearsal import rehearse
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
    return resolve(simulation.study, replace(simulation.site(), socket_directory=tmp_path / "sockets")).arms[0]


def test_the_server_has_the_settings_that_are_wanted(machine: Machine, arm: ResolvedArm) -> None:
    def work(server: Server) -> str:
        return machine.installation.servers[-1].settings["work_mem"]

    assert rehearse(arm, {"work_mem": "64MB"}, work) == "64MB"
    assert arm.drive.has_snapshot(arm.snapshot_key), "the run starts from it"
    assert machine.left_behind() == []


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
