"""What PostgreSQL cannot do with a table is said before anything runs, with the statements that would change it."""

from dataclasses import replace

import pytest

from pgassay.errors import UsageError
from pgassay.postgres.partitioning.request import parse
from pgassay.postgres.partitioning.table import Key, Shape, find, require

PRIMARY = Key("orders_pkey", "PRIMARY KEY", ("id",), (("order_items", "items_fkey"),))
UNIQUE = Key("Mail", "UNIQUE INDEX", ("mail",))
ORDERS = Shape("orders", "r", ("id", "day", "mail"), (PRIMARY,))


def refused(text: str, shape: Shape, major: int = 15) -> UsageError:
    (asked,) = parse(text)
    with pytest.raises(UsageError) as found:
        require(asked, shape, major)
    return found.value


def test_keys_that_lack_the_column_are_named_with_what_would_have_to_change() -> None:
    error = refused("orders BY RANGE (day) INTO 4", replace(ORDERS, keys=(PRIMARY, UNIQUE)))
    assert "orders_pkey PRIMARY KEY (id)" in error.message
    assert '"Mail" UNIQUE INDEX (mail)' in error.message
    assert "the foreign keys items_fkey of order_items refer" in error.message
    assert (error.hint or "").endswith(
        '--set "schema.change=ALTER TABLE order_items DROP CONSTRAINT items_fkey; ALTER TABLE orders DROP CONSTRAINT'
        ' orders_pkey, ADD PRIMARY KEY (id, day); DROP INDEX "Mail"; CREATE UNIQUE INDEX ON orders (mail, day)"'
    )
    assert "partition by id, or" in (refused("orders BY RANGE (day) INTO 4", ORDERS).hint or "")


def test_a_table_whose_keys_have_the_column_can_be_partitioned() -> None:
    for text in ("orders BY HASH (id) INTO 4", "orders BY RANGE (id) INTO 4"):
        require(parse(text)[0], ORDERS, 13)
    require(parse("orders BY LIST (mail)")[0], replace(ORDERS, keys=()), 13)


@pytest.mark.parametrize(
    ("shape", "major", "said"),
    [
        (replace(ORDERS, kind="v"), 15, "orders is a view"),
        (replace(ORDERS, kind="p"), 15, "orders is partitioned already"),
        (replace(ORDERS, inherits=True), 15, "is a partition or inherits"),
        (replace(ORDERS, columns=("day",)), 15, "orders has no column id"),
        (replace(ORDERS, generated=frozenset({"id"})), 15, "id, which is generated"),
        (replace(ORDERS, keys=(Key("no_two", "EXCLUDE", ("id",)),)), 16, "exclusion constraints"),
        (replace(ORDERS, not_valid=("to_customers",)), 17, "NOT VALID"),
        (replace(ORDERS, hindrances=("rule r on table x",)), 15, "while these depend on it: rule r on table x"),
    ],
)
def test_what_postgresql_cannot_partition_is_refused(shape: Shape, major: int, said: str) -> None:
    assert said in refused("orders BY HASH (id) INTO 4", shape, major).message


def test_newer_versions_take_more() -> None:
    shape = replace(ORDERS, keys=(Key("no_two", "EXCLUDE", ("id",)),), not_valid=("to_customers",))
    require(parse("orders BY HASH (id) INTO 4")[0], shape, 18)


def test_a_table_is_found_by_name_in_the_schema_that_is_meant() -> None:
    tables = {("public", "a"): ORDERS, ("shop", "a"): replace(ORDERS, name="shop.a"), ("shop", "b"): ORDERS}
    assert find(parse("shop.a BY LIST (id)")[0], tables).name == "shop.a"
    assert find(parse("a BY LIST (id)")[0], tables).name == "orders"
    assert find(parse("b BY LIST (id)")[0], tables) is ORDERS
    for name in ("c", "public.b"):
        with pytest.raises(UsageError, match="there is no table"):
            find(parse(f"{name} BY LIST (id)")[0], tables)
