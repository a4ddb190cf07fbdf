"""Scripts of one's own that certainly only read are known as such; every other counts as writing."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.load.cacheprobe import CacheprobeOptions
from pgassay.load.pgbench.options import (
    PgbenchOptions,
    Statement,
    only_reads,
    parse_scripts,
    queries,
    round_trips,
    unset_variable,
)

READS = (
    "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;",
    "\\set aid random(1, 100000 * :scale)\nBEGIN;\nSELECT sum(v) FROM t WHERE id IN (:aid, :aid + 1);\nEND;\n",
    "\\set a \\\n  random(1, 10)\nSELECT :a::int;",
    "select count(*) filter (where note = 'delete; it''s') from t -- update t set a = 1\n;",
    "SELECT max(id) AS top FROM t \\gset\nSELECT * FROM t WHERE id = :top;",
    "WITH x AS (SELECT 1) SELECT * FROM x;",
    "SELECT $$insert into t$$, E'it\\'s; delete', \"update\" FROM t;",
    "/* merge */ VALUES (1), (2);",
)
WRITES = (
    "",
    "\\set aid 1",
    "UPDATE t SET a = 1;",
    "SELECT 1;\nINSERT INTO t VALUES (1);",
    "WITH gone AS (DELETE FROM t RETURNING *) SELECT * FROM gone;",
    "SELECT * FROM t WHERE id = :id FOR UPDATE;",
    "SELECT * FROM t WHERE id = :id FOR KEY SHARE;",
    "SELECT a INTO other FROM t;",
    "SELECT pay_invoice(:id);",
    "SELECT nextval('s');",
    'SELECT "sum"(1);',
    "CALL month_end();",
    "\\shell touch file\nSELECT 1;",
    "SELECT 1 \\gset\nDELETE FROM t;",
    "DO $$ BEGIN NULL; END $$;",
)


@pytest.mark.parametrize("script", READS)
def test_queries_only_read(script: str) -> None:
    assert only_reads(script)


@pytest.mark.parametrize("script", WRITES)
def test_what_writes_or_may_write_does_not_only_read(script: str) -> None:
    assert not only_reads(script)


@given(
    before=st.lists(st.sampled_from(READS)), after=st.lists(st.sampled_from(READS)), write=st.sampled_from(WRITES[2:])
)
def test_one_statement_that_writes_is_enough(before: list[str], after: list[str], write: str) -> None:
    assert not only_reads("\n".join((*before, write, *after)))


def test_a_load_of_own_queries_reads_only_and_a_missing_file_is_not_known_to(tmp_path: Path) -> None:
    reads, writes = tmp_path / "reads.sql", tmp_path / "writes.sql"
    reads.write_text(READS[0])
    writes.write_text(WRITES[2])
    assert PgbenchOptions(scripts=parse_scripts(f"{reads}@3,select-only")).reads_only
    assert not PgbenchOptions(scripts=parse_scripts(f"{reads},{writes}")).reads_only
    assert not PgbenchOptions(scripts=parse_scripts(f"{tmp_path / 'missing.sql'}")).reads_only
    assert not PgbenchOptions(scripts=parse_scripts("simple-update")).reads_only
    assert CacheprobeOptions().reads_only


@pytest.mark.parametrize(
    ("script", "trips"),
    [
        ("SELECT 1;", 1),
        ("\\set i 1\nBEGIN;\nUPDATE t SET n = ';' WHERE i = :i;\n-- a; b;\nEND;\n", 3),
        ("SELECT 1 \\gset\nSELECT 2", 2),
        ("SELECT 1 \\; SELECT 2;", 1),
        ("", 0),
        (";;", 0),
        ("\\if :a\nSELECT 1;\n\\endif\n", None),
        ("\\startpipeline\nSELECT 1;\nSELECT 2;\n\\endpipeline\n", 1),
        ("SELECT 0\n\\startpipeline\nSELECT 1;\n\\syncpipeline\nSELECT 2\n\\endpipeline\nSELECT 3;\n", 3),
        ("\\startpipeline\n\\endpipeline\n" * 2, 2),
        ("\\startpipeline\nSELECT 1;\n", None),
        ("\\endpipeline\nSELECT 1;\n", None),
        ("\\if :a\n\\startpipeline\n\\endif\n\\endpipeline\n", None),
    ],
)
def test_round_trips_are_counted_where_the_text_tells(script: str, trips: int | None) -> None:
    assert round_trips(script) == trips


CASES = Path(__file__).parents[1] / "cases" / "20-pgbench-variables"


@pytest.mark.parametrize(("name", "unset"), [("mult.sql", (0, 1, "multiplier")), ("dvar.sql", (0, 1, "tenants"))])
def test_a_variable_that_nothing_sets_is_found_with_its_line(name: str, unset: tuple[int, int, str]) -> None:
    script = (CASES / name).read_text()
    assert unset_variable([script], ()) == unset
    assert unset_variable([script], [unset[2]]) is None
    assert unset_variable([script, f"\\set {unset[2]} 1\nSELECT 1;"], ()) is None, "another script may set it"


@pytest.mark.parametrize(
    "script",
    [
        "\\set a \\\n  random(1, 10 * :scale)\nSELECT :a, :client_id;",
        "SELECT '12:30:00', \"a:b\", a[1:n], b::text, $$ :x $$ -- :y\n/* :z */;",
        "SELECT max(id) AS top FROM t \\gset t_\nSELECT :t_top;",
        "SELECT max(id) AS top FROM t \\gset\nSELECT :top;",
        "SELECT id FROM t\n\\gset x\n\\if :xid\nSELECT 1;\n\\endif",
    ],
)
def test_what_is_no_variable_or_has_a_value_is_not_refused(script: str) -> None:
    assert unset_variable([script], ()) is None


def test_a_variable_of_a_statement_is_found_too() -> None:
    assert unset_variable(["SELECT 1;\n\\sleep 1 s\nSELECT *\n  FROM t WHERE id = :id;"], ()) == (0, 4, "id")
    assert unset_variable(["SELECT 1;", "\\if :on\nSELECT 1;\n\\endif"], ()) == (1, 1, "on")


def test_the_queries_of_a_script_have_parameters_for_its_variables_and_their_lines() -> None:
    script = (
        "\\set aid random(1, 100000 * :scale)\n-- a comment; with :nothing\nBEGIN;\n"
        "UPDATE a SET b = b + :delta,\n  c = ':x' WHERE aid = :aid AND d::int > :delta;\n"
        "SELECT b FROM a WHERE aid = :aid \\gset\nINSERT INTO h (tid, mtime) VALUES (:tid, now())"
        " ON CONFLICT (tid) DO NOTHING;\nEND;\n"
    )
    assert queries(script) == (
        Statement(4, "UPDATE a SET b = b + $1,\n  c = ':x' WHERE aid = $2 AND d::int > $1", 2),
        Statement(6, "SELECT b FROM a WHERE aid = $1", 1),
        Statement(7, "INSERT INTO h (tid, mtime) VALUES ($1, now()) ON CONFLICT (tid) DO NOTHING", 1),
    )


@pytest.mark.parametrize(
    "script",
    [
        "CREATE TEMP TABLE t (a int); SELECT * FROM t;",
        "SELECT 1 AS a INTO t; SELECT a FROM t;",
        "SET search_path = other; SELECT * FROM t;",
        "SELECT make_tables(); SELECT * FROM t;",
        "CALL fill(); SELECT * FROM t;",
        "DO $$ BEGIN CREATE TABLE t (); END $$; SELECT * FROM t;",
        "\\shell touch x\nSELECT * FROM t;",
    ],
)
def test_names_that_a_script_itself_may_make_are_not_looked_up(script: str) -> None:
    assert queries(script) is None


def test_a_variable_in_the_middle_of_a_name_is_no_parameter() -> None:
    assert queries('SELECT * FROM part_:n; SELECT a[1:n] FROM t; SELECT "x":y FROM t; SELECT 1;') == (
        Statement(1, "SELECT 1", 0),
    )
