"""The tpcc load on a real private server: consistent after load and run, and what breaks consistency is named."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from pgassay.interfaces.server import Server
from pgassay.load.tpcc import LAST_NAMES, WEIGHTS
from pgassay.testing import real
from tests.load.loads import tpcc

pytestmark = pytest.mark.system

BASE: Mapping[str, str] = {"warehouses": "1", "clients": "2", "jobs": "2", "duration": "2s"}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with real.server(autovacuum="off", wal_level="minimal", max_wal_senders="0") as (server, _):
        tpcc(BASE).create(server)
        server.execute("ALTER TABLE stock SET (fillfactor = 60)")
        tpcc(BASE).fill(server)
        yield server


def test_the_tables_have_the_specifications_rows_and_options(server: Server) -> None:
    counts = dict(
        server.query("SELECT relname::text, reltuples::bigint FROM pg_class WHERE relkind = 'r' AND oid > 16383")
    )
    lines = counts.pop("order_line")
    assert lines == pytest.approx(300_000, rel=0.02)
    assert counts == {
        "warehouse": 1, "district": 10, "customer": 30_000, "history": 30_000, "orders": 30_000, "new_order": 9_000,
        "item": 100_000, "stock": 100_000,
    }  # fmt: skip
    assert server.query("SELECT tpcc_last_name(371), pg_relation_size('stock') > 45000000") == [("PRICALLYOUGHT", True)]
    assert server.query("SELECT count(DISTINCT c_last), max(c_balance) FROM customer") == [(len(LAST_NAMES), -10)]


def test_every_transaction_runs_and_leaves_the_data_consistent(server: Server, tmp_path: Path) -> None:
    assert tpcc(BASE).verify(server) == {}
    result = tpcc({**BASE, "transactions": "200"}).run(server, tmp_path / "out", 1)  # in two seconds one kind may miss
    assert (result.status, dict(result.problems)) == (0, {})
    for name in WEIGHTS:
        assert (result.responses[f"{name}_tps"] or 0) > 0
        assert (result.responses[f"{name}_latency_p90_ms"] or 0) > 0
    new_orders = result.responses["new_orders_per_minute"]
    assert new_orders == pytest.approx(0.45 * 60 * (result.responses["tps"] or 0), rel=0.2)
    assert tpcc(BASE).verify(server) == {}


def test_the_five_are_counted_in_proportion(server: Server, tmp_path: Path) -> None:
    """Orders are 45 of a hundred; pgbench would draw from 30 to 60."""
    before = server.query("SELECT sum(d_next_o_id) FROM district")[0][0]
    counted = {**BASE, "clients": "1", "jobs": "1", "count": "on", "transactions": "100"}
    result = tpcc(counted).run(server, tmp_path / "out", 64)
    assert (result.status, dict(result.problems), result.transactions) == (0, {}, 100)
    assert abs(server.query("SELECT sum(d_next_o_id) FROM district")[0][0] - before - 45) <= 3
    assert tpcc(BASE).verify(server) == {}


def test_an_order_with_a_wrong_item_leaves_nothing(server: Server) -> None:
    before = server.query("SELECT d_next_o_id FROM district WHERE d_id = 4")
    server.execute("BEGIN")
    assert server.query("SELECT tpcc_new_order(1, 4, 5, 10, true, 1, 9)") == [(None,)]
    server.execute("ROLLBACK")
    assert server.query("SELECT d_next_o_id FROM district WHERE d_id = 4") == before
    (total,) = server.query("SELECT tpcc_new_order(1, 4, 5, 10, false, 1, 9)")[0]
    assert total > 0
    drawn = "SELECT ol_i_id, ol_quantity FROM order_line WHERE ol_d_id = 4 AND ol_o_id = %s ORDER BY ol_number"
    first = server.query(drawn, before[0])
    server.query("SELECT tpcc_new_order(1, 4, 5, 10, false, 1, 9)")
    assert server.query(drawn, (before[0][0] + 1,)) == first, "the seed draws the lines"
    assert len(first) == 10


@pytest.mark.parametrize(
    ("wrong", "clause"),
    [
        ("UPDATE warehouse SET w_ytd = w_ytd + 1", "3.3.2.1"),
        ("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 3", "3.3.2.2"),
        (
            "DELETE FROM new_order WHERE no_d_id = 2 AND no_o_id = (SELECT percentile_disc(0.5) WITHIN GROUP"
            " (ORDER BY no_o_id) FROM new_order WHERE no_d_id = 2)",  # one that no delivery has taken yet
            "3.3.2.3",
        ),
        ("DELETE FROM order_line WHERE ol_d_id = 1 AND ol_o_id = 7 AND ol_number = 1", "3.3.2.4"),
    ],
)
def test_a_broken_condition_is_named(server: Server, wrong: str, clause: str) -> None:
    server.execute("BEGIN")
    server.execute(wrong)
    assert f"{clause} in warehouse 1" in tpcc(BASE).verify(server)["inconsistent"]
    server.execute("ROLLBACK")
    assert tpcc(BASE).verify(server) == {}
