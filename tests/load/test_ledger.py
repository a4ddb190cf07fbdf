"""The ledger of a pgbench load: the script that comes with us, and what pgbench's log says was acknowledged."""

import gzip
from pathlib import Path

import pytest

from pgassay.bench.load import LedgerLoad, Tools
from pgassay.bench.places import Endpoint
from pgassay.load.pgbench import acknowledged
from pgassay.load.pgbench.driver import PgbenchLoad
from pgassay.load.pgbench.options import LEDGER_TABLE, OURS, PgbenchOptions, random_seed, run_command
from pgassay.testing.fakes.clock import FakeClock
from pgassay.testing.fakes.runner import FakeRunner

ENDPOINT = Endpoint(Path("/s"), 5433, "postgres", "me")


def command(**levels: str) -> str:
    options = PgbenchOptions.from_levels(levels)
    return " ".join(run_command(Path("/b/pgbench"), ENDPOINT, options, version=15, seed=7, log_prefix=None))


def test_the_script_starts_to_count_at_one() -> None:
    found = command(script="ledger", scale="5")
    assert f" -s 5 -D sequence=0 -f {OURS['ledger']}@1 " in found
    assert "sequence=0" not in command()


def test_every_column_of_the_ledger_is_written() -> None:
    text = OURS["ledger"].read_text(encoding="ascii")
    columns = LEDGER_TABLE.partition("(")[2].rstrip(")").split(", ")
    assert f"({', '.join(column.split()[0] for column in columns)})" in text


@pytest.mark.parametrize(("script", "writes", "keeps"), [("ledger", True, True), ("ledger@1,tpcb-like@1", True, False),
                                                         ("tpcb-like", False, False)])  # fmt: skip
def test_a_ledger_beside_other_scripts_is_not_compared(script: str, writes: bool, keeps: bool) -> None:
    options = PgbenchOptions.from_levels({"script": script})
    assert (options.writes_ledger, options.keeps_ledger) == (writes, keeps)


def test_pgbench_is_a_load_with_a_ledger(tmp_path: Path) -> None:
    tools = Tools(tmp_path, FakeRunner(), FakeClock())
    assert isinstance(PgbenchLoad(PgbenchOptions(), tools), LedgerLoad)
    assert random_seed((1 << 31) + 5) == 5


def test_the_logs_of_all_threads_are_read_in_order(tmp_path: Path) -> None:
    logs = {"7": "0 1 250 0 10 500\n1 1 90 0 10 600\n0 2 failed 0 10 900\n", "7.1": "2 1 80 0 11 1\n2 2 70 0 11"}
    for name, text in logs.items():
        with gzip.open(tmp_path / f"pgbench_log.{name}.gz", "wt") as file:
            file.write(text)
    found = acknowledged.read(tmp_path, "pgbench_log")
    assert found == {
        0: [(10_000_500_000, True), (10_000_900_000, False)],
        1: [(10_000_600_000, True)],
        2: [(11_000_001_000, True)],
    }, "and a line that was cut off says nothing"
    assert acknowledged.read(tmp_path / "none", "pgbench_log") == {}
