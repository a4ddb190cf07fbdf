"""Servers that were compared: the answer says that it is about these, and how much of it is the way to them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pgassay.record.reading import Run
from pgassay.report import headline, servers
from pgassay.report.findings import Findings
from pgassay.report.section import Section
from pgassay.report.servers import NetworkPath
from pgassay.testing.contracts import SectionContract
from pgassay.testing.planted import make_run
from tests.report.blocks import plain, tables

MORE = {
    "network_round_trip_us": {"100": 100.0, "75": 500.0, "50": 100.0},
    "network_trips_per_transaction": {"100": 5.0, "75": 5.0, "50": 5.0},
    "latency_ms": {"100": 10.0, "75": 14.0, "50": 10.0},
}


FILLED, SERVER = "table.fillfactor", "postgres.server"


def compared(path: Path, each: int = 1, **more: Any) -> Run:
    """A run in which fillfactors are the names of servers, so many of each."""
    run, names = make_run(path, more=MORE, **more), ("100", "75", "50")
    trials = [
        replace(
            trial,
            treatment=trial.treatment.replace(FILLED, SERVER),
            levels={name.replace(FILLED, SERVER): level for name, level in trial.levels.items()},
        )
        for trial in run.trials
    ]
    place = {"servers": {name: ["service=x"] * each for name in names}}
    attached = {name: {"address": f"/{name}:5432", "system": name} for name in names}
    vars(run).update(
        study_toml=run.study_toml.replace(FILLED, SERVER),
        host={**run.host, "place": place, "attached": attached},
        _trials=(tuple(trials), ()),
    )
    return run


class TestServers(SectionContract):
    @pytest.fixture
    def section(self) -> Section:
        return servers.SECTION

    @pytest.fixture(scope="class")
    @classmethod
    def findings(cls, tmp_path_factory: pytest.TempPathFactory) -> Findings:
        return Findings(compared(tmp_path_factory.mktemp("servers") / "run"))


def test_a_verdict_on_one_of_each_is_about_these_instances(tmp_path: Path) -> None:
    findings = Findings(compared(tmp_path / "run"))
    assert headline.headline_of(findings).sentences[0].startswith("on these three instances: postgres.server=")
    shown = plain(findings)["servers"]
    assert shown["of_each_kind"] == 1
    assert "one of a kind does not show what is due to its kind" in servers.SECTION.brief(findings)
    far, near = shown["network"]
    if "75" not in far:
        far, near = near, far
    assert "a round trip takes 100 us with postgres.server=100 and 500 us with postgres.server=75" in far
    assert "2.00 ms of a transaction, 49.9 % of the 4.00 ms by which its mean latency differs" in far
    assert "and 100 us with postgres.server=50" in near
    (table,) = tables(servers.SECTION, findings)
    assert ["address", "/100:5432", "/75:5432", "/50:5432"] in [list(map(str, row)) for row in table.rows]


def test_servers_on_this_machine_are_not_told_apart_by_the_way_to_them(tmp_path: Path) -> None:
    run = compared(tmp_path / "run")
    for facts in run.host["attached"].values():
        facts["here"] = True
    assert plain(Findings(run))["servers"]["network"] == []


@pytest.mark.parametrize(("each", "few"), [(2, True), (3, False)])
def test_of_a_few_of_each_the_page_says_what_they_do_not_show(tmp_path: Path, each: int, few: bool) -> None:
    sets = {f"set {number}": 1.0 + number / 50 for number in range(each)}
    findings = Findings(compared(tmp_path / "run", each, hosts=sets))
    said = servers.SECTION.brief(findings)
    assert f"the {each} sets of them take the place of hosts" in said
    assert ("hardly show how far instances of one kind differ" in said) == few
    assert f"on three kinds of server, by {each} instances of each" in headline.headline_of(findings).sentences[0]


def path(trip_us: float, latency_ms: float | None, trips: float = 5.0) -> NetworkPath:
    share = None if latency_ms is None else trips * trip_us / 1e3 / latency_ms
    none = (None, None, None, None)
    return NetworkPath(f"at {trip_us:g}", "", "", "here", trip_us, None, trips, None, latency_ms, share, *none)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (path(500.0, 14.0), "2.00 ms of a transaction, 50.0 % of the 4.00 ms by which its mean latency differs"),
        (path(500.0, 11.0), "2.00 ms of a transaction, more than the 1.00 ms by which its mean latency differs"),
        (path(99.0, 30.0), "less than 1.0 % of the 20.0 ms by which its mean latency differs"),
        (path(500.0, 8.0), "the server that is further away is the faster one"),
        (path(500.0, None), "how many a transaction makes is not known"),
    ],
)
def test_the_way_takes_its_share_of_a_difference(other: NetworkPath, said: str) -> None:
    assert servers._distance_sentence(path(100.0, 10.0), other).endswith(said)


def test_other_runs_have_no_such_section(tmp_path: Path) -> None:
    findings = Findings(make_run(tmp_path / "run"))
    assert servers.label(findings) == ""
    assert plain(findings).get("servers") is None
