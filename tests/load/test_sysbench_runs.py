"""The real sysbench on a real private server: fillfactor, missing tables, empty deletes, the rows' shape."""

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from pgassay.interfaces.server import Server
from pgassay.load.sysbench import SCENARIOS
from pgassay.testing import real
from tests.load.loads import sysbench

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(shutil.which("sysbench") is None, reason="sysbench is not installed"),
]

BASE: Mapping[str, str] = {"tables": "2", "rows": "2000", "threads": "2", "duration": "1s"}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with real.server(autovacuum="off", wal_level="minimal", max_wal_senders="0") as (server, _):
        yield server


def reload(server: Server, **options: str) -> Mapping[str, str]:
    wanted = {**BASE, **options}
    sysbench(wanted).create(server)
    sysbench(wanted).fill(server)
    return wanted


def test_options_on_empty_tables_outlive_the_fill(server: Server) -> None:
    sysbench(BASE).create(server)
    server.execute("ALTER TABLE sbtest1 SET (fillfactor = 50)")
    server.execute("ALTER INDEX sbtest2_pkey SET (fillfactor = 40)")
    sysbench(BASE).fill(server)
    sizes = server.query("SELECT pg_relation_size('sbtest1'), pg_relation_size('sbtest2')")[0]
    assert sizes[0] > 1.8 * sizes[1]
    indexes = server.query("SELECT indexdef FROM pg_indexes WHERE tablename LIKE 'sbtest%' ORDER BY indexname")
    assert len(indexes) == 4
    keys = server.query(
        "SELECT conname::text FROM pg_constraint WHERE contype = 'p' AND conname LIKE 'sbtest%' ORDER BY 1"
    )
    assert keys == [("sbtest1_pkey",), ("sbtest2_pkey",)]
    options = server.query("SELECT reloptions::text FROM pg_class WHERE relname = 'sbtest2_pkey'")
    assert options == [("{fillfactor=40}",)]


def test_the_tables_are_those_of_sysbench_prepare(server: Server) -> None:
    ours = {}
    reload(server)
    for side in ("ours", "theirs"):
        if side == "theirs":
            server.execute("DROP TABLE sbtest1, sbtest2")
            at = server.endpoint
            subprocess.run(
                ["sysbench", "oltp_insert", "--db-driver=pgsql", f"--pgsql-host={at.socket_directory}",
                 f"--pgsql-port={at.port}", f"--pgsql-user={at.user}", f"--pgsql-db={at.database}",
                 "--tables=2", "--table_size=2000", "prepare"],
                check=True, stdout=subprocess.DEVNULL,
            )  # fmt: skip
        ours[side] = server.query(
            "SELECT (SELECT array_agg(a.attname || format_type(a.atttypid, a.atttypmod) || a.attnotnull"
            "   || coalesce(pg_get_expr(d.adbin, d.adrelid), '') ORDER BY a.attnum) FROM pg_attribute a"
            "   LEFT JOIN pg_attrdef d ON (d.adrelid, d.adnum) = (a.attrelid, a.attnum)"
            "   WHERE a.attrelid = 'sbtest2'::regclass AND a.attnum > 0)::text,"
            " (SELECT array_agg(indexdef ORDER BY indexname) FROM pg_indexes WHERE tablename = 'sbtest2')::text,"
            " pg_relation_size('sbtest2'), (SELECT last_value FROM sbtest2_id_seq), count(*), min(length(c)),"
            " max(length(pad)), bool_and(c ~ '^([0-9]{11}-){9}[0-9]{11}$'),"
            " bool_and(pad ~ '^([0-9]{11}-){4}[0-9]{11}$'),"
            " round(avg(k), -2), round(stddev(k) / 40) FROM sbtest2"
        )
    assert ours["ours"] == ours["theirs"]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_scenario_runs(server: Server, tmp_path: Path, scenario: str) -> None:
    rows = "50" if scenario == "oltp_delete" else BASE["rows"]
    wanted = reload(server, scenario=scenario, rows=rows)
    result = sysbench(wanted).run(server, tmp_path / "out", 1)
    assert (result.status, dict(result.problems)) == (0, {})
    assert result.responses["latency_p999_ms"] is not None
    empty = result.responses["empty_delete_share"]
    assert (empty is not None and empty > 0.5) == (scenario == "oltp_delete"), "fifty rows are soon deleted"


def test_missing_tables_are_a_named_outcome_and_no_crash(server: Server, tmp_path: Path) -> None:
    wanted = reload(server)
    server.execute("DROP TABLE sbtest2")
    result = sysbench(wanted).run(server, tmp_path / "out", 1)
    assert result.problems == {"missing_tables": "there is no sbtest2"}
    assert result.transactions == 0


def test_more_threads_than_connections_is_said_in_the_servers_words(server: Server, tmp_path: Path) -> None:
    wanted = reload(server, threads="150")
    result = sysbench(wanted).run(server, tmp_path / "out", 1)
    assert "too many clients" in str(result.problems)
