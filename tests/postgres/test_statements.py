"""A script of SQL is split where psql splits it, so that each statement is one query for the server."""

import pytest

from pgassay.postgres.factors import statements

ATOMIC = "CREATE OR REPLACE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN a THEN 1 END; SELECT 2; END"


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("CREATE INDEX ON t (a)", ["CREATE INDEX ON t (a)"]),
        (
            "ALTER TABLE t SET (fillfactor = 70); VACUUM FULL t;",
            ["ALTER TABLE t SET (fillfactor = 70)", "VACUUM FULL t"],
        ),
        (" ;; SELECT 1 ;\n ; -- the end; of it", ["SELECT 1"]),
        (
            "SELECT ';', 'it''s;', E'\\';', \"a;\"\"b;\"; SELECT 2",
            ["SELECT ';', 'it''s;', E'\\';', \"a;\"\"b;\"", "SELECT 2"],
        ),
        ("SELECT '\\'; SELECT 2", ["SELECT '\\'", "SELECT 2"]),
        (
            "DO $$ BEGIN a; b; END $$; SELECT $x$ ; $$ ; $x$, $1; c",
            ["DO $$ BEGIN a; b; END $$", "SELECT $x$ ; $$ ; $x$, $1", "c"],
        ),
        ("SELECT a$b$c; SELECT d$b$", ["SELECT a$b$c", "SELECT d$b$"]),
        (
            "/* one; /* two; */ three; */ SELECT 1; SELECT 2 -- four;\n + 1",
            ["/* one; /* two; */ three; */ SELECT 1", "SELECT 2 -- four;\n + 1"],
        ),
        (
            "CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2); SELECT 3",
            ["CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2)", "SELECT 3"],
        ),
        (f"{ATOMIC}; SELECT f()", [ATOMIC, "SELECT f()"]),
        ("BEGIN; SELECT 1; END", ["BEGIN", "SELECT 1", "END"]),
        ("SELECT 'not closed; SELECT 2", ["SELECT 'not closed; SELECT 2"]),
        ("/* nothing; */ ; --", []),
    ],
)
def test_a_script_is_split_between_its_statements(script: str, found: list[str]) -> None:
    assert list(statements(script)) == found
