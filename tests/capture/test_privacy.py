"""Nothing that the user wrote between quotes leaves the server, whatever its notation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.capture.privacy import STRIPPED, is_query, private_name, secret_in, without_literals

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
    assert SECRET not in bare
    assert bare.split()[0] == text.split()[0]


def test_names_parameters_and_empty_strings_stay() -> None:
    text = "SELECT \"it's\", $1, '' FROM t WHERE a = $2::text"
    assert without_literals(text) == text
    assert without_literals("SELECT 'a'") == f"SELECT {STRIPPED}"
    squashed = "SELECT a FROM t WHERE b IN ($1 /*, ... */)"
    assert without_literals(squashed) == squashed, "PostgreSQL 18 writes so that there were more"


@given(st.text(alphabet=st.characters(blacklist_categories=["Cs"]), max_size=40))
def test_no_quoted_string_survives(inside: str) -> None:
    quoted = inside.replace("'", "''")
    assert without_literals(f"SELECT a FROM t WHERE b = '{quoted}' AND c = $1") in (
        f"SELECT a FROM t WHERE b = {STRIPPED} AND c = $1",
        "SELECT a FROM t WHERE b = '' AND c = $1",
    )


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
