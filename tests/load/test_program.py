"""The load's own CPUs: lists that stand for themselves, CPUs that are not there, the rest after the server's."""

import os
from types import SimpleNamespace
from typing import cast

import pytest

from pgassay.errors import UsageError
from pgassay.interfaces.hosting import ANYWHERE, Placement
from pgassay.interfaces.server import Server
from pgassay.load import options, program


def server(pid: int) -> Server:
    return cast("Server", SimpleNamespace(postmaster_pid=pid))


@pytest.fixture
def _eight(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of eight CPUs whose server (process 1) may use the first two."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1} if pid == 1 else set(range(8)))


@pytest.mark.parametrize(
    ("typed", "canonical"),
    [("all", "all"), ("rest", "rest"), ("2-3,0", "cpu:0,2,3"), ("5", "cpu:5")],
)
def test_a_level_stands_for_itself(typed: str, canonical: str) -> None:
    assert options.CORES.parse("load.cores", typed) == canonical
    assert options.CORES.parse("load.cores", canonical) == canonical


@pytest.mark.parametrize("typed", ["", "two", "1-", "-1", "1,,2", "0x1", "node:0", "3-1"])
def test_nonsense_is_refused(typed: str) -> None:
    with pytest.raises(UsageError):
        options.CORES.parse("load.cores", typed)


@pytest.mark.usefixtures("_eight")
def test_more_cores_than_there_are_is_refused_before_anything_runs() -> None:
    program.check("cpu:0,7")
    with pytest.raises(UsageError, match="not available: 8,9"):
        program.check("cpu:7,8,9")


@pytest.mark.usefixtures("_eight")
def test_the_rest_is_what_the_server_may_not_use() -> None:
    assert program.place("rest", server(1)).cpus == (2, 3, 4, 5, 6, 7)
    assert program.problem("rest", server(1)) == {}
    assert program.place("cpu:3,1", server(1)) == Placement(cpus=(1, 3))
    assert program.place("all", server(1)) == ANYWHERE


@pytest.mark.usefixtures("_eight")
def test_a_server_on_every_cpu_leaves_no_rest() -> None:
    assert "no_cores" in program.problem("rest", server(2))
    assert program.place("rest", server(2)).cpus == ()
