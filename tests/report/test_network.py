"""The network in a report: trips times how long one takes, beside the latency; nothing where there is no network."""

from pathlib import Path

import pytest

from pgassay.record.reading import Run
from pgassay.report import servers
from pgassay.report.findings import Findings
from pgassay.report.section import Section
from pgassay.testing.contracts import SectionContract
from pgassay.testing.planted import make_run
from tests.report.blocks import plain, tables

NEAR, FAR = 100.0, 1000.0
MORE = {
    "network_round_trip_us": {"100": NEAR, "75": FAR, "50": NEAR},
    "network_shortest_trip_us": {"100": 80.0, "75": 900.0, "50": 80.0},
    "network_trips_per_transaction": {"100": 5.0, "75": 5.0, "50": 5.0},
    "latency_ms": {"100": 10.0, "75": 10.0, "50": 10.0},
    "client_busy_share": {"100": 0.25, "75": 0.25, "50": 0.25},
    "cpu_busy_share": {"100": 0.5, "75": 0.5, "50": 0.5},
    "client_clock_offset_us": {"100": 20.0, "75": -3000.0, "50": 20.0},
    "client_clock_error_us": {"100": 40.0, "75": 450.0, "50": 40.0},
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("network") / "run", more=MORE)


class TestNetwork(SectionContract):
    @pytest.fixture
    def section(self) -> Section:
        return servers.NETWORK

    @pytest.fixture(scope="class")
    @classmethod
    def findings(cls, tmp_path_factory: pytest.TempPathFactory) -> Findings:
        return Findings(make_run(tmp_path_factory.mktemp("apart") / "run", more=MORE))


def test_what_the_way_takes_of_a_latency_is_trips_times_their_length(run: Run) -> None:
    found = {each.treatment: each for each in servers.paths(run.trials)}
    assert found["table.fillfactor=100"].latency_share == pytest.approx(0.05, rel=0.01)
    assert found["table.fillfactor=75"].latency_share == pytest.approx(0.5, rel=0.01)
    assert found["table.fillfactor=75"].shortest_trip_us == pytest.approx(900.0, rel=0.01)


def test_the_section_has_a_row_for_each_arm_and_says_where_it_is_most(run: Run) -> None:
    findings = Findings(run)
    (table,) = tables(servers.NETWORK, findings)
    assert len(table.rows) == 3
    far = next(row for row in table.rows if "75" in str(row[0]))
    assert [str(cell) for cell in far[6:]] == ["50.0 %", "25.0 %", "50.0 %"]
    assert any("3,000 us apart at most, known to ± 450 us" in note for note in table.notes)
    assert servers.NETWORK.brief(findings).startswith("5.00 round trips of 1,000 us take 50.0 % of a latency")
    assert {each["treatment"] for each in plain(findings)["network"]} == {trial.treatment for trial in run.trials}


def test_statements_that_were_counted_stand_for_trips_where_no_script_says_them(tmp_path: Path) -> None:
    more = {name: values for name, values in MORE.items() if name != "network_trips_per_transaction"}
    counted = {"qps": {"100": 4000.0, "75": 4800.0, "50": 4004.0}}
    for way in servers.paths(make_run(tmp_path / "run", more={**more, **counted}).trials):
        assert way.trips_per_transaction == pytest.approx(4.0, rel=0.15)


def test_of_other_hosts_no_trial_is_looked_at(run: Run) -> None:
    assert list(servers.NETWORK.blocks(Findings(run, hosts=("another",)))) == []


def test_by_a_socket_there_is_no_network(tmp_path: Path) -> None:
    findings = Findings(make_run(tmp_path / "run"))
    assert list(servers.NETWORK.blocks(findings)) == []
    assert servers.NETWORK.plain(findings) == {}
    assert servers.NETWORK.brief(findings) == ""
