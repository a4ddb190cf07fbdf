"""`drive.check = "on"`: what a trial leaves is looked at, and what is not sound is that trial's named outcome."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pgassay.drive.options import DriveOptions
from pgassay.interfaces.errors import QueryError
from pgassay.interfaces.server import Server
from pgassay.lab import measurements
from pgassay.study.responses import Status
from pgassay.testing import real
from tests.lab.simulation import simulate, study_of
from tests.noise import noise


class AmcheckServer:
    """A server that gives these answers; an exception is raised."""

    def __init__(self, installed: bool = True, indexes: object = 0, tables: object = (), major: int = 15) -> None:
        self.answers = {
            "pg_available": [(1,)] if installed else [], "search_path": [('"$user", public',)],
            "pg_proc": [("public",)], "bt_index": indexes, "verify_heapam": tables,
        }  # fmt: skip
        self.version = type("Version", (), {"major": major})()
        self.asked: list[str] = []

    def query(self, sql: str, parameters: Any = ()) -> Any:
        key = next(key for key in self.answers if key in sql)
        self.asked.append(key)
        answer = self.answers[key]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def execute(self, sql: str) -> None:
        assert sql == "CREATE EXTENSION IF NOT EXISTS amcheck"

    def alive(self) -> bool:
        return True


def found(**told: Any) -> Mapping[str, str]:
    server: Any = AmcheckServer(**told)
    return measurements.check_relations(server)


def test_it_is_done_only_where_it_is_asked_for() -> None:
    asked = [{"check": "on"}, {"data": "csd", "check": "off"}, {}]
    assert [DriveOptions.from_levels(levels).check for levels in asked] == [True, False, False]


def test_what_amcheck_says_is_passed_on_by_name() -> None:
    assert found() == {}
    assert found(tables=[("t", 7, "line pointer 3 points past the page")]) == {
        measurements.DATA: 'table "t", block 7: line pointer 3 points past the page'
    }
    said = 'item order invariant violated for index "i"'
    assert found(indexes=QueryError(said)) == {measurements.DATA: said}
    assert list(found(installed=False)) == [measurements.NOT_CHECKED]


def test_tables_are_left_out_before_14() -> None:
    server: Any = AmcheckServer(major=13, tables=QueryError("there is no verify_heapam"))
    assert measurements.check_relations(server) == {}
    assert [each for each in server.asked if each not in ("search_path", "pg_proc")] == ["pg_available", "bt_index"]


def test_what_a_check_finds_is_the_trials_outcome_and_nothing_stays(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Server] = []

    def check_relations(server: Server) -> dict[str, str]:
        asked.append(server)
        return {measurements.DATA: "a page is torn"} if len(asked) == 2 else {}

    monkeypatch.setattr("pgassay.lab.trial.measurements.check_relations", check_relations)
    simulation = simulate(place, events={})
    simulation.study = study_of(fixed={"drive.check": "on"}, design={"blocks": {"min": 5, "max": 5}})
    simulation.carry_on()
    first, second, *others = simulation.run.trials
    assert {trial.status for trial in (first, *others)} == {Status.VALID}
    assert [(reason.code, reason.detail) for reason in second.reasons] == [(measurements.DATA, "a page is torn")]
    assert "check" in first.timings_s
    assert len(asked) == len(others) + 2


def test_a_drive_that_is_not_sound_is_named_and_given_back(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pgassay.lab.trial.measurements.check_relations", lambda server: {})
    simulation = simulate(place, events={})
    simulation.machine.drive.damage = "the file system is damaged"
    simulation.study = study_of(fixed={"drive.check": "on"})
    simulation.carry_on()
    for trial in simulation.run.trials:
        assert trial.status is Status.OUTCOME
        assert [(reason.code, reason.detail) for reason in trial.reasons] == [
            (measurements.DRIVE, "the file system is damaged")
        ]
    assert simulation.machine.left_behind() == []
    simulation = simulate(place, events={})
    simulation.machine.drive.damage = "no check was asked for"
    simulation.carry_on()
    assert {trial.status for trial in simulation.run.trials} == {Status.VALID}


@pytest.mark.system
def test_planted_damage_is_found() -> None:
    with real.private_folder() as folder:
        installation = real.installation()
        installation.initialize(folder / "data", {})
        server = installation.start(folder / "data", {"fsync": "off"}, folder / "socket")
        try:
            server.execute("CREATE TABLE t AS SELECT i, md5(i::text) AS x FROM generate_series(1, 20000) i")
            server.execute("CREATE INDEX ON t (x)")
            assert measurements.check_relations(server) == {}
            ((name,),) = server.query("SELECT pg_relation_filepath('t')")
        finally:
            server.stop()
        with (folder / "data" / str(name)).open("r+b") as file:
            file.seek(3 * 8192 + 4096)
            file.write(noise(2048))
        server = installation.start(folder / "data", {"fsync": "off"}, folder / "socket")
        try:
            assert list(measurements.check_relations(server)) == [measurements.DATA]
        finally:
            server.stop()
