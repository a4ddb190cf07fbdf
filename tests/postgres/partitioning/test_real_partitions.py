"""On every PostgreSQL of this machine: tables become partitioned with all that belongs to them, or are refused."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pgassay.bench.factor import Readable
from pgassay.bench.server import Server
from pgassay.errors import UsageError
from pgassay.postgres.partitioning.factor import SchemaPartition
from pgassay.testing import real

pytestmark = pytest.mark.system

SCHEMA = """
CREATE ROLE clerk;
CREATE ROLE reader;
CREATE TABLE customers (id int PRIMARY KEY);
INSERT INTO customers SELECT generate_series(1, 10);
CREATE TABLE orders (
    id bigint GENERATED ALWAYS AS IDENTITY,
    line serial,
    customer_id int NOT NULL REFERENCES customers,
    "Day" date,
    status text NOT NULL DEFAULT 'open' CONSTRAINT known CHECK (status <> ''),
    mail text COLLATE "C",
    twice bigint GENERATED ALWAYS AS (line * 2) STORED,
    CONSTRAINT "The key" PRIMARY KEY (id),
    CONSTRAINT late UNIQUE (line, id) WITH (fillfactor = 60) DEFERRABLE INITIALLY DEFERRED,
    gone int
) WITH (fillfactor = 70, autovacuum_enabled = false, toast.autovacuum_enabled = false);
ALTER TABLE orders DROP COLUMN gone, ALTER COLUMN status SET STATISTICS 7;
INSERT INTO orders (customer_id, "Day", status, mail)
    SELECT 1 + n % 10, date '2025-01-15' + n, CASE WHEN n % 4 = 0 THEN 'sent' ELSE 'open' END, n || '@example.org'
      FROM generate_series(0, 119) n;
UPDATE orders SET "Day" = NULL WHERE id <= 5;
CREATE UNIQUE INDEX by_mail ON orders (mail, id) WITH (fillfactor = 80) WHERE line > 0;
CREATE INDEX by_word ON orders (lower(status));
CREATE TABLE items (order_id bigint CONSTRAINT of_order REFERENCES orders ON DELETE CASCADE, first_of bigint);
INSERT INTO items SELECT id FROM orders;
CREATE VIEW per_customer WITH (security_barrier) AS SELECT id, count(*), status FROM orders GROUP BY id;
CREATE VIEW of_view AS SELECT * FROM per_customer;
CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.status = NEW.status || '!'; RETURN NEW; END $$;
CREATE TRIGGER note BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION noted();
CREATE TRIGGER silent BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION noted();
ALTER TABLE orders DISABLE TRIGGER silent;
GRANT SELECT, UPDATE (status) ON orders TO reader;
ALTER TABLE orders OWNER TO clerk;
CREATE TABLE small (a int, j json, w int, s text, g int GENERATED ALWAYS AS (a * 2) STORED, t timestamptz, f float8);
INSERT INTO small VALUES (1, '{}', 1, 'x', DEFAULT, '2025-01-31 23:30+00', 0.5),
    (2, '{}', 1, 'y', DEFAULT, '2025-03-01 00:00+00', 'infinity'), (3, '{}', 1, 'y', DEFAULT, NULL, 2.25);
CREATE TABLE vacant (a int);
CREATE VIEW shown AS SELECT 1 AS a;
CREATE TABLE parted (a int) PARTITION BY HASH (a);
CREATE TABLE part PARTITION OF parted FOR VALUES WITH (MODULUS 1, REMAINDER 0);
CREATE TABLE watched (a int);
INSERT INTO watched VALUES (1), (2);
CREATE MATERIALIZED VIEW kept AS SELECT a FROM watched;
CREATE TABLE typed (of_type watched)
"""


@pytest.fixture(scope="module", params=real.bindirs() or ["none"])
def installed(request: pytest.FixtureRequest) -> Iterator[Server]:
    if request.param == "none":
        pytest.skip("no PostgreSQL on this machine")
    installation = real.finder().named(Path(request.param))
    with real.private_folder() as folder:
        installation.initialize(folder / "data", {})
        server = installation.start(folder / "data", {"fsync": "off"}, folder / "socket")
        try:
            yield server
        finally:
            server.stop()


@pytest.fixture
def server(installed: Server) -> Iterator[Server]:
    """With `SCHEMA`, which is taken back: each test begins with it as it is."""
    installed.execute("BEGIN")
    for statement in SCHEMA.split(";\n"):
        installed.execute(statement)
    yield installed
    installed.execute("ROLLBACK")


def made(text: str, server: Server) -> list[tuple[Any, ...]]:
    """Partition `text`; its partitions with their rows."""
    factor, vacuumed = SchemaPartition(), []
    level = factor.parse("schema.partition", text)

    class Counted:
        """VACUUM cannot run in a transaction."""

        version = server.version
        query = staticmethod(server.query)

        def execute(self, sql: str) -> None:
            if sql.startswith("VACUUM"):
                vacuumed.append(sql)
            else:
                server.execute(sql)

    factor.on_loaded_data("schema.partition", level, Counted())  # type: ignore[arg-type]
    table = text.split()[0]
    assert vacuumed == [f"VACUUM (ANALYZE) {table}"]
    assert factor.read_back("schema.partition", level, Readable(server)) == level.canonical
    other = factor.parse("schema.partition", "customers BY HASH (id) INTO 3")
    assert factor.read_back("schema.partition", other, Readable(server)) != other.canonical
    return server.query(f"SELECT tableoid::regclass::text, count(*) FROM {table} GROUP BY 1 ORDER BY 1")


def test_all_that_belongs_to_a_table_belongs_to_the_partitioned_one(server: Server) -> None:
    before = server.query("SELECT * FROM orders ORDER BY id")
    counts = made("orders BY HASH (id) INTO 3", server)
    assert [name for name, _ in counts] == ["orders_p1", "orders_p2", "orders_p3"]
    assert server.query("SELECT * FROM orders ORDER BY id") == before
    indexes = "SELECT indexdef FROM pg_indexes WHERE tablename = 'orders' ORDER BY indexname"
    key, by_mail, by_word, late = (text for (text,) in server.query(indexes))
    assert ("UNIQUE" in by_mail, "lower(status)" in by_word, '"The key"' in key) == (True, True, True)
    assert "fillfactor='60'" in late
    options = "SELECT reloptions FROM pg_class WHERE relname = 'orders_p2'"
    assert server.query(options) == [(["fillfactor=70", "autovacuum_enabled=false"],)]
    (definition,) = server.query("SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'late'")[0]
    assert definition == "UNIQUE (line, id) DEFERRABLE INITIALLY DEFERRED"
    owners = "SELECT DISTINCT pg_get_userbyid(relowner)::text FROM pg_class WHERE relname ~ '^orders'"
    assert server.query(owners) == [("clerk",)]
    rights = (
        "SELECT has_table_privilege('reader', 'orders', %s), has_column_privilege('reader', 'orders', 'status', %s)"
    )
    assert server.query(rights, ["SELECT", "UPDATE"]) == [(True, True)]
    server.execute("INSERT INTO orders (customer_id) VALUES (3)")
    found = server.query("SELECT id, line, status, twice FROM orders WHERE id > 120")
    assert found == [(121, 121, "open!", 242)], "sequences go on, the trigger fires"
    assert server.query("SELECT pg_get_serial_sequence('orders', 'id')") == [("public.orders_id_seq",)]
    assert server.query("SELECT count(*) FROM of_view") == [(121,)]
    assert server.query("SELECT reloptions FROM pg_class WHERE relname = 'per_customer'") == [
        (["security_barrier=true"],)
    ]
    server.execute("DELETE FROM orders WHERE id = 1")
    assert server.query("SELECT count(*) FROM items") == [(119,)], "the foreign key to it cascades"
    for wrong in ("INSERT INTO items VALUES (999)", "INSERT INTO orders (customer_id) VALUES (11)"):
        assert "violates foreign key" in refusal(wrong, server)
    assert "known" in refusal("UPDATE orders SET status = '' WHERE id = 2", server)
    assert server.query("SELECT 1 FROM pg_class WHERE relname ~ 'unpartitioned'") == []


def refusal(sql: str, server: Server) -> str:
    """What the server says of a statement that it refuses, in a transaction that goes on."""
    server.execute("SAVEPOINT before")
    try:
        server.execute("SET CONSTRAINTS ALL IMMEDIATE")
        server.execute(sql)
    except Exception as error:
        return str(error)
    finally:
        server.execute("ROLLBACK TO before")
    return ""


def test_bounds_come_from_the_rows(server: Server) -> None:
    server.execute("ALTER TABLE items DROP CONSTRAINT of_order")
    server.execute("DROP VIEW of_view")
    server.execute("DROP VIEW per_customer")
    server.execute('ALTER TABLE orders DROP CONSTRAINT "The key", DROP CONSTRAINT late')
    server.execute("DROP INDEX by_mail")
    server.execute("SAVEPOINT here")
    found = made('orders BY RANGE ("Day") INTO 4', server)
    assert sorted(found) == [
        ("orders_default", 5),
        *((f"orders_p{n}", rows) for n, rows in enumerate((28, 29, 29, 29), 1)),
    ]
    server.execute("ROLLBACK TO here")
    months = made("orders BY RANGE (\"Day\") EVERY '1 month'", server)
    assert [rows for _, rows in months] == [5, 12, 28, 31, 30, 14]
    server.execute("ROLLBACK TO here")
    assert made("orders BY LIST (status)", server) == [("orders_p1", 90), ("orders_p2", 30)]
    server.execute("ROLLBACK TO here")
    assert [rows for _, rows in made("orders BY RANGE (id) EVERY 50", server)] == [49, 50, 21]
    server.execute("ROLLBACK TO here")
    assert made("small BY RANGE (t) EVERY '1 month'", server) == [
        ("small_default", 1), ("small_p1", 1), ("small_p3", 1),
    ]  # fmt: skip
    server.execute("ROLLBACK TO here")
    assert [rows for _, rows in made("small BY RANGE (f) EVERY 0.5", server)] == [1, 2]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nowhere BY HASH (id) INTO 2", 'there is no table "nowhere"'),
        ("shown BY HASH (a) INTO 2", "shown is a view"),
        ("kept BY HASH (a) INTO 2", "kept is a materialized view"),
        ("parted BY HASH (a) INTO 2", "parted is partitioned already"),
        ("part BY HASH (a) INTO 2", "part is a partition"),
        ("orders BY HASH (day) INTO 2", "orders has no column day"),
        (
            "orders BY LIST (status)",
            '"The key" PRIMARY KEY (id), by_mail UNIQUE INDEX (mail, id), late UNIQUE (line, id) has not',
        ),
        ("small BY HASH (g) INTO 2", "g, which is generated"),
        ("small BY RANGE (j) INTO 2", "no default operator class"),
        ("small BY RANGE (w) INTO 2", "give 1 partitions"),
        ("small BY LIST (w)", "give 1 partitions"),
        ("small BY LIST (s) INTO 3", "give 2 partitions"),
        ("small BY RANGE (s) EVERY 5", "type text goes by no such step"),
        ("small BY RANGE (a) EVERY '1 day'", "type integer goes by no such step"),
        ("small BY RANGE (t) EVERY 'a horse'", "invalid input syntax for type interval"),
        ("small BY RANGE (t) EVERY '-1 day'", "step of 0 or less"),
        ("small BY RANGE (t) EVERY '1 year'", "give 1 partitions"),
        ("small BY RANGE (t) EVERY '1 second'", "more than 1000 partitions"),
        ("vacant BY RANGE (a) INTO 2", "vacant has no rows"),
        ("watched BY HASH (a) INTO 2", "column of_type of table typed, rule _RETURN on materialized view kept"),
    ],
)
def test_what_cannot_be_partitioned_is_refused_before_anything_is_changed(text: str, said: str, server: Server) -> None:
    factor = SchemaPartition()
    with pytest.raises(UsageError) as refused:
        factor.on_loaded_data("schema.partition", factor.parse("schema.partition", text), server)
    assert said in refused.value.message
    assert refused.value.hint
