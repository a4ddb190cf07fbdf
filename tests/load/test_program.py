"""The load's own CPUs: lists that stand for themselves, CPUs that are not there, the rest after the server's."""

import os
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from pgassay.errors import UsageError
from pgassay.interfaces.hosting import ANYWHERE, Placement, node_cpus, nodes
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
    [("all", "all"), ("rest", "rest"), ("2-3,0", "cpu:0,2,3"), ("5", "cpu:5"), ("node:1,0", "node:0-1")],
)
def test_a_level_stands_for_itself(typed: str, canonical: str) -> None:
    assert options.CORES.parse("load.cores", typed) == canonical
    assert options.CORES.parse("load.cores", canonical) == canonical


@pytest.mark.parametrize("typed", ["", "two", "1-", "-1", "1,,2", "0x1", "node:", "node:x", "3-1"])
def test_nonsense_is_refused(typed: str) -> None:
    with pytest.raises(UsageError):
        options.CORES.parse("load.cores", typed)


@pytest.mark.usefixtures("_eight")
def test_more_cores_than_there_are_is_refused_before_anything_runs() -> None:
    program.check("cpu:0,7")
    with pytest.raises(UsageError, match="not available: 8,9"):
        program.check("cpu:7,8,9")


@pytest.fixture
def _two_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose nodes 1 and 2 have CPUs, and node 3 memory alone."""
    for name, text in {
        "online": "1-3", "node1/cpulist": "6-9", "node2/cpulist": "2-3", "node3/cpulist": "",
    }.items():  # fmt: skip
        path = tmp_path / "sys/devices/system/node" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    for each in (node_cpus, nodes):
        monkeypatch.setattr(program, each.__name__, partial(each, root=tmp_path))


@pytest.mark.usefixtures("_eight", "_two_nodes")
def test_a_node_stands_for_its_cpus_that_may_be_used() -> None:
    program.check("node:1")
    assert program.place("node:1", server(1)) == Placement(cpus=(6, 7))
    assert program.place("node:2", server(1)) == Placement(cpus=(2, 3))
    assert program.place("node:1-2", server(1)) == Placement(cpus=(2, 3, 6, 7))
    assert program.place("cpu:6,7", server(1)) == Placement(cpus=(6, 7))
    for absent in ("node:0-1", "node:3"):
        with pytest.raises(UsageError, match="no such NUMA node"):
            program.check(absent)


@pytest.mark.usefixtures("_eight")
def test_the_rest_is_what_the_server_may_not_use() -> None:
    assert program.place("rest", server(1)).cpus == (2, 3, 4, 5, 6, 7)
    assert program.problem("rest", server(1)) == {}
    assert program.place("cpu:3", server(1)).cpus == (3,)
    assert program.place("all", server(1)) == ANYWHERE


@pytest.mark.usefixtures("_eight")
def test_a_server_on_every_cpu_leaves_no_rest() -> None:
    assert "no_cores" in program.problem("rest", server(2))
    assert program.place("rest", server(2)).cpus == ()
