"""The ledger of a pgbench load: the script that comes with us, and what pgbench's log says was acknowledged."""

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from pgassay.host.runner import SystemClock
from pgassay.interfaces.load import LedgerLoad, LedgerState, Tools
from pgassay.interfaces.places import Endpoint
from pgassay.interfaces.server import Server
from pgassay.load.pgbench import data as acknowledged
from pgassay.load.pgbench.driver import PgbenchLoad
from pgassay.load.pgbench.options import LEDGER_TABLE, OURS, PgbenchOptions, random_seed, run_command
from pgassay.testing import real
from pgassay.testing.fakes import FakeClock
from tests.fakes.runner import FakeRunner

ENDPOINT = Endpoint(Path("/s"), 5433, "postgres", "me")


def command(**levels: str) -> str:
    options = PgbenchOptions.from_levels(levels)
    return " ".join(run_command(Path("/b/pgbench"), ENDPOINT, options, version=15, seed=7, log_prefix=None))


def test_the_script_starts_to_count_at_one() -> None:
    found = command(script="ledger", scale="5")
    assert f" -s 5 -D sequence=0 -f {OURS['ledger']}@1 " in found
    assert "sequence=0" not in command()


def test_every_column_of_the_ledger_is_written() -> None:
    text = OURS["ledger"].read_text(encoding="ascii")
    columns = LEDGER_TABLE.partition("(")[2].partition(", PRIMARY KEY")[0].split(", ")
    assert f"({', '.join(column.split()[0] for column in columns)})" in text


@pytest.mark.parametrize(("script", "writes", "keeps"), [("ledger", True, True), ("ledger@1,tpcb-like@1", True, False),
                                                         ("tpcb-like", False, False)])  # fmt: skip
def test_a_ledger_beside_other_scripts_is_not_compared(script: str, writes: bool, keeps: bool) -> None:
    options = PgbenchOptions.from_levels({"script": script})
    assert (options.writes_ledger, options.keeps_ledger) == (writes, keeps)


def test_pgbench_is_a_load_with_a_ledger(tmp_path: Path) -> None:
    tools = Tools(tmp_path, FakeRunner(), FakeClock())
    assert isinstance(PgbenchLoad(PgbenchOptions(), tools), LedgerLoad)
    assert random_seed((1 << 31) + 5) == 5


def test_the_logs_of_all_threads_are_read_in_order(tmp_path: Path) -> None:
    logs = {"7": "0 1 250 0 10 500\n1 1 90 0 10 600\n0 2 failed 0 10 900\n", "7.1": "2 1 80 0 11 1\n2 2 70 0 11"}
    for name, text in logs.items():
        with gzip.open(tmp_path / f"pgbench_log.{name}.gz", "wt") as file:
            file.write(text)
    found = acknowledged.read_ledger(tmp_path, "pgbench_log")
    assert found == {
        0: [(10_000_500_000, True), (10_000_900_000, False)],
        1: [(10_000_600_000, True)],
        2: [(11_000_001_000, True)],
    }, "and a line that was cut off says nothing"
    assert acknowledged.read_ledger(tmp_path / "none", "pgbench_log") == {}


class Database:
    """Answers by the beginning of a statement, in turn; keeps what it was asked."""

    def __init__(self, *answers: tuple[str, list[tuple[Any, ...]]]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        begin, rows = self.answers.pop(0)
        assert sql.startswith(begin), sql
        self.asked.append(sql)
        return rows

    def execute(self, sql: str) -> None:
        self.asked.append(sql)


THERE = ("SELECT to_regclass", [(True,)])
ALL_ROWS = ("SELECT client, count(*), max(sequence)", [(0, 9, 9), (1, 7, 8)])
ALL_SUMS = ("SELECT (SELECT coalesce(sum(delta)", [(5, 5, 5, 5)])
WHOLE = LedgerState({0: (9, 9), 1: (7, 8)}, {"ledger": 5, "accounts": 5, "tellers": 5, "branches": 5})


def state(database: Database, since: LedgerState | None = None) -> LedgerState:
    return acknowledged.ledger_state(cast("Server", database), 3, 2, since)


def test_the_whole_ledger_is_read_with_all_sums() -> None:
    assert state(Database(THERE, ALL_ROWS, ALL_SUMS)) == WHOLE
    assert state(Database(("SELECT to_regclass", [(False,)]))) == LedgerState({}, {})


def test_later_rows_are_added_to_what_was_known() -> None:
    database = Database(
        THERE,
        ("SELECT (SELECT max(sequence)", [(11, None)]),
        ("SELECT client, count(*), sum(delta)", [(0, 2, -3)]),
        ("SELECT (SELECT sum(tbalance)", [(2, 2, 0)]),
    )
    found = state(database, LedgerState({0: (9, 9)}, {"ledger": 5}))
    assert found == LedgerState({0: (11, 11)}, {"ledger": 2, "tellers": 2, "branches": 2})
    assert "client = 0 AND sequence > 9" in database.asked[3]
    assert "client = 1 AND sequence > 0" in database.asked[3]


def test_all_is_read_where_the_last_known_row_is_gone() -> None:
    known = LedgerState({0: (12, 12), 1: (7, 8)}, {"ledger": 5})
    database = Database(THERE, ("SELECT (SELECT max(sequence)", [(9, 8)]), ALL_ROWS, ALL_SUMS)
    assert state(database, known) == WHOLE, "what was lost is found only so"


@pytest.mark.system
@pytest.mark.slow
def test_a_real_ledger_says_the_same_whole_and_in_parts_and_a_changed_balance_is_found() -> None:
    with real.server() as (server, directory):
        load = PgbenchLoad(
            PgbenchOptions.from_levels({"script": "ledger", "transactions": "200", "clients": "2", "jobs": "1"}),
            Tools(real.installation().bindir, real.runner(), SystemClock()),
        )
        load.create(server)
        load.fill(server)
        assert load.run(server, directory.parent / "output", 7).problems == {}
        whole = load.ledger_state(server, 7)
        assert whole.rows == {0: (200, 200), 1: (200, 200)}
        assert len(set(whole.sums.values())) == 1
        ((known,),) = server.query("SELECT sum(delta) FROM pgassay_ledger WHERE client = 0 AND sequence <= 150")
        half = LedgerState({0: (150, 150)}, {"ledger": int(known)})
        later = load.ledger_state(server, 7, half)
        assert (later.rows, later.differing) == (whole.rows, 0)
        assert set(later.sums.values()) == set(whole.sums.values())
        server.execute("UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = (SELECT aid FROM"
                       " pgassay_ledger WHERE run = 7 AND client = 1 AND sequence = 200)")  # fmt: skip
        assert load.ledger_state(server, 7, half).differing == 1
