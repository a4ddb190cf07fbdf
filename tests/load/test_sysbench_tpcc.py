"""sysbench with Percona's TPC-C scripts: where they are found, their tables' names, their words."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from pgassay.errors import UsageError
from pgassay.interfaces.places import Endpoint
from pgassay.lab.run import write_study
from pgassay.load import tpcc as tables
from pgassay.load.sysbench import parse_seconds
from pgassay.load.tpcc import PERCONA_NAMES, SysbenchTpccOptions, folder_of, sysbench_command
from pgassay.study import builtin
from pgassay.study.document import Overrides, read
from pgassay.study.model import Study
from pgassay.testing.fakes import FakeClock, FakeInstallation
from tests.fakes.runner import FakeRunner
from tests.load.loads import fake_tools, sysbench_tpcc
from tests.load.samples import FOLDER

SAID = (FOLDER / "sbtpcc_RR.txt").read_text(encoding="utf-8")
REPORTED = (FOLDER / "sbtpcc_run_disable.txt").read_text(encoding="utf-8")


def scripts(folder: Path) -> Path:
    (folder / "tpcc.lua").write_text("-- a script\n")
    return folder


def test_tables_have_the_names_that_the_scripts_use() -> None:
    assert PERCONA_NAMES["new_order"] == "new_orders1"
    sql = tables.renamed(
        "CREATE TABLE new_order (no_o_id int); CREATE INDEX orders_by_customer ON orders (o_id)", PERCONA_NAMES
    )
    assert sql == "CREATE TABLE new_orders1 (no_o_id int); CREATE INDEX orders_by_customer ON orders1 (o_id)"
    asked = tables.renamed(tables.CONDITIONS["3.3.2.1"], PERCONA_NAMES)
    assert "FROM warehouse1 JOIN" in asked
    assert "FROM district1" in asked


def test_the_command_reads_the_users_scripts_over_the_socket(tmp_path: Path) -> None:
    options = SysbenchTpccOptions.from_levels({"warehouses": "3", "threads": "8", "lua": str(scripts(tmp_path))})
    said = sysbench_command(folder_of(options), Endpoint(Path("/run/x"), 5499, "postgres", "me"), options, 0)
    assert said[1] == str(tmp_path / "tpcc.lua")
    assert {"--scale=3", "--threads=8", "--trx_level=RC", "--pgsql-host=/run/x", "--rand-seed=1"} <= set(said)


def test_scripts_in_path_are_found_and_missing_ones_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match=r"no tpcc\.lua in PATH") as caught:
        folder_of(SysbenchTpccOptions.from_levels({}))
    assert "sysbench-tpcc" in str(caught.value.hint)
    scripts(tmp_path).joinpath("tpcc.lua").chmod(0o755)
    assert folder_of(SysbenchTpccOptions.from_levels({})) == tmp_path.resolve()
    with pytest.raises(UsageError, match=r"has no tpcc\.lua"):
        folder_of(SysbenchTpccOptions.from_levels({"lua": str(tmp_path / "elsewhere")}))


def test_the_study_as_published_is_played_by_its_own_program_where_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = builtin.find("tpcc-fillfactor")[1]

    def written(*fixed: str) -> Study:
        overrides = Overrides(size="as-published", fixed=fixed)
        return write_study("tpcc-fillfactor", read("tpcc-fillfactor", text), overrides).study

    monkeypatch.setenv("PATH", str(tmp_path))
    assert written().fixed["load.driver"].typed == "tpcc"
    assert written().differs
    for name in ("sysbench", "tpcc.lua"):
        (tmp_path / name).write_text("-- a program\n")
        (tmp_path / name).chmod(0o755)
    theirs = written()
    assert (theirs.fixed["load.driver"].typed, theirs.fixed["load.threads"].typed) == ("sysbench-tpcc", "64")
    assert theirs.differs == ()
    assert len(theirs.arms) == 8
    assert written("load.driver=tpcc").fixed["load.clients"].typed == "64"


def test_what_sysbench_said_of_a_run(tmp_path: Path) -> None:
    clock = FakeClock()

    def program(arguments: Sequence[str], given: str) -> tuple[int, str, str]:
        clock.advance(6.0)
        return 0, SAID, ""

    options = {"threads": "2", "duration": "5s", "lua": str(scripts(tmp_path))}
    load = sysbench_tpcc(options, fake_tools(FakeRunner({"sysbench": program}), clock))
    installation = FakeInstallation()
    installation.initialize(tmp_path / "data", {})
    server = installation.start(tmp_path / "data", {}, tmp_path)
    result = load.run(server, tmp_path / "out", 1)
    assert dict(result.problems) == {}
    assert result.transactions > 1000
    assert (result.responses["failed_share"] or 0) > 0.05, "REPEATABLE READ, as this sample was made, gives many up"
    assert result.responses["latency_p99_ms"] is None, "made without a histogram"
    assert result.read_back == {"load.threads": "2"}


def test_its_own_report_hook_leaves_out_a_colon() -> None:
    """`err/s 41.49`, where sysbench itself prints `err/s: 41.49`."""
    seconds = parse_seconds(REPORTED)
    assert len(seconds) == 3
    assert all(each.tps > 0 and each.errors > 0 for each in seconds)


def test_wrong_options_are_named() -> None:
    for levels in ({"threads": "0"}, {"protocol": "extended"}, {"warehouses": "-1"}):
        with pytest.raises(UsageError, match=next(iter(levels))):
            SysbenchTpccOptions.from_levels(levels)
