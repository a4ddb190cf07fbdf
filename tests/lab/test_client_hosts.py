"""A host for the load's program: the server listens for it, it is asked for before a trial, and it may be lost."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from pgassay.interfaces.client import NetworkPath
from pgassay.interfaces.errors import BenchError, ClientLostError, Missing
from pgassay.interfaces.load import LoadOptions, LoadResult
from pgassay.interfaces.places import Endpoint, Listening
from pgassay.interfaces.running import Runner
from pgassay.interfaces.server import Server
from pgassay.lab import host_stage, preflight
from pgassay.lab.arms import resolve
from pgassay.lab.environment import Environment
from pgassay.lab.preparation import prepare_snapshot
from pgassay.lab.trial import Trial
from pgassay.lab.trial_state import Assignment
from pgassay.load.references import NetworkReference
from pgassay.record.values import TrialRecord
from pgassay.study.model import ALTERNATE, SEQUENTIAL, Study
from pgassay.study.responses import Status
from tests.fakes.load import BoundFakeLoad, FakeLoad
from tests.fakes.runner import FakeRunner
from tests.lab.simulation import SEED, Simulation, simulate, study_of

LISTENING = Listening("192.0.2.1", "192.0.2.2", 5433)
AWAY: Mapping[str, Mapping[str, object]] = {
    "factors": {"table.fillfactor": ["100", "90"]},
    "load": {"host": "client7"},
    "design": {"pairing": SEQUENTIAL},
}


@dataclass
class FakeClient:
    """A host that is there, or is not."""

    absent: bool = False
    asked: int = 0
    runner: Runner = field(default_factory=FakeRunner)
    listening: Listening = LISTENING
    player_host: None = None

    def require(self) -> None:
        self.asked += 1
        if self.absent:
            raise BenchError("no host client7")

    def measure(self, endpoint: Endpoint) -> NetworkPath:
        assert endpoint.network is not None
        return NetworkPath((int(endpoint.network.address == LISTENING.address) * 7000,), ())


class _LostLoad(BoundFakeLoad):
    """Its host goes while it plays."""

    def run(self, server: Server, output: Path, seed: int) -> LoadResult:
        raise ClientLostError("host client7 is gone")


def site_with(simulation: Simulation, client: FakeClient) -> Environment:
    clients = {"client7": client}
    return replace(simulation.environment(), client=clients.get, references=(NetworkReference(clients.get),))


def trial(simulation: Simulation, study: Study, environment: Environment) -> TrialRecord:
    staging = Path("/runs/away/trials/000001")
    simulation.machine.disk.make_root(staging)
    arm = resolve(study, environment).arms[0]
    prepare_snapshot(arm)
    return Trial(arm, Assignment(1, 1, 1, study.arms[0], SEED, staging)).run()[0]


def test_a_server_listens_for_the_loads_host_and_the_way_is_measured(place: Path) -> None:
    simulation, client = simulate(place, events={}), FakeClient()
    record = trial(simulation, study_of(**AWAY), site_with(simulation, client))
    assert client.asked == 1
    loading, measured = simulation.machine.installation.servers
    assert loading.listening is None, "data are loaded by the socket"
    assert measured.listening == LISTENING
    assert record.status is Status.VALID
    assert record.responses["network_round_trip_us"] == 7.0
    assert record.responses["client_clock_offset_us"] is None


def test_beside_its_load_a_server_listens_to_nobody(place: Path) -> None:
    simulation = simulate(place, events={})
    record = trial(
        simulation, study_of(factors={"table.fillfactor": ["100", "90"]}), site_with(simulation, FakeClient())
    )
    assert [each.listening for each in simulation.machine.installation.servers] == [None, None]
    assert not [name for name in record.responses if name.startswith("network")]


def test_a_trial_whose_client_is_lost_is_discarded_and_gives_everything_back(place: Path) -> None:
    simulation = simulate(place, events={})
    environment = site_with(simulation, FakeClient())

    def lost(options: LoadOptions, installation: object) -> BoundFakeLoad:
        return _LostLoad(options, FakeLoad(simulation.machine.clock))

    record = trial(simulation, study_of(**AWAY), replace(environment, load=lost))
    assert record.status is Status.INVALID
    assert [(each.code, each.detail) for each in record.reasons] == [("client_lost", "host client7 is gone")]
    assert simulation.machine.left_behind() == []


def test_servers_that_live_at_once_have_a_port_each(place: Path) -> None:
    simulation = simulate(place, study=study_of(**{**AWAY, "design": {"pairing": ALTERNATE, "slice": "1s"}}), events={})
    environment = site_with(simulation, FakeClient())
    arm = resolve(simulation.study, environment).arms[0]
    with host_stage.hosted(arm, place) as hosting:
        prepare_snapshot(arm)
        clone = arm.drive.clone(arm.snapshot_key, "trial")
        started, _ = host_stage.start(hosting, arm, clone)
        started.stop()
    assert simulation.machine.installation.servers[-1].listening == replace(LISTENING, ports=2)


def test_a_client_that_is_not_there_is_no_outcome_of_the_treatment(place: Path) -> None:
    simulation, client = simulate(place, events={}), FakeClient()
    environment = site_with(simulation, client)
    prepare_snapshot(resolve(study_of(**AWAY), environment).arms[0])
    client.absent = True
    with pytest.raises(BenchError, match="no host client7"):
        trial(simulation, study_of(**AWAY), environment)
    assert simulation.machine.left_behind() == []


def test_a_run_is_refused_without_it_and_a_plan_names_it(place: Path) -> None:
    simulation = simulate(place, events={})
    environment = site_with(simulation, FakeClient(absent=True))
    with pytest.raises(BenchError, match="no host client7"):
        preflight.check(resolve(study_of(**AWAY), environment))
    planned = Missing(planned=True)
    preflight.check(resolve(study_of(**AWAY), replace(environment, missing=planned)))
    assert planned.messages == ("no host client7",)


def test_the_network_is_declared_where_only_one_treatment_uses_it(place: Path) -> None:
    simulation = simulate(place, events={})
    study = study_of(factors={"load.host": ["here", "client7"]}, design={"baseline": {"load.host": "here"}})
    found = preflight.check(resolve(study, site_with(simulation, FakeClient())))
    assert "network_round_trip_us" in [each.name for each in found.responses]
