"""Wider rows: the statement that widens them, what the data are keyed by, and the room they are said to take."""

from collections.abc import Mapping

import pytest

from pgassay.load.pgbench.data import widen
from pgassay.load.pgbench.options import PgbenchOptions
from tests.load.loads import fake_tools, pgbench

levels = PgbenchOptions.from_levels


class Listening:
    """A server that only keeps the statements that it gets."""

    def __init__(self) -> None:
        self.statements: list[str] = []

    def execute(self, sql: str) -> None:
        self.statements.append(sql)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, []),
        ({"row_bytes": "100"}, ["TYPE char(84)", "STORAGE PLAIN"]),
        ({"row_bytes": "2000"}, ["TYPE char(1984)", "STORAGE PLAIN"]),
        ({"row_bytes": "2000", "row_storage": "toasted"}, ["TYPE char(1984)", "STORAGE EXTERNAL"]),
        ({"row_storage": "toasted"}, ["TYPE char(84)", "STORAGE EXTERNAL"]),
    ],
)
def test_only_what_was_asked_changes_the_table(options: Mapping[str, str], says: list[str]) -> None:
    server = Listening()
    widen(server, levels(options))  # type: ignore[arg-type]
    assert len(server.statements) == bool(says)
    assert all(part in server.statements[0] for part in says)


def test_an_unwidened_load_keeps_the_key_of_its_snapshots() -> None:
    assert pgbench({"scale": "3"}, fake_tools()).data_key() == {"scale": "3", "age": "0.0"}
    wide = pgbench({"scale": "3", "row_bytes": "2000"}, fake_tools()).data_key()
    assert wide != pgbench({"scale": "3", "row_bytes": "2000", "row_storage": "toasted"}, fake_tools()).data_key()
    assert wide["row_bytes"] == "2000"


def test_wide_rows_are_given_their_room() -> None:
    """A row of 600 bytes leaves 40 % of a 1 kB page empty; what is promised must hold for every page size."""
    narrow, wide = (levels({"scale": "10", **more}).estimated_bytes() for more in ({}, {"row_bytes": "600"}))
    assert narrow < wide
    assert wide > 10 * 100_000 * 1024
    plain, toasted = (
        levels({"row_bytes": "4000", "row_storage": storage}).estimated_bytes() for storage in ("plain", "toasted")
    )
    assert 100_000 * 4000 < toasted < plain <= 2 * 100_000 * 4100
