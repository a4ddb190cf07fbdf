"""The CPU yardstick: read from sysbench's own summary; missing, failing or hanging, it is None and never 0."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from pgassay.interfaces.running import Completed
from pgassay.interfaces.server import Server
from pgassay.load import references
from pgassay.load.pgbench.options import PgbenchOptions

SAMPLE = (Path(__file__).parents[1] / "samples" / "sysbench_cpu.txt").read_text()


class Runs:
    """A runner whose programs all end alike; TimeoutError for no status."""

    def __init__(self, status: int | None, stdout: str = "") -> None:
        self.status, self.stdout = status, stdout
        self.command: tuple[str, ...] = ()

    def run(self, command: Sequence[str], **_: Any) -> Completed:
        self.command = tuple(command)
        if self.status is None:
            raise TimeoutError
        return Completed(self.command, self.status, self.stdout, "")


@pytest.fixture
def _there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pgassay.load.references.children.which", lambda name: f"/usr/bin/{name}")


def _unasked() -> Server:
    """No answer of a server's enters."""
    return Mock(spec=[])


def measure(runs: Runs) -> float | None:
    options = PgbenchOptions(clients=7, yardstick="cpu")
    return references.CpuYardstick(runs).measure(options, _unasked())[references.RESPONSE.name]  # type: ignore[arg-type]


@pytest.mark.usefixtures("_there")
def test_as_many_threads_as_clients() -> None:
    runs = Runs(0, SAMPLE)
    assert measure(runs) == 4168.19
    assert "--threads=7" in runs.command


@pytest.mark.usefixtures("_there")
@pytest.mark.parametrize("runs", [Runs(1, SAMPLE), Runs(None), Runs(0, "no such line")])
def test_a_failure_is_none(runs: Runs) -> None:
    assert measure(runs) is None


def test_without_sysbench_it_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pgassay.load.references.children.which", lambda name: None)
    assert measure(Runs(0, SAMPLE)) is None


def test_it_is_measured_only_where_it_is_asked_for() -> None:
    reference = references.CpuYardstick(Runs(0, SAMPLE))  # type: ignore[arg-type]
    assert reference.responses(PgbenchOptions()) == ()
    assert reference.measure(PgbenchOptions(), _unasked()) == {}
