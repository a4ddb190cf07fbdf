"""Changes of the schema on a real server: a fillfactor that rewrites, a column's type, what refuses a transaction."""

import time
from collections.abc import Iterator

import pytest

from pgassay.errors import UsageError
from pgassay.interfaces.errors import QueryError
from pgassay.interfaces.server import Server
from pgassay.postgres.factors import SchemaChange
from pgassay.testing import real

pytestmark = pytest.mark.system

FACTOR = SchemaChange()
ROWS = 20_000
PATIENCE_S = 300.0


@pytest.fixture
def server() -> Iterator[Server]:
    with real.server(autovacuum="off") as (found, _):
        found.execute("CREATE TABLE orders (id int PRIMARY KEY, status int, note text)")
        found.execute(f"INSERT INTO orders SELECT n, 0, repeat('x', 50) FROM generate_series(1, {ROWS}) n")
        found.execute("VACUUM (ANALYZE)")
        yield found


def change(server: Server, sql: str) -> None:
    FACTOR.on_loaded_data(FACTOR.pattern, FACTOR.parse(FACTOR.pattern, sql), server)


def pages(server: Server) -> int:
    return int(server.query("SELECT pg_relation_size('orders') / current_setting('block_size')::int")[0][0])


def hot_share(server: Server) -> float:
    """Of updates of a tenth of the rows, spread over all pages."""
    server.execute("UPDATE orders SET status = status + 1 WHERE id % 10 = 0")
    ends = time.monotonic() + PATIENCE_S
    while True:  # counters come a moment after their statement
        (row,) = server.query("SELECT n_tup_hot_upd, n_tup_upd FROM pg_stat_user_tables WHERE relname = 'orders'")
        if row[1] == ROWS / 10:
            return float(row[0] / row[1])
        assert time.monotonic() < ends, f"{row[1]} updates are counted"
        time.sleep(0.1)


def test_a_fillfactor_of_one_table_leaves_room_for_updates_in_each_page(server: Server) -> None:
    packed = pages(server)
    change(server, "ALTER TABLE orders SET (fillfactor = 70)")
    assert pages(server) == packed, "it holds for new pages alone"
    change(server, "ALTER TABLE orders SET (fillfactor = 70); VACUUM FULL orders")
    assert pages(server) == pytest.approx(packed / 0.7, rel=0.05)
    assert hot_share(server) == 1.0


def test_full_pages_have_no_room_for_updates(server: Server) -> None:
    assert hot_share(server) < 0.5


def test_a_column_gets_another_type(server: Server) -> None:
    change(server, "ALTER TABLE orders ALTER COLUMN id TYPE bigint")
    (row,) = server.query("SELECT pg_typeof(id)::text, count(*) OVER () FROM orders LIMIT 1")
    assert row == ("bigint", ROWS)


def test_what_refuses_a_transaction_runs_in_a_change(server: Server) -> None:
    change(
        server,
        "CREATE INDEX CONCURRENTLY later ON orders (status); REINDEX INDEX CONCURRENTLY orders_pkey;"
        " CREATE FUNCTION f() RETURNS text LANGUAGE sql AS $$ SELECT 'a;b'; $$; VACUUM FULL orders",
    )
    assert server.query("SELECT f(), indisvalid FROM pg_index WHERE indexrelid = 'later'::regclass") == [("a;b", True)]


def test_a_change_of_a_copy_vacuums_what_it_rewrote(server: Server) -> None:
    level = FACTOR.parse(FACTOR.pattern, "ALTER TABLE orders SET (fillfactor = 50); VACUUM FULL orders")
    before = pages(server)
    FACTOR.on_copied_data(FACTOR.pattern, level, server)
    assert pages(server) == pytest.approx(2 * before, rel=0.05)
    (visible,) = server.query("SELECT relallvisible > 0 FROM pg_class WHERE relname = 'orders'")[0]
    assert visible


def test_a_statement_that_the_data_refuse_ends_the_change(server: Server) -> None:
    with pytest.raises(QueryError, match="could not create unique index"):
        change(server, "CREATE UNIQUE INDEX ON orders (status); DROP TABLE orders")
    assert pages(server) > 0


@pytest.mark.parametrize("sql", ["VACUUM FULL nowhere", "CREATE INDEX ON orders (statsu)", "CREATE INDX ON orders (a)"])
def test_a_typo_ends_the_change_and_is_no_outcome(server: Server, sql: str) -> None:
    with pytest.raises(UsageError, match="the change of the schema cannot be made"):
        change(server, f"{sql}; DROP TABLE orders")
    assert pages(server) > 0
