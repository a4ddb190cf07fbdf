"""The real pgbench on a real private server: everything that a run can do or suffer is in its result."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from pgassay.errors import UsageError
from pgassay.interfaces.errors import LoadError
from pgassay.interfaces.factor import Readable
from pgassay.interfaces.options import factors_of
from pgassay.interfaces.server import Server
from pgassay.lab.checks import code_of
from pgassay.load.pgbench.options import PgbenchOptions
from pgassay.testing import real
from tests.load.loads import pgbench, real_tools

pytestmark = pytest.mark.system

BASE: Mapping[str, str] = {"scale": "1", "clients": "2", "jobs": "2", "duration": "1s", "protocol": "prepared"}


@dataclass
class Bench:
    """A server with pgbench's tables."""

    server: Server
    bindir: Path


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with real.server(autovacuum="off") as (server, _):
        pgbench(BASE).create(server)
        pgbench(BASE).fill(server)
        yield Bench(server, real.installation().bindir)


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def test_options_on_empty_tables_outlive_the_fill(bench: Bench) -> None:
    pgbench(BASE).create(bench.server)
    assert bench.server.query("SELECT count(*) FROM pgbench_accounts") == [(0,)]
    bench.server.execute("ALTER TABLE pgbench_accounts SET (fillfactor = 60)")
    pgbench(BASE).fill(bench.server)
    assert bench.server.query("SELECT count(*) FROM pgbench_accounts") == [(100_000,)]
    options = bench.server.query("SELECT reloptions::text FROM pg_class WHERE relname = 'pgbench_accounts'")
    assert options == [("{fillfactor=60}",)]
    assert bench.server.query("SELECT count(*) FROM pg_indexes WHERE tablename LIKE 'pgbench%'") == [(3,)]


def test_the_first_read_after_a_load_writes_its_pages_to_the_wal_where_hint_bits_are_logged(tmp_path: Path) -> None:
    """As data checksums make them: without any, wal_log_hints does (manual)."""
    written = {logged: first_read_wal_bytes(logged, tmp_path / logged) for logged in ("off", "on")}
    assert written["on"] - written["off"] > 90 * 8192, "four rows of 2000 bytes a page"


def first_read_wal_bytes(logged: str, folder: Path) -> int:
    with real.server(autovacuum="off", wal_log_hints=logged) as (server, _):
        server.execute("CREATE TABLE pgassay_rows (filler char(2000) DEFAULT repeat('x', 2000))")
        before = wal_bytes(server)
        levels = {**BASE, "script": "first-read", "variables": "loaded=400", "transactions": "1"}
        result = pgbench({**levels, "clients": "1", "jobs": "1"}).run(server, folder, 1)
        assert (result.status, dict(result.problems), result.transactions) == (0, {}, 1)
        return wal_bytes(server) - before


def wal_bytes(server: Server) -> int:
    return int(server.query("SELECT (pg_current_wal_lsn() - '0/0')::bigint")[0][0])


def test_a_division_by_zero_aborts_and_is_named(bench: Bench, tmp_path: Path) -> None:
    script = write(tmp_path, "zero.sql", "\\set n random(0, 20)\nSELECT 1 / (:n);\n")
    result = pgbench({**BASE, "script": script, "transactions": "1000"}).run(bench.server, tmp_path / "out", 1)
    assert result.status == 2
    assert "division by zero" in result.problems["aborted"]
    assert (tmp_path / "out" / "script_1_zero.sql").read_text() == Path(script).read_text()


def test_scripts_of_a_count_come_in_proportion_and_begin_alike_in_each_of_its_plays(
    bench: Bench, tmp_path: Path
) -> None:
    """A count is the difference of two plays. If pgbench drew scripts, the shorter could have more of one."""
    server = bench.server
    server.execute("CREATE TABLE IF NOT EXISTS pgassay_played (n serial, script text, client_key int, scale int)")
    files = [
        write(tmp_path, f"{name}.sql", f"\\set k random(1, 1000000)\n{insert}")
        for name, insert in (
            ("often", "INSERT INTO pgassay_played (script, client_key, scale) VALUES ('often', :k, :scale);\n"),
            ("seldom", "\\if :k > 0\nINSERT INTO pgassay_played (script, client_key) VALUES ('seldom', :k)\n\\endif"),
        )
    ]
    scripts = f"{files[0]}@6,{files[1]}@3,select-only@1"
    levels = {**BASE, "clients": "1", "jobs": "1", "count": "on", "script": scripts}

    def played(transactions: int, seed: int) -> tuple[list[str], list[int]]:
        server.execute("TRUNCATE pgassay_played")
        folder = tmp_path / f"{transactions}-{seed}"
        result = pgbench({**levels, "transactions": str(transactions)}).run(server, folder, seed)
        assert (result.status, dict(result.problems), result.transactions) == (0, {}, transactions)
        assert result.read_back["load.script"] == scripts
        assert (folder / "scripts.sql").stat().st_mode & 0o077 == 0, "a script may be secret"
        assert server.query("SELECT DISTINCT scale FROM pgassay_played WHERE script = 'often'") == [(1,)]
        rows = server.query("SELECT script, client_key FROM pgassay_played ORDER BY n")
        return [name for name, _ in rows], [key for _, key in rows]

    orders = set()
    for seed in (64, 640, 6400):
        long, keys = played(40, seed)
        assert [abs(long.count(name) - share) <= 2 for name, share in (("often", 24), ("seldom", 12))] == [True, True]
        short, other_keys = played(4, seed + 1)
        assert short == long[: len(short)]
        assert not set(keys) & set(other_keys), "the same keys again would exist already"
        orders.add(tuple(long))
    assert len(orders) == 3, "blocks begin at different places"


@pytest.mark.parametrize("text", ["", "-- SELECT 1;\n\n \t-- \\set n 1", "/* SELECT 1; */\n", ";\n", "\\set n 1\n"])
def test_a_count_of_several_scripts_refuses_one_that_pgbench_refuses_alone(
    bench: Bench, tmp_path: Path, text: str
) -> None:
    script = write(tmp_path, "own.sql", text)
    levels = {**BASE, "transactions": "1", "count": "on", "script": script}
    alone = pgbench(levels).run(bench.server, tmp_path / "alone", 1)
    several = pgbench({**levels, "script": f"{script},select-only"})
    if "empty command list" in alone.problems.get("refused", ""):
        with pytest.raises(UsageError, match=f'script "{script}" has no command'):
            several.check()
    else:
        assert (alone.status, dict(alone.problems)) == (0, {})
        several.check()
        assert several.run(bench.server, tmp_path / "several", 1).status == 0


def test_a_broken_script_is_refused_by_pgbench_not_raised(bench: Bench, tmp_path: Path) -> None:
    script = write(tmp_path, "broken.sql", "\\nonsense 1\n")
    result = pgbench({**BASE, "script": script}).run(bench.server, tmp_path / "out", 1)
    assert result.status == 1
    assert "refused" in result.problems
    assert result.responses["tps"] is None


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("SELECT 1;\nSELECT abalance FROM pgbench_acounts;\n", 'line 2: relation "pgbench_acounts" does not exist'),
        ("UPDATE pgbench_accounts SET abalanc = 1 WHERE aid = :a;\n", 'column "abalanc" of relation'),
        ("SELECT 1 FORM pgbench_accounts;\n", "line 1: syntax error"),
        ("SELECT lenght('x');\n", ""),
        ("SELECT abalance FROM pgbench_accounts WHERE aid = :a LIMIT :n OFFSET :n - 1;\nSELECT :n;\n", ""),
        ("CREATE TEMP TABLE own (a int);\nINSERT INTO own VALUES (1);\nDROP TABLE own;\n", ""),
        ("INSERT INTO pgbench_history (tid, mtime) VALUES (:a, CURRENT_TIMESTAMP) ON CONFLICT DO NOTHING;\n", ""),
        ("SELECT * FROM pgbench_:n;\n", ""),
    ],
)
def test_a_name_that_the_data_do_not_have_is_refused_by_its_line(
    bench: Bench, tmp_path: Path, script: str, said: str
) -> None:
    load = pgbench({**BASE, "script": write(tmp_path, "own.sql", script)})
    before = bench.server.query("SELECT count(*) FROM pgbench_history")
    if said:
        with pytest.raises(UsageError) as raised:
            load.require_names(bench.server)
        assert said in raised.value.message
        assert "own.sql" in raised.value.message
    else:
        load.require_names(bench.server)
    assert bench.server.query("SELECT name FROM pg_prepared_statements") == []
    assert bench.server.query("SELECT count(*) FROM pgbench_history") == before, "nothing was executed"


_UNINDEXED = "SELECT sum(bbalance) FROM pgbench_branches WHERE bbalance > :n;"
_INDEXED = "SELECT abalance FROM pgbench_accounts WHERE aid BETWEEN :n AND :n + 9;"


@pytest.mark.parametrize(
    ("off", "others", "script", "found"),
    [
        ("enable_seqscan", ["enable_indexscan"], _UNINDEXED, "a Seq Scan of"),
        ("enable_seqscan", ["enable_indexscan"], _INDEXED, None),
        ("enable_indexscan", ["enable_seqscan"], _INDEXED, None),
        ("enable_tidscan", ["enable_indexscan"], "SELECT count(*) FROM pgbench_branches;", None),
        ("enable_seqscan", [], _UNINDEXED, None),
    ],
)  # fmt: skip
def test_a_scan_that_is_off_and_taken_all_the_same_is_named(
    bench: Bench, tmp_path: Path, off: str, others: list[str], script: str, found: str | None
) -> None:
    """One setting alone may leave no other way; of a plan by force several are set."""
    load = pgbench({**BASE, "script": write(tmp_path, "own.sql", f"\\set n random(1, 100)\n{script}\n")})
    assert load.verify(bench.server) == {}, "nothing is off"
    for name in (off, *others):
        bench.server.execute(f"SET {name} = {'off' if name == off else 'on'}")
    try:
        wrong = load.verify(bench.server)
    finally:
        for name in (off, *others):
            bench.server.execute(f"RESET {name}")
    assert wrong == ({"another_plan": f"{found} pgbench_branches although {off} = off"} if found else {})
    assert bench.server.query("SHOW plan_cache_mode") == [("auto",)]


def test_scripts_with_weights_are_echoed_and_played(bench: Bench, tmp_path: Path) -> None:
    own = write(
        tmp_path,
        "own.sql",
        "\\set a random(1, 100000 * :scale)\nSELECT abalance FROM pgbench_accounts WHERE aid = :a;\n",
    )
    wanted = f"{own}@3,select-only@1"
    result = pgbench({**BASE, "script": wanted}).run(bench.server, tmp_path / "out", 1)
    assert dict(result.problems) == {}
    assert result.read_back["load.script"] == wanted


def test_serialization_failures_are_counted(bench: Bench, tmp_path: Path) -> None:
    script = write(
        tmp_path,
        "serial.sql",
        "BEGIN ISOLATION LEVEL SERIALIZABLE;\nSELECT sum(bbalance) FROM pgbench_branches;\n"
        "UPDATE pgbench_branches SET bbalance = bbalance + 1;\nEND;\n",
    )
    wanted = {**BASE, "script": script, "clients": "4", "max_tries": "2", "duration": "2s"}
    if pgbench(BASE).version < 15:
        with pytest.raises(UsageError, match="max_tries"):
            pgbench(wanted).check()
        return
    pgbench(wanted).check()
    result = pgbench(wanted).run(bench.server, tmp_path / "out", 1)
    assert result.status == 0
    assert set(result.problems) == {"failed_transactions"}
    share, retries = result.responses["failed_share"], result.responses["retries_per_transaction"]
    assert share is not None
    assert 0 < share < 1
    assert retries is not None
    assert retries > 0
    assert result.read_back["load.max_tries"] == "2"
    assert sum(sample.value or 0 for sample in result.series if sample.name == "failed") > 0


def test_an_open_loop_keeps_its_rate_and_tells_its_lag(bench: Bench, tmp_path: Path) -> None:
    wanted = {**BASE, "script": "select-only", "rate": "200", "latency_limit": "10s", "duration": "3s"}
    result = pgbench(wanted).run(bench.server, tmp_path / "out", 1)
    skipped = result.responses["skipped_share"]
    assert skipped is not None
    assert 0 < result.transactions < 3 * 280 * (1 - skipped), (
        "200 a second at random; a busy machine skips some of them"
    )
    assert result.responses["schedule_lag_ms"] is not None
    assert result.responses["late_share"] is not None
    assert result.responses["latency_p99_ms"] is not None


def test_the_log_and_the_summary_agree(bench: Bench, tmp_path: Path) -> None:
    result = pgbench({**BASE, "keep_log": "on"}).run(bench.server, tmp_path / "out", 1)
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert [name.split(".")[0] for name in names] == ["pgbench"] * 2 + ["pgbench_latency"] + ["pgbench_log"] * 2
    assert all(name.endswith(".gz") for name in names if name.startswith("pgbench_log"))
    mean, p50, p99, most = (
        result.responses[name] for name in ("latency_ms", "latency_p50_ms", "latency_p99_ms", "latency_max_ms")
    )
    assert mean is not None
    assert p50 is not None
    assert p99 is not None
    assert most is not None
    assert p50 <= p99 <= most
    assert mean <= most
    window_s = (result.finished_monotonic_ns - result.started_monotonic_ns) / 1e9
    assert len([sample for sample in result.series if sample.name == "tps"]) <= window_s, "whole seconds"


def test_the_seed_makes_it_the_same_work(bench: Bench, tmp_path: Path) -> None:
    bench.server.execute("CREATE TABLE IF NOT EXISTS seen (client int, n int)")
    script = write(tmp_path, "seen.sql", "\\set n random(1, 1000000)\nINSERT INTO seen VALUES (:client_id, :n);\n")
    found = []
    for run, seed in enumerate((5, 5, 6)):
        bench.server.execute("TRUNCATE seen")
        wanted = {**BASE, "script": script, "transactions": "20"}
        assert not pgbench(wanted).run(bench.server, tmp_path / str(run), seed).problems
        found.append(bench.server.query("SELECT client, n FROM seen ORDER BY client, n"))
    assert found[0] == found[1] != found[2]


def test_a_server_that_dies_in_the_middle(tmp_path: Path) -> None:
    """A load that stayed for its whole hour would fail by the test's own limit."""
    with real.server() as (server, _):
        pgbench(BASE).create(server)
        pgbench(BASE).fill(server)

        def kill() -> None:
            with psycopg.connect(server.endpoint.conninfo(), autocommit=True) as connection:
                while connection.execute("SELECT count(*) >= 50 FROM pgbench_history").fetchone() != (True,):
                    time.sleep(0.05)
                os.kill(server.postmaster_pid, signal.SIGQUIT)

        killer = threading.Thread(target=kill)
        killer.start()
        result = pgbench({**BASE, "duration": "1h"}).run(server, tmp_path / "out", 1)
        killer.join()
    assert result.status != 0
    assert "aborted" in result.problems
    assert result.transactions > 0, "what was done before counts"


def test_ageing_updates_as_many_rows_as_asked(bench: Bench) -> None:
    pgbench(BASE).create(bench.server)
    pgbench(BASE).fill(bench.server)
    pgbench({**BASE, "age": "none"}).age(bench.server)
    assert bench.server.query("SELECT sum(abalance) FROM pgbench_accounts") == [(0,)]
    pgbench({**BASE, "age": "0.5x"}).age(bench.server)
    ((total, most),) = bench.server.query("SELECT sum(abalance), max(abalance) FROM pgbench_accounts")
    assert total == 50_000
    assert 1 < most < 20, "random rows, not a sweep"
    ((vacuums,),) = bench.server.query("SELECT count(*) FROM pgbench_accounts WHERE abalance = 0")
    assert 50_000 < vacuums < 100_000


def test_own_schema_and_data_from_sql_and_from_a_dump(bench: Bench, tmp_path: Path) -> None:
    sql = write(
        tmp_path,
        "own.sql",
        "CREATE TABLE mine (i int PRIMARY KEY);\nINSERT INTO mine SELECT generate_series(1, 500);\n",
    )
    wanted = {**BASE, "init": sql}
    pgbench(wanted).check()
    pgbench(wanted).create(bench.server)
    pgbench(wanted).fill(bench.server)
    assert bench.server.query("SELECT count(*) FROM mine") == [(500,)]
    dump = tmp_path / "mine.dump"
    endpoint = bench.server.endpoint
    subprocess.run(
        [str(bench.bindir / "pg_dump"), "-Fc", "-t", "mine", "-f", str(dump)],
        env=endpoint.environment(),
        check=True,
    )
    bench.server.execute("DROP TABLE mine")
    wanted = {**BASE, "init": str(dump)}
    pgbench(wanted).check()
    assert pgbench(wanted).data_key() != pgbench({**BASE, "init": sql}).data_key()
    assert pgbench(wanted).estimated_bytes() > 0
    pgbench(wanted).create(bench.server)
    assert bench.server.query("SELECT count(*) FROM mine") == [(0,)], "a dump is parted: the table is empty at first"
    pgbench(wanted).fill(bench.server)
    assert bench.server.query("SELECT count(*) FROM mine") == [(500,)]
    assert bench.server.query("SELECT count(*) FROM pg_indexes WHERE tablename = 'mine'") == [(1,)]
    bench.server.execute("DROP TABLE mine")


def test_sql_that_fails_is_an_error_with_its_words(bench: Bench, tmp_path: Path) -> None:
    wanted = {
        **BASE,
        "init": write(tmp_path, "bad.sql", "CREATE TABLE t (i int);\nSELEC 1;\nCREATE TABLE u (i int);\n"),
    }
    with pytest.raises(LoadError, match='syntax error at or near "SELEC"'):
        pgbench(wanted).create(bench.server)
    assert bench.server.query("SELECT to_regclass('u') IS NULL") == [(True,)], "nothing runs after the error"
    bench.server.execute("DROP TABLE t")


def test_rows_of_another_width_are_stored_as_asked_and_read_back(bench: Bench) -> None:
    factors = {factor.pattern: factor for factor in factors_of(PgbenchOptions)}
    for storage, toasted in (("plain", False), ("toasted", True)):
        wanted = {**BASE, "row_bytes": "4000", "row_storage": storage}
        pgbench(wanted).create(bench.server)
        for name in ("load.row_bytes", "load.row_storage"):
            level = factors[name].parse(name, wanted[name.removeprefix("load.")])
            assert factors[name].read_back(name, level, Readable(bench.server)) == level.canonical
        bench.server.execute("INSERT INTO pgbench_accounts SELECT i, 1, 0, '' FROM generate_series(1, 100) i")
        ((heap, toast),) = bench.server.query(
            "SELECT pg_relation_size(c.oid), pg_relation_size(nullif(c.reltoastrelid, 0))"
            " FROM pg_class c WHERE relname = 'pgbench_accounts'"
        )
        assert (heap < 20_000, bool(toast)) == (toasted, toasted), "two rows of 4000 bytes fill a page of 8 kB"


def test_a_row_that_no_page_holds_has_its_name(bench: Bench) -> None:
    wanted = {**BASE, "row_bytes": "9000", "row_storage": "plain"}
    pgbench(wanted).create(bench.server)
    with pytest.raises(LoadError, match="row is too big: size 90") as caught:
        pgbench(wanted).fill(bench.server)
    assert code_of(caught.value.message, "not_prepared") == "row_too_large"
    pgbench(BASE).create(bench.server)
    pgbench(BASE).fill(bench.server)


def test_what_cannot_run_is_refused(bench: Bench, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        pgbench({**BASE, "init": str(tmp_path / "absent.sql")}).check()
    init = write(tmp_path, "own.sql", "SELECT 1;")
    with pytest.raises(UsageError, match="age"):
        pgbench({**BASE, "init": init, "age": "2x"}).check()
    with pytest.raises(UsageError, match="row_bytes"):
        pgbench({**BASE, "init": init, "row_bytes": "2000"}).check()
    with pytest.raises(UsageError, match="pgbench"):
        pgbench({**BASE, "max_tries": "2"}, real_tools(tmp_path)).check()
