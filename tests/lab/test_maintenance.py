"""Timed maintenance: what is declared, what is measured, and patience with a checkpointer that counts late."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pgassay.interfaces.places import Version
from pgassay.lab import measurements
from pgassay.lab.measurements import CHECKPOINT, VACUUM, responses
from pgassay.load.pgbench.options import PgbenchOptions
from pgassay.testing.fakes import FakeClock, FakeInstallation, FakeServer


class Checkpointer:
    """PostgreSQL 15's counters; a CHECKPOINT takes 0.3 s and is counted `late` looks afterwards."""

    def __init__(self, late: int) -> None:
        self.clock = FakeClock()
        self.late = late
        self.asked = 0
        self.looks = 0

    def counters(self, server: FakeServer, found: re.Match[str], parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        self.looks += self.asked
        done = self.asked and self.looks > self.late
        return [(1.0, 2.0 + bool(done), 0.0, 0.0, 500.0 + 250.0 * bool(done), 7.0, 0.0, 9.0, 99.0)]

    def checkpoint(self, server: FakeServer, found: re.Match[str], parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        self.asked = 1
        self.clock.advance(0.3)
        return []

    def start(self, place: Path) -> FakeServer:
        answers = {
            r"SELECT \* FROM \(SELECT .*checkpoints_req": self.counters,
            "CHECKPOINT": self.checkpoint,
            r"SELECT oid::regclass::text FROM pg_class": lambda server, found, parameters: [("a",), ("b",)],
            r"SELECT coalesce\(sum\(relpages\)": lambda server, found, parameters: [(4000,)],
            r"VACUUM \(DISABLE_PAGE_SKIPPING, INDEX_CLEANUP ON\) (a|b)$": self.vacuum,
        }
        installation = FakeInstallation(Version(15, 18, "postgres (PostgreSQL) 15.18"), answers)
        installation.initialize(place / "data", {})
        return installation.start(place / "data", {}, place)

    def vacuum(self, server: FakeServer, found: re.Match[str], parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        self.clock.advance(0.5)
        return []


@pytest.mark.parametrize(
    ("options", "declared"),
    [
        ([{}], ()),
        ([{"maintenance": "off"}, {"maintenance": "on"}], (*CHECKPOINT, *VACUUM)),
        ([{"transactions": "1000"}], CHECKPOINT),
        ([{"transactions": "1000", "checkpoint": "none"}], ()),
    ],
)
def test_only_what_is_measured_is_declared(options: list[dict[str, str]], declared: tuple[object, ...]) -> None:
    assert responses([PgbenchOptions.from_levels(each) for each in options]) == declared


@pytest.mark.parametrize("late", [0, 3])
def test_a_checkpoint_tells_its_pages_when_they_are_counted(tmp_path: Path, late: int) -> None:
    bench = Checkpointer(late)
    found = measurements.checkpoint(bench.start(tmp_path), bench.clock)
    assert found == {
        "closing_checkpoint_ms": pytest.approx(300.0),
        "closing_checkpoint_pages": 250.0,
        "checkpoint_ms_per_1000_pages": pytest.approx(1200.0),
    }


def test_pages_that_are_never_told_are_not_known(tmp_path: Path) -> None:
    bench = Checkpointer(late=10_000)
    found = measurements.checkpoint(bench.start(tmp_path), bench.clock)
    assert found["closing_checkpoint_ms"] == pytest.approx(300.0)
    assert found["closing_checkpoint_pages"] is None
    assert found["checkpoint_ms_per_1000_pages"] is None


def test_a_vacuum_visits_every_table(tmp_path: Path) -> None:
    bench = Checkpointer(0)
    server = bench.start(tmp_path)
    assert measurements.vacuum(server, bench.clock) == {
        "vacuum_ms": pytest.approx(1000.0),
        "vacuum_pages": 4000.0,
        "vacuum_ms_per_1000_pages": pytest.approx(250.0),
    }
