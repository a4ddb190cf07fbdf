"""A study on a server that is not ours: what never reaches it, what it cannot have, and who disturbs a trial there."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pgassay.errors import UsageError
from pgassay.lab.arms import resolve
from pgassay.lab.attached import AsLeft, bench_of, refusals
from pgassay.lab.environment import ServerAccess
from pgassay.lab.pairing import ONE_SERVER
from pgassay.lab.pairing import refusals as no_turns
from pgassay.lab.preparation import prepare_snapshot
from pgassay.lab.settings import PREPARING, settings_of
from pgassay.lab.workbench import BenchOptions
from pgassay.report.regimes import regimes_of
from pgassay.study.responses import Status
from pgassay.testing.fakes import FakeInstallation, FakeServer
from tests.lab.machine import Machine
from tests.lab.simulation import Simulation, fake_site, study_of

ATTACHED = ServerAccess(ours=False, preparing={}, pins=lambda name: name == "max_wal_size")


def simulated(tmp_path: Path) -> Simulation:
    for folder in ("drive", "sockets"):
        (tmp_path / folder).mkdir()
    return Simulation(Machine(tmp_path / "drive"))


@pytest.mark.parametrize("attached", [False, True])
def test_what_makes_preparing_quick_is_never_set_on_a_server_that_is_not_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attached: bool
) -> None:
    simulation = simulated(tmp_path)
    monkeypatch.setattr(simulation.machine.disk, "tool_writes", lambda path, data: None)
    server = ATTACHED if attached else ServerAccess()
    environment = replace(simulation.environment(), socket_directory=tmp_path / "sockets", server=server)
    arm = resolve(simulation.study, environment).arms[0]
    assert isinstance(arm.installation, FakeInstallation)
    given: list[Mapping[str, str]] = []
    start = arm.installation.start

    def noted(directory: Path, settings: Mapping[str, str], *more: Any) -> FakeServer:
        given.append(settings)
        return start(directory, settings, *more)

    monkeypatch.setattr(arm.installation, "start", noted)
    prepare_snapshot(arm)
    assert given == [{}] if attached else given[0].items() >= {**PREPARING}.items()


def test_only_what_may_be_pinned_is(tmp_path: Path) -> None:
    study = study_of(load={"clients": "150"})
    arm = resolve(study, fake_site()).arms[0]
    assert set(settings_of(study, arm.setup)) == {
        "checkpoint_timeout", "checkpoint_warning", "max_wal_size", "max_connections",
    }  # fmt: skip
    mine = resolve(study, fake_site(server=ATTACHED)).arms[0]
    assert set(mine.settings) == {"max_wal_size"}


def test_databases_of_one_server_take_no_turns() -> None:
    assert ONE_SERVER in no_turns(resolve(study_of(), fake_site(server=ATTACHED)))
    assert ONE_SERVER not in no_turns(resolve(study_of(), fake_site()))


@pytest.mark.parametrize(
    ("fixed", "said"),
    [
        ({"host.cores": "1"}, "host.cores (its machine is not ours to change)"),
        ({"init.data_checksums": "on"}, "init.data_checksums (its cluster is made already)"),
        ({"build.block_size": "4kB"}, "build.block_size (its programs are built already)"),
        ({"postgres.version": "17"}, "postgres.version (its programs are built already)"),
        ({"drive.data": "ssd"}, "drive.data (its files are where they are)"),
        ({"load.cache": "cold"}, "load.cache=cold (the server's files are not ours)"),
        ({"load.host": "loopback"}, "load.host=loopback (its program runs on this machine)"),
        ({"load.compressibility": "on"}, "load.compressibility (the server's files are not ours)"),
    ],
)
def test_what_such_a_server_cannot_have_is_named(fixed: Mapping[str, str], said: str) -> None:
    assert list(dict.fromkeys(refusals(resolve(study_of(fixed=fixed), fake_site(server=ATTACHED))))) == [said]


def test_a_copy_of_the_users_own_database_and_settings_are_no_hindrance() -> None:
    fixed = {"init.copy_database": "app", "server.work_mem": "8MB"}
    resolved = resolve(
        study_of(fixed=fixed), fake_site(server=replace(ATTACHED, database_bytes=lambda name: 123 << 20))
    )
    assert list(refusals(resolved)) == []
    assert {arm.setup.copied_database for arm in resolved.arms} == {"app"}
    assert resolved.arms[0].data_bytes == 123 << 20


def test_a_server_of_our_own_has_no_database_of_the_users_to_copy() -> None:
    resolved = resolve(study_of(fixed={"init.copy_database": "app"}), fake_site())
    with pytest.raises(UsageError, match=r'"init\.copy_database" cannot be "app" where the servers are pgassay'):
        assert resolved.arms[0].data_bytes


@pytest.mark.parametrize("pairing", ["sequential", "alternate"])
def test_a_trial_that_somebody_else_used_the_server_in_is_invalid_and_run_again(tmp_path: Path, pairing: str) -> None:
    simulation = replace(simulated(tmp_path), events={}, study=study_of(design={"pairing": pairing, "slice": "1s"}))
    said = iter(["before the first window", "the server had other clients: pid 7"])
    environment = simulation.environment

    def visited() -> Any:
        return replace(environment(), server=ServerAccess(visitors=lambda: next(said, "")))

    simulation.environment = visited  # type: ignore[method-assign]
    simulation.carry_on()
    first, *rest = simulation.run.trials
    assert (first.status, [each.code for each in first.reasons]) == (Status.INVALID, ["other_clients"])
    assert "pid 7" in first.reasons[0].detail
    assert not any(each.code == "other_clients" for trial in rest for each in trial.reasons)


@pytest.mark.parametrize("checkpoints", [True, False])
def test_a_window_that_no_checkpoint_began_is_not_called_the_burst_after_one(tmp_path: Path, checkpoints: bool) -> None:
    simulation = replace(simulated(tmp_path), events={})
    environment = simulation.environment
    simulation.environment = lambda: replace(environment(), server=ServerAccess(checkpoints=checkpoints))  # type: ignore[method-assign]
    simulation.carry_on()
    said = " ".join(regimes_of(simulation.run.trials))
    assert ("burst after a checkpoint" in said or "could not be read" in said) == checkpoints
    assert ("anywhere in a checkpoint cycle" in said) != checkpoints


def test_the_page_cache_of_that_server_is_left_alone(tmp_path: Path) -> None:
    assert AsLeft().make_cold(tmp_path) == "left as it was"
    assert "CREATE DATABASE" in AsLeft().make_warm(tmp_path)


def test_owning_nothing_is_a_mistake() -> None:
    with pytest.raises(UsageError, match="--i-own names nothing"):
        bench_of(BenchOptions(owns_server=True))
