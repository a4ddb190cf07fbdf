"""A captured statement becomes a script that pgbench and our player read, or is named with its reason."""

import re
from dataclasses import replace

import pytest

from pgassay.capture.format import Capture, Column, Cost, Data, Function, Load, Source, Statement, Table
from pgassay.capture.scripts import LIST_MAX, SCRIPTS_MAX, TUPLES, scripted
from tests.capture.schemas import TABLES

SOURCE = Source("17.5", 17, "app", "UTF8", "C", False, {"work_mem": "4MB"}, ("port",), ("pg_stat_statements",), {})


def capture(*statements: Statement) -> Capture:
    load = Load(10.0, statements)
    return Capture("2026-01-01T00:00:00Z", "0", SOURCE, TABLES, ("pay",), load, Data(), Cost(1.0, 1, 1.0, 1))


def script_of(text: str, calls: int = 10, rows: int = 10, **more: object) -> str:
    statement = replace(Statement(1, text, calls, 5.0, rows), **more)  # type: ignore[arg-type]
    (played,) = scripted(capture(statement)).played
    return played.text


def reason_of(text: str) -> str:
    (unplayed,) = scripted(capture(Statement(1, text, 1, 5.0, 1))).unplayed
    return unplayed.reason


def keyed_script_of(text: str) -> str:
    """Of a capture that tells of each column whether it is part of a key."""
    tables = [
        replace(table, columns=tuple(replace(each, keyed=each.unique) for each in table.columns)) for table in TABLES
    ]
    (played,) = scripted(replace(capture(Statement(1, text, 1, 5.0, 1)), tables=tuple(tables))).played
    return played.text


def last_line(text: str) -> str:
    return text.splitlines()[-1]


def test_a_key_is_drawn_each_time() -> None:
    text = script_of("SELECT status FROM orders WHERE id = $1")
    assert "\\set p1 random(1, 1001)\nSELECT status FROM orders WHERE id = (:p1);\n" in text
    assert "-- $1: compared with orders.id: drawn each time" in text


def test_texts_stand_in_a_branch_each() -> None:
    text = script_of("SELECT id FROM orders WHERE status = $1")
    assert f"\\set chosen random(1, {TUPLES})" in text
    assert text.count("SELECT id FROM orders WHERE status = E'open';") == 48
    assert text.count("SELECT id FROM orders WHERE status = E'it\\x27s\\x3a done';") == 16
    assert text.count("\\if ") + text.count("\\elif ") == TUPLES
    assert last_line(text) == "\\endif"


def test_a_range_is_as_wide_as_the_rows_that_it_returned() -> None:
    text = script_of("SELECT id FROM orders WHERE id >= $1 AND id < $2", calls=10, rows=1000)
    assert "\\set p1 random(1, 902)\n\\set p2 :p1 + 99" in text
    assert "0.1 of it (by the rows that it returned)" in text


def test_a_range_of_an_aggregate_is_assumed_and_stays_in_order() -> None:
    text = script_of("SELECT count(*) FROM orders WHERE placed_at BETWEEN $1 AND $2")
    assert "0.05 of it (assumed)" in text
    bounds = [line.split("E'")[1:] for line in text.splitlines() if line.startswith("SELECT")]
    assert len(bounds) == TUPLES
    assert all(low.rstrip("' AND") < high for low, high in bounds)


def test_a_list_of_unknown_length_has_as_many_values_as_rows_came_back() -> None:
    text = script_of("SELECT note FROM orders WHERE id IN ($1 /*, ... */)", calls=10, rows=30)
    assert last_line(text) == "SELECT note FROM orders WHERE id IN ((:p1_1), (:p1_2), (:p1_3) );"
    assert "$1: a list of 3 values of orders.id (by the rows that it returned)" in text
    assert text.count("\\set p1_") == 3
    few = script_of("SELECT count(*) FROM orders WHERE status IN ($1 /*, ... */)")
    assert "a list of 2 values of orders.status (the fewest that are written so)" in few
    assert few.count("count(*) FROM orders WHERE status IN (E'") == TUPLES
    assert f"a list of {LIST_MAX} values" in script_of("SELECT id FROM orders WHERE id IN ($1 /*, ... */)", 1, 900)


def test_a_value_behind_the_name_of_its_type_is_a_constant() -> None:
    text = script_of("SELECT id FROM orders WHERE placed_at > now() - interval $1", parameters=(("7 days",),))
    assert "placed_at > now() - interval E'7 days';" in text
    text = script_of("SELECT id FROM orders WHERE placed_at = timestamp with time zone $1")
    assert "WHERE placed_at = timestamp with time zone E'2025-01-" in text


def test_an_interval_leads_back_to_a_time_that_as_many_rows_are_after_as_came_back() -> None:
    text = script_of("SELECT id FROM orders WHERE placed_at > now() - $1 * interval $2", calls=10, rows=1000)
    assert "from a value of orders.placed_at, 0.1 of it (by the rows that it returned)" in text
    sent = [line for line in text.splitlines() if line.startswith("SELECT")]
    assert all("placed_at > now() - 1 * (now() - E'2025-01-2" in each for each in sent), "the last tenth of January"
    assert all(each.endswith("+00'::timestamptz)::interval;") for each in sent)
    few = script_of("SELECT id FROM orders WHERE status = $1 AND placed_at < now() - $2::interval", calls=10, rows=500)
    assert "to a value of orders.placed_at, 0.1 of it" in few, "twice as much, since one of two states is chosen"


def test_an_array_has_as_many_values_as_rows_came_back() -> None:
    text = script_of("SELECT note FROM orders WHERE id = ANY ($1)", calls=10, rows=30)
    assert all(line.count('"') == 6 for line in text.splitlines() if line.startswith("SELECT"))
    assert "= ANY (E'{\"open\"}'::text[]);" in script_of("SELECT id FROM orders WHERE status = ANY ($1::text[])")


def test_a_pattern_is_the_beginning_of_a_value() -> None:
    text = script_of("SELECT id FROM orders WHERE status ILIKE $1 LIMIT $2")
    assert set(re.findall(r"ILIKE E'([^']*)'", text)) == {"ope%", "it\\x27%"}
    parts = script_of("SELECT id FROM orders WHERE status LIKE $1 || $2 || $3 LIMIT $4")
    assert "LIKE '%' || E'ope' || '%' LIMIT 1;" in parts


def test_what_chooses_no_rows_is_a_constant() -> None:
    text = script_of("SELECT left(note, $1), coalesce(note, $2), to_char(placed_at, $3) FROM orders WHERE id = $4")
    assert last_line(text) == (
        "SELECT left(note, '20'), coalesce(note, NULL), to_char(placed_at, 'YYYY-MM-DD') FROM orders WHERE id = (:p4);"
    )


def test_functions_are_called_unless_they_reach_out_of_the_database() -> None:
    call, name = Statement(1, "SELECT pay(id) FROM orders", 1, 5.0, 1), "pay"
    whole = replace(capture(call), functions=(Function(name),))
    assert len(scripted(whole).played) == 1
    for less in (
        replace(whole, functions=()), replace(whole, functions=(Function(name, trusted=False),)),
        replace(whole, source=replace(SOURCE, extensions={"dblink": "1.2"})),
    ):  # fmt: skip
        assert "calls pay" in scripted(less).unplayed[0].reason


def test_a_limit_is_the_mean_of_the_rows() -> None:
    assert last_line(script_of("SELECT id FROM orders LIMIT $1", calls=4, rows=10)) == "SELECT id FROM orders LIMIT 3;"


def test_an_insert_has_new_keys_and_meets_no_conflict() -> None:
    text = script_of("INSERT INTO orders (id, note, customer_id) VALUES ($1, $2, $3) RETURNING id")
    assert "\\set p1 random(1002, 1000001001)" in text
    assert last_line(text) == (
        "INSERT INTO orders (id, note, customer_id) VALUES ((:p1), NULL, (:p3)) ON CONFLICT DO NOTHING RETURNING id;"
    )
    assert last_line(script_of("INSERT INTO customers (email) VALUES ($1)")) == (
        "INSERT INTO customers (email) VALUES (left(md5(random()::text), 20)) ON CONFLICT DO NOTHING;"
    )
    assert "DO NOTHING" not in script_of("INSERT INTO orders (id) VALUES ($1) ON CONFLICT (id) DO UPDATE SET note = $2")


def test_an_insert_that_gives_values_to_no_key_is_sent_as_it_is() -> None:
    """ON CONFLICT inserts speculatively, which is a record of WAL more (src/backend/executor/README)."""
    insert = "INSERT INTO orders (customer_id, note) VALUES ($1, 'a')"
    assert "DO NOTHING" in script_of(insert), "an older capture does not tell of keys"
    assert last_line(keyed_script_of(insert)).endswith(", 'a');")
    nested = "WITH moved AS (INSERT INTO orders (note) VALUES ('b') RETURNING id) INSERT INTO orders (id) SELECT 1"
    for other in (
        "INSERT INTO orders (id, note) VALUES (DEFAULT, 'a')", "INSERT INTO orders DEFAULT VALUES",
        "INSERT INTO orders VALUES (1)", nested,
    ):  # fmt: skip
        assert "DO NOTHING" in keyed_script_of(other)


def test_observed_parameters_prevail() -> None:
    text = script_of("SELECT id FROM orders WHERE status LIKE $1", parameters=(("a:%",), (None,)))
    assert "SELECT id FROM orders WHERE status LIKE E'a\\x3a%';" in text
    assert "SELECT id FROM orders WHERE status LIKE NULL;" in text


def test_an_observed_key_that_cannot_be_made_anew_is_said_to_be_observed() -> None:
    visits = Table("public", "visits", 10.0, 1, (Column("at", "numeric", not_null=True, unique=True),))
    insert = Statement(1, "INSERT INTO visits (at) VALUES ($1)", 1, 5.0, 1, parameters=(("7",),))
    (played,) = scripted(replace(capture(insert), tables=(visits,))).played
    assert "VALUES (E'7')" in played.text
    assert "as observed" in played.text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not part of the capture"),
        ("<insufficient privilege>", "not part of the capture"),
        ("SET LOCAL", "a utility statement is not played"),
        ("COPY orders (id, status) FROM STDIN", "a utility statement is not played"),
        ("SELECT id FROM orders WHERE note = $1", "nothing is known of the values of orders.note"),
        ("SELECT id FROM orders WHERE length(status) > $1", "$1 is not known: it is compared with no column"),
        ("SELECT id FROM orders WHERE note LIKE $1", "nothing is known of the values of orders.note"),
        ("SELECT id FROM orders WHERE status = '<literal>'", "literals, which are not part of the capture"),
        ("SELECT (ARRAY[1, 2])[1:n] FROM orders, (SELECT 1 AS n) x", "a colon"),
        ("SELECT pay(id) FROM orders", "calls pay"),
    ],
)
def test_what_cannot_be_played_is_named(text: str, reason: str) -> None:
    assert reason in reason_of(text)


def test_shares_of_time_are_of_all_statements() -> None:
    load = scripted(capture(Statement(1, "SELECT 1", 1, 75.0, 1), Statement(2, "VACUUM", 1, 25.0, 0)))
    assert [each.time_share for each in load.unplayed] == [0.25]
    assert load.time_share == 0.75


def test_no_more_scripts_are_made_than_pgbench_takes() -> None:
    many = [Statement(n, f"SELECT {n}", 1, 1.0, 1) for n in range(SCRIPTS_MAX + 2)]
    load = scripted(capture(*many))
    assert (len(load.played), len(load.unplayed)) == (SCRIPTS_MAX, 2)
    assert "pgbench takes no more scripts" in load.unplayed[0].reason


def test_the_same_capture_makes_the_same_scripts() -> None:
    statement = Statement(1, "SELECT id FROM orders WHERE status = $1", 1, 1.0, 1)
    assert scripted(capture(statement)) == scripted(capture(statement))
