"""What each parameter of a statement is compared with, by PostgreSQL's own grammar."""

import pytest

from pgassay.capture.format import Column, Function, Table, View
from pgassay.capture.parameters import Parsed, Role, parse
from tests.capture.schemas import TABLES

VIEWS = (
    View("public", "late", (("order_id", "public", "orders", "id"), ("at", "public", "orders", "placed_at"))),
    View("public", "latest", (("since", "public", "late", "at"), ("gone", "public", "dropped", "a"))),
)
FUNCTIONS = (Function("book", (("p_customer", "integer"), ("p_note", "text"), ("order_no", "integer"))),)


def found(text: str) -> Parsed:
    return parse(text, (*TABLES, *VIEWS), ("pay",), (), FUNCTIONS)


def roles(text: str) -> dict[int, tuple[Role, str]]:
    return {number: (use.role, use.column.name if use.column else "") for number, use in found(text).uses.items()}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("SELECT * FROM orders WHERE status = $1 LIMIT $2", {1: (Role.EQUAL, "status"), 2: (Role.LIMIT, "")}),
        ("SELECT * FROM orders o WHERE $1 = o.status OFFSET $2", {1: (Role.EQUAL, "status"), 2: (Role.OFFSET, "")}),
        ("SELECT * FROM orders WHERE id = ANY (ARRAY[$1, $2])", {1: (Role.EQUAL, "id"), 2: (Role.EQUAL, "id")}),
        ("SELECT * FROM orders WHERE placed_at > timestamp with time zone $1 AND placed_at <= date $2", {
            1: (Role.LOWER, "placed_at"), 2: (Role.UPPER, "placed_at"),
        }),
        ("SELECT $1 FROM orders WHERE id IN ($2, $3)", {
            1: (Role.CONSTANT, ""), 2: (Role.EQUAL, "id"), 3: (Role.EQUAL, "id"),
        }),
        ("SELECT * FROM orders WHERE placed_at BETWEEN $1 AND $2::date", {
            1: (Role.LOWER, "placed_at"), 2: (Role.UPPER, "placed_at"),
        }),
        ("SELECT * FROM orders WHERE $1 <= placed_at AND placed_at < $2", {
            1: (Role.LOWER, "placed_at"), 2: (Role.UPPER, "placed_at"),
        }),
        ("SELECT * FROM orders o JOIN customers c ON c.id = o.customer_id WHERE c.email = $1 AND o.id = $2", {
            1: (Role.EQUAL, "email"), 2: (Role.EQUAL, "id"),
        }),
        ("INSERT INTO orders (status, customer_id) VALUES ($1, $2), ($3, $4)", {
            1: (Role.ASSIGNED, "status"), 2: (Role.ASSIGNED, "customer_id"),
            3: (Role.ASSIGNED, "status"), 4: (Role.ASSIGNED, "customer_id"),
        }),
        ("INSERT INTO customers SELECT $1, $2", {1: (Role.ASSIGNED, "id"), 2: (Role.ASSIGNED, "email")}),
        ("UPDATE orders SET (status, note) = ($1, $2), customer_id = customer_id + $3 WHERE id = $4", {
            1: (Role.ASSIGNED, "status"), 2: (Role.ASSIGNED, "note"), 3: (Role.ADDED, "customer_id"),
            4: (Role.EQUAL, "id"),
        }),
        ("INSERT INTO customers VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET email = $3", {
            1: (Role.ASSIGNED, "id"), 2: (Role.ASSIGNED, "email"), 3: (Role.ASSIGNED, "email"),
        }),
        ("WITH x AS (SELECT * FROM orders WHERE id = $1) DELETE FROM customers USING x WHERE email = $2", {
            1: (Role.EQUAL, "id"), 2: (Role.EQUAL, "email"),
        }),
    ],
)  # fmt: skip
def test_a_parameter_has_its_column(text: str, wanted: dict[int, tuple[Role, str]]) -> None:
    assert roles(text) == wanted
    assert found(text).refused == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT * FROM orders WHERE length(note) > $1", "no column"),
        ("SELECT * FROM orders WHERE placed_at = date_bin($1, now(), $1)", "argument of date_bin"),
        ("SELECT $1::mood", "of type mood"),
        ("SELECT * FROM generate_series(1, $1)", "argument of generate_series"),
        ("SELECT book(order_no => $1)", "argument book(order_no), of which no column"),
    ],
)
def test_what_is_not_known_says_why(text: str, reason: str) -> None:
    (use,) = found(text).uses.values()
    assert use.role is Role.UNKNOWN
    assert reason in use.reason


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("SELECT * FROM orders WHERE status ILIKE $1 AND note ~ $2", {
            1: (Role.PATTERN, "status"), 2: (Role.PATTERN, "note"),
        }),
        ("SELECT * FROM orders WHERE id = ANY ($1) AND status <> ALL ($2::text[])", {
            1: (Role.ARRAY, "id"), 2: (Role.ARRAY, "status"),
        }),
        ("SELECT left(note, $1), coalesce(status, $2), extract($3 FROM placed_at), $4::date FROM orders", {
            1: (Role.CONSTANT, ""), 2: (Role.VALUE, "status"), 3: (Role.CONSTANT, ""), 4: (Role.CONSTANT, ""),
        }),
        ("SELECT * FROM orders WHERE lower(status) = lower($1) AND placed_at::date = $2", {
            1: (Role.EQUAL, "status"), 2: (Role.EQUAL, "placed_at"),
        }),
        ("SELECT * FROM orders WHERE placed_at > now() - $1 * interval $2", {
            1: (Role.CONSTANT, ""), 2: (Role.LOWER, "placed_at"),
        }),
        ("SELECT * FROM orders WHERE now() - placed_at < $1::interval", {1: (Role.LOWER, "placed_at")}),
        ("SELECT * FROM orders WHERE placed_at < current_date - make_interval(days => $1)", {
            1: (Role.UPPER, "placed_at"),
        }),
        ("SELECT * FROM orders WHERE (placed_at, id) > ($1, $2)", {
            1: (Role.LOWER, "placed_at"), 2: (Role.LOWER, "id"),
        }),
        ("SELECT * FROM orders WHERE note @> $1 AND status ->> $2 = $3 AND $4 = ANY (note)", {
            1: (Role.PART, "note"), 2: (Role.KEY, "status"), 3: (Role.MEMBER, "status"), 4: (Role.PART, "note"),
        }),
        ("SELECT * FROM orders WHERE to_tsvector($1, note) @@ plainto_tsquery($2, $3)", {
            1: (Role.CONSTANT, ""), 2: (Role.CONSTANT, ""), 3: (Role.WORD, "note"),
        }),
        ("SELECT count(*) FROM orders GROUP BY status HAVING count(*) > $1", {1: (Role.CONSTANT, "")}),
        ("SELECT CASE status WHEN $1 THEN $2 END FROM orders WHERE $3 = $4", {
            1: (Role.EQUAL, "status"), 2: (Role.CONSTANT, ""), 3: (Role.CONSTANT, ""), 4: (Role.CONSTANT, ""),
        }),
        ("WITH x AS (SELECT id AS number, max(placed_at) AS last FROM orders) SELECT * FROM x y WHERE y.number = $1", {
            1: (Role.EQUAL, "id"),
        }),
        ("SELECT * FROM latest l, (SELECT * FROM late) s WHERE l.since > $1 AND s.order_id = $2", {
            1: (Role.LOWER, "placed_at"), 2: (Role.EQUAL, "id"),
        }),
        ("SELECT book($1, $2)", {1: (Role.EQUAL, "customer_id"), 2: (Role.CONSTANT, "")}),
        ("SELECT id FROM orders WHERE status NOT IN ($1, $2) OR status <> $3", {
            1: (Role.OTHER, "status"), 2: (Role.OTHER, "status"), 3: (Role.OTHER, "status"),
        }),
    ],
)  # fmt: skip
def test_what_statements_of_applications_hold_has_a_column_or_is_a_constant(
    text: str, wanted: dict[int, tuple[Role, str]]
) -> None:
    assert roles(text) == wanted
    assert found(text).refused == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT FROM WHERE", "cannot be parsed"),
        ("SELECT 1; SELECT 2", "not one statement"),
        ("CREATE TABLE t ()", "a create is not played"),
        ("SELECT * FROM invoices", "reads invoices, which is not a table"),
        ("SELECT pay(id) FROM orders", "calls pay"),
        ("SELECT * INTO copied FROM orders", "makes a table"),
    ],
)
def test_a_statement_that_cannot_be_played_is_refused(text: str, reason: str) -> None:
    assert reason in found(text).refused


def test_views_of_each_other_end() -> None:
    circle = [View("public", one, (("a", "public", other, "a"),)) for one, other in (("v", "w"), ("w", "v"))]
    (use,) = parse("SELECT * FROM v WHERE a = $1", circle).uses.values()
    assert use.role is Role.UNKNOWN


def test_system_catalogs_are_no_strangers() -> None:
    assert found("SELECT 1 FROM pg_class, pg_catalog.pg_index, information_schema.tables").refused == ""


def test_comments_go_and_places_are_those_of_the_text_that_stays() -> None:
    parsed = found("SELECT 'ä' /* $9 */,\n status -- why\n FROM orders WHERE id=$1 AND status = $2;")
    assert parsed.text == "SELECT 'ä' , status FROM orders WHERE id=$1 AND status = $2"
    assert [parsed.text[start:end] for start, end, _ in parsed.places] == ["$1", "$2"]


def test_the_rest_of_a_list_that_the_server_left_out_is_seen() -> None:
    parsed = found("SELECT id FROM orders WHERE id IN ($1 /*, ... */) AND status = $2 /* why */")
    assert parsed.lists == {1}
    assert parsed.text == "SELECT id FROM orders WHERE id IN ($1 ) AND status = $2"
    assert found("SELECT id FROM orders WHERE id = ANY (ARRAY[$1 /*, ... */])").lists == {1}


def test_aggregates_and_limits_are_seen() -> None:
    assert found("SELECT sum(id) FROM orders").aggregates
    assert found("SELECT id FROM orders LIMIT $1").limited
    assert not found("SELECT id FROM orders").aggregates


CARE = Table("care", "message", 100.0, 2, (Column("channel", "text", common_values=("sms", "letter")),))
OLD = Table("public", "message", 9.0, 1, (Column("channel", "text", common_values=("fax",)),))


@pytest.mark.parametrize(
    ("paths", "name", "wanted"),
    [
        ([("care", "ops", "public")], "message", CARE),
        ([("public", "care")], "message", OLD),
        ([("care", "public"), ("care",)], "message", CARE),
        ([("ops",)], "care.message", CARE),
        ([("care",)], "public.message", OLD),
        ([], "message", OLD),
    ],
)
def test_a_name_means_the_table_that_the_server_takes(paths: list[tuple[str, ...]], name: str, wanted: Table) -> None:
    parsed = parse(f"SELECT * FROM {name} WHERE channel = $1", (OLD, CARE), (), paths)
    assert (parsed.refused, parsed.uses[1].table) == ("", wanted)


@pytest.mark.parametrize("paths", [[("care", "public"), ("public", "care")], [("ops",)]])
def test_a_name_that_may_mean_two_tables_is_not_guessed(paths: list[tuple[str, ...]]) -> None:
    parsed = parse("UPDATE message SET channel = $1", (OLD, CARE), (), paths)
    assert "message is" in parsed.refused
    assert "care.message" in parsed.refused
    assert "public.message" in parsed.refused
    alone = parse("UPDATE message SET channel = $1", (CARE,), (), [("ops",)])
    assert (alone.refused, alone.uses[1].table) == ("", CARE)
