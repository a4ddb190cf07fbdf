"""TPC-C's rows and mix by the specification's own rules (clauses 4.3.3.1 and 5.2.3), and results by transaction."""

from collections import Counter

import pytest

from pgassay.errors import UsageError
from pgassay.load import responses, tpcc
from pgassay.load.pgbench.output import ScriptSummary, Summary
from pgassay.load.tpcc import WEIGHTS, TpccOptions
from tests.load.samples import binary_fields


def number(field: bytes | None) -> int:
    assert field is not None
    return int.from_bytes(field, "big", signed=True)


@pytest.fixture(scope="module")
def orders() -> list[list[bytes | None]]:
    return binary_fields(next(tpcc.orders(3)))


def test_the_mix_is_the_specifications_and_a_user_cannot_change_its_scripts() -> None:
    with pytest.raises(UsageError, match="script"):
        TpccOptions.from_levels({"script": "tpcb-like"})
    passed = TpccOptions.from_levels({"warehouses": "7", "clients": "4"}).pgbench
    assert {script.path.stem: script.weight for script in passed.scripts} == dict(WEIGHTS)
    assert sum(WEIGHTS.values()) == 100
    assert (passed.scale, passed.clients, passed.protocol) == (7, 4, "prepared")
    for script in passed.scripts:
        assert "not audited" in script.path.read_text(encoding="utf-8").splitlines()[0]


def test_warehouses_must_be_a_number() -> None:
    with pytest.raises(UsageError, match=r'"load\.warehouses" must be a whole number'):
        TpccOptions.from_levels({"warehouses": "ten"})


def test_orders_and_their_lines_agree(orders: list[list[bytes | None]]) -> None:
    assert len(orders) == tpcc.CUSTOMERS
    assert sorted(number(row[3]) for row in orders) == list(range(1, tpcc.CUSTOMERS + 1)), "every customer once"
    waiting = [row for row in orders if row[5] is None]
    assert [number(row[0]) for row in waiting] == list(range(tpcc.DELIVERED + 1, tpcc.CUSTOMERS + 1))
    lines = binary_fields(next(tpcc.order_line(3)))
    counted = Counter(number(row[0]) for row in lines)
    assert counted == {number(row[0]): number(row[6]) for row in orders}
    assert set(counted.values()) == set(range(5, 16))
    assert all((row[6] is None) == (number(row[0]) > tpcc.DELIVERED) for row in lines)
    waiting_too = binary_fields(next(tpcc.new_order(3)))
    assert [number(row[0]) for row in waiting_too] == [number(row[0]) for row in waiting]


def test_customers_have_every_last_name_and_one_in_ten_bad_credit() -> None:
    customers = binary_fields(next(tpcc.customer(1)))
    names = [(row[5] or b"").decode() for row in customers]
    assert set(names[:1000]) == set(tpcc.LAST_NAMES)
    assert names[371] == "PRICALLYOUGHT", "the specification's own example"
    assert names[1000:] != names[:2000]
    assert sum(row[13] == b"BC" for row in customers) / len(customers) == pytest.approx(0.1, abs=0.02)
    assert all(300 <= len(row[20] or b"") <= 500 for row in customers)


def test_a_tenth_of_the_items_is_original_and_stock_has_every_item() -> None:
    items = [row for chunk in tpcc.item() for row in binary_fields(chunk)]
    assert len(items) == tpcc.ITEMS
    assert sum(b"ORIGINAL" in (row[4] or b"") for row in items) / len(items) == pytest.approx(0.1, abs=0.01)
    stock = binary_fields(next(tpcc.stock(2)))
    assert [number(row[0]) for row in stock[:3]] == [1, 2, 3]
    assert {len(row) for row in stock} == {17}


def test_warehouses_differ_and_the_same_one_does_not() -> None:
    assert list(tpcc.district(1)) == list(tpcc.district(1))
    assert list(tpcc.warehouse(1)) != list(tpcc.warehouse(2))


def test_results_by_transaction() -> None:
    scripts = tuple(ScriptSummary(name=f"/x/{name}.sql", tps=10.0 * place, latency_ms=1.0 * place)
                    for place, name in enumerate(WEIGHTS, start=1))  # fmt: skip
    said = Summary("multiple scripts", 1, "prepared", 1, 1, 100, scripts=scripts)
    found = responses.complete(tpcc.RESPONSES, tpcc.of_scripts(said, {}))
    assert found["new_orders_per_minute"] == 600.0
    assert (found["stock_level_tps"], found["payment_latency_ms"]) == (50.0, 2.0)
    assert found["delivery_latency_p90_ms"] is None, "there was no log"
    assert set(found) == {response.name for response in tpcc.RESPONSES}
