"""What becomes of a run, by exit status, words and counts."""

import stat
from pathlib import Path

import pytest

from pgassay.interfaces.running import Completed
from pgassay.load import program, responses
from pgassay.load.pgbench import output as results
from pgassay.load.pgbench.driver import PgbenchLoad
from pgassay.load.pgbench.options import PgbenchOptions
from pgassay.load.pgbench.output import parse_summary
from tests.load.loads import fake_tools
from tests.load.samples import texts


def completed(status: int, stderr: str = "") -> Completed:
    return Completed(("pgbench",), status, "", stderr)


@pytest.mark.parametrize(
    ("done", "codes"),
    [
        (completed(0), {}),
        (completed(2, texts("pgbench15_aborts")[1]), {"aborted"}),
        (completed(2, texts("pgbench18_exitabort")[1]), {"aborted"}),
        (completed(2, "something new"), {"aborted"}),
        (completed(1, "pgbench: error: no such option"), {"refused"}),
        (completed(1), {"refused"}),
        (completed(-9), {"killed"}),
        (completed(0, texts("pgbench15_N")[1]), {}),
    ],
)
def test_status(done: Completed, codes: set[str]) -> None:
    assert set(results.problems_of_status(done)) == set(codes)


def test_counts() -> None:
    assert results.problems_of_summary(parse_summary(texts("pgbench15_N")[0])) == {}
    found = results.problems_of_summary(parse_summary(texts("pgbench15_retries")[0]))
    assert found == {"failed_transactions": "5078 of 23840 transactions failed (21.3%)"}
    skipped = texts("pgbench15_rate")[0].replace("skipped: 0", "skipped: 11")
    assert set(results.problems_of_summary(parse_summary(skipped))) == {"skipped_transactions"}


def test_a_log_that_holds_less_than_the_summary_is_incomplete() -> None:
    said = parse_summary(texts("pgbench15_N")[0])
    assert results.problems_of_log(said, 28222) == {}
    assert results.problems_of_log(said, 28221) == {"log_incomplete": "the log holds 28221 of 28222 transactions"}


def test_an_early_end_is_short_and_a_late_one_overdue() -> None:
    options = PgbenchOptions.from_levels({"duration": "10s"})
    assert program.short("pgbench", options.timed_s, 10_000_000_000) == {}
    assert set(program.short("pgbench", options.timed_s, 9_000_000_000)) == {"short"}
    assert program.overdue("pgbench", options.timed_s, 60_000_000_000) == {}
    assert set(program.overdue("pgbench", options.timed_s, 71_000_000_000)) == {"overran"}
    endless = PgbenchOptions.from_levels({"transactions": "10"})
    assert program.short("pgbench", endless.timed_s, 1) == {}
    assert program.overdue("pgbench", endless.timed_s, 10**18) == {}


def test_shares_are_of_all_that_were_due() -> None:
    found = results.of_summary(parse_summary(texts("pgbench15_retries")[0]))
    assert found["failed_share"] == pytest.approx(5078 / (18762 + 5078))
    assert found["retries_per_transaction"] == pytest.approx(29125 / 18762)
    assert found["skipped_share"] is None, "without a rate nothing can be skipped"
    whole = responses.complete(results.RESPONSES, found)
    assert set(whole) == {response.name for response in results.RESPONSES}


def test_the_echo_is_in_the_words_of_the_levels() -> None:
    said = parse_summary(texts("pgbench15_N")[0])
    levels = {"script": "simple-update", "clients": "4", "jobs": "2", "duration": "4s"}
    assert results.read_back(said, PgbenchOptions.from_levels(levels)) == {
        "load.clients": "4",
        "load.jobs": "2",
        "load.protocol": "prepared",
        "load.script": "simple-update",
        "load.duration": "4s",
        "load.max_tries": "1",
    }


def test_threads_cut_to_the_clients_agree_and_others_do_not() -> None:
    said = parse_summary(texts("pgbench15_N")[0].replace("threads: 2", "threads: 4"))
    assert results.read_back(said, PgbenchOptions.from_levels({"clients": "4", "jobs": "16"}))["load.jobs"] == "16"
    assert results.read_back(said, PgbenchOptions.from_levels({"clients": "4", "jobs": "3"}))["load.jobs"] == "4"


def test_many_scripts_are_echoed_with_their_weights() -> None:
    said = parse_summary(texts("pgbench15_retries")[0])
    assert results.read_back(said, PgbenchOptions.from_levels({}))["load.script"] == "ser.sql@1,select-only@1"


def test_scripts_are_kept_beside_the_outputs(tmp_path: Path) -> None:
    script = tmp_path / "a.sql"
    script.write_text("SELECT 1;")
    output = tmp_path / "out"
    output.mkdir()
    script.chmod(0o600)
    PgbenchLoad(PgbenchOptions.from_levels({"script": f"select-only,{script}"}), fake_tools()).keep_inputs(output)
    assert [(path.name, path.read_text()) for path in output.iterdir()] == [("script_2_a.sql", "SELECT 1;")]
    assert stat.S_IMODE((output / "script_2_a.sql").stat().st_mode) == 0o600, "what is secret stays so"
