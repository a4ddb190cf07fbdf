"""Other PostgreSQL servers: found, told from our own, measured with their backends."""

from pgassay.host.doctor_checks.neighbours import Neighbour, judge, neighbours
from pgassay.host.processes import Process

US = 100


def _process(pid: int, parent: int, name: str, ticks: int, started: int = 0) -> Process:
    return Process(pid, parent, name, "S", started or pid, ticks)


def _world(*processes: Process) -> dict[int, Process]:
    return {process.pid: process for process in processes}


def test_a_family_is_measured_as_a_whole_and_ours_is_left_out() -> None:
    before = _world(
        _process(US, 1, "pgassay", 0),
        _process(101, US, "postgres", 0),
        _process(200, 1, "postgres", 1000),
        _process(201, 200, "postgres", 500),
    )
    after = _world(
        _process(US, 1, "pgassay", 0),
        _process(101, US, "postgres", 90),
        _process(200, 1, "postgres", 1001),
        _process(201, 200, "postgres", 530),
        _process(202, 200, "postgres", 9),
    )
    assert neighbours(before, after, 100.0, US) == [Neighbour(200, 0.4)]


def test_a_number_used_again_does_not_count_what_its_forerunner_used() -> None:
    before = _world(_process(200, 1, "postgres", 1000, started=1))
    after = _world(_process(200, 1, "postgres", 3, started=2))
    assert neighbours(before, after, 100.0, US) == [Neighbour(200, 0.03)]


def test_only_busy_ones_stop_a_run() -> None:
    assert judge([], {}).severity == "ok"
    assert judge([Neighbour(200, 0.0499)], {}).severity == "note"
    busy = judge([Neighbour(200, 0.5), Neighbour(300, 0.0)], {200: "/srv/pg"})
    assert (busy.code, busy.severity) == ("busy_neighbour", "error")
    assert '200 in "/srv/pg" uses 50%' in busy.text
    assert "300" not in busy.text
