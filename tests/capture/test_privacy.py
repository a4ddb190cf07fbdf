"""No value that stands in a statement leaves the server, whatever its notation and its place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.capture.privacy import is_query, private_name, secret_in, without_literals

SECRET = "hunter2"


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT a FROM t WHERE b = '{SECRET}'",
        f"SELECT a FROM t WHERE b = 'it''s {SECRET}'",
        f"SELECT a FROM t WHERE b = E'it\\'s {SECRET}'",
        f"SELECT a FROM t WHERE b = $$ {SECRET} $$",
        f"SELECT a FROM t WHERE b = $x$ $$ {SECRET} $x$",
        f"SELECT a /* {SECRET} */ FROM t",
        f"SELECT a FROM t -- {SECRET}",
        f"ALTER ROLE app PASSWORD '{SECRET}'",
        f"CREATE USER {SECRET}",
        f"COPY t FROM PROGRAM '{SECRET}'",
    ],
)
def test_what_was_written_between_quotes_or_in_a_comment_is_gone(text: str) -> None:
    bare = without_literals(text)
    assert bare is not None
    assert SECRET not in bare
    assert bare.split()[0] == text.split()[0]


def test_names_parameters_and_positions_stay() -> None:
    text = 'SELECT "it\'s", $1, $3 FROM t WHERE a = $2::numeric(10,2) ORDER BY 1, 2'
    assert without_literals(text) == text
    squashed = "SELECT a FROM t WHERE b IN ($1 /*, ... */)"
    assert without_literals(squashed) == squashed, "PostgreSQL 18 writes so that there were more"
    raw = "SELECT a -- b\n FROM t WHERE no = 4111111111111111 AND b = ANY ('{1,2}') LIMIT 5;"
    assert without_literals(raw) == "SELECT a FROM t WHERE no = $1 AND b = ANY ($2) LIMIT $3", "as the server writes it"


@pytest.mark.parametrize("text", ["SELECT 'x", "SELECT FROM WHERE 4111", "SELECT a FROM t WHERE b = = 5"])
def test_what_cannot_be_parsed_is_left_out(text: str) -> None:
    assert without_literals(text) is None


def test_a_name_that_looks_like_a_value_is_one_unless_the_database_has_it() -> None:
    text = "SELECT * FROM orders_p20260101120000 WHERE a = $1"
    assert without_literals(text) is None
    assert without_literals(text, {"orders_p20260101120000"}) == text
    assert without_literals('SELECT 1 AS "a@b.c"') is None


CARD, EMAIL, KEY = "4111111111111111", "jane.roe@example.org", "sk_live_4eC39HqLyjWDarjtT1zdp7dc"
PLANTED = st.sampled_from([CARD, EMAIL, KEY])
QUOTED = [
    "'{0}'", "E'\\n{0}'", "e'it\\'s {0}'", "$${0}$$", "$t1${0}$t1$", "U&'\\0041{0}'", "u&'d!0061{0}' UESCAPE '!'",
    "'it''s {0}'", "'a'\n  '{0}'", "'{0}'::text", "CAST('{0}' AS text)", "text '{0}'",
    "ARRAY['{0}']", "'{{\"{0}\"}}'::text[]",
    "('{{\"k\": \"{0}\"}}'::jsonb ->> 'k')", "concat('x', '{0}')", "(SELECT '{0}')", "ROW('{0}', 1)", "''/*{0}*/",
    "NULL -- {0}\n", "NULL /* a /* {0} */ b */", "xmlelement(name a, '{0}')", "'{0}' COLLATE \"C\"",
]  # fmt: skip
NUMERIC = ["{0}", "-{0}", "{0}.5", "0.{0}", "{0}e3", "B'101'::bit({0})", "X'{0}'", "B'1{0}'", "ARRAY[{0}, 2]",
           "a[{0}]",
           "{0}::numeric", "numeric '{0}'", "row_number() OVER (ORDER BY a ROWS {0} PRECEDING)",
           "1_{0}", "0x{0}"]  # fmt: skip
STATEMENTS = [
    "SELECT {0}", "SELECT a FROM t WHERE no = {0} ORDER BY 1", "INSERT INTO t VALUES ({0}, 1)", "UPDATE t SET a = {0}",
    "DELETE FROM t WHERE a IN ({0}, {0}) RETURNING {0}", "SELECT a FROM t LIMIT {0}", "SELECT a FROM t GROUP BY a, {0}",
    "WITH x AS MATERIALIZED (SELECT {0}) SELECT * FROM x", "VALUES ({0})", "SELECT a FROM t TABLESAMPLE system ({0})",
    "SELECT * FROM generate_series(1, {0})", "CALL pay({0})", "EXECUTE s({0})", "SET app.user = {0}",
    "SELECT 1; SELECT {0}",
    "MERGE INTO t USING s ON t.a = {0} WHEN MATCHED THEN UPDATE SET a = {0}", "PREPARE s AS SELECT {0}", "DO {0}",
    "ALTER ROLE app PASSWORD {0}", "NOTIFY c, {0}", "EXPLAIN SELECT {0}", "CREATE VIEW v AS SELECT {0}",
    "SELECT {0} {0}",
]  # fmt: skip
NAMES = ['SELECT 1 AS "{0}"', 'SELECT "{0}".a FROM t "{0}"', 'SAVEPOINT "{0}"', 'SELECT U&"{0}"', "SELECT 1 AS x{0}",
         'DEALLOCATE "{0}"', 'WITH "{0}" AS (SELECT 1) SELECT 1', 'FETCH ALL FROM "{0}"', "SELECT a.x{0} FROM a",
         'SET ROLE "{0}"', 'LISTEN "{0}"', "SELECT x{0}(1)"]  # fmt: skip


@given(st.sampled_from(STATEMENTS), PLANTED, st.data(), st.sampled_from(["", "/* {0} */ ", "-- {0}\n", " "]))
def test_no_planted_value_survives_in_any_literal(text: str, value: str, data: st.DataObject, before: str) -> None:
    places = QUOTED + (NUMERIC if value == CARD else [])
    literal = data.draw(st.sampled_from(places)).format(value)
    found = without_literals((before + text).format(literal if "{0}" in text else value).replace("{0}", value))
    assert found is None or not _holds(found, value), found


@given(st.sampled_from(NAMES), PLANTED)
def test_no_planted_value_survives_as_a_name(text: str, value: str) -> None:
    found = without_literals(text.format(value))
    assert found is None or secret_in(found) or not _holds(found, value), found


@given(PLANTED, st.text(max_size=30), st.text(max_size=30))
def test_no_planted_value_survives_in_any_text(value: str, before: str, after: str) -> None:
    found = without_literals(f"SELECT a FROM t WHERE b = '{before}{value}{after}' AND c = 5")
    assert found is None or not _holds(found, value), found


def _holds(text: str, value: str) -> bool:
    return value.lower() in text.lower()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("CREATE SUBSCRIPTION s CONNECTION 'host=a password=x'", "a password"),
        ("SELECT dblink('postgres://app:x1@db/app')", "a password"),
        ("SELECT 'AKIAABCDEFGHIJKLMNOP'", "an access key"),
        ("-----BEGIN RSA PRIVATE KEY-----", "a private key"),
        ("SELECT password FROM users WHERE id = $1", None),
    ],
)
def test_secrets_are_recognised_by_their_shape(text: str, what: str | None) -> None:
    assert secret_in(text) == what


def test_private_columns_are_known_by_their_names() -> None:
    assert [name for name in ("password_hash", "api_key", "iban", "passage", "email") if private_name(name)] == [
        "password_hash", "api_key", "iban",
    ]  # fmt: skip


def test_queries_are_told_from_utility_statements() -> None:
    queries = ["select 1", " (SELECT 1)", "WITH x AS (SELECT 1) SELECT", "delete from t", "MERGE INTO t"]
    assert [is_query(each) for each in queries] == [True] * 5
    assert [is_query(each) for each in ("VACUUM", "SELECTED", "SET a", "")] == [False] * 4
