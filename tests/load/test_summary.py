"""pgbench's summary in every version's wording: what is there is read, what is not is None, the rest is an error."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.interfaces.errors import LoadError
from pgassay.load.pgbench.output import ScriptSummary, Summary, parse_summary
from tests.load.samples import FOLDER, texts, without

THIRTEEN = """\
transaction type: <builtin: TPC-B (sort of)>
scaling factor: 1
query mode: simple
number of clients: 10
number of threads: 1
number of transactions per client: 1000
number of transactions actually processed: 10000/10000
latency average = 19.021 ms
latency stddev = 2.500 ms
tps = 525.746350 (including connections establishing)
tps = 525.914967 (excluding connections establishing)
"""


def test_fifteen() -> None:
    assert parse_summary(texts("pgbench15_N")[0]) == Summary(
        transaction_type="<builtin: simple update>",
        scale=20,
        protocol="prepared",
        clients=4,
        threads=2,
        processed=28222,
        duration_s=4,
        max_tries=1,
        failed=0,
        latency_ms=0.561,
        latency_stddev_ms=0.192,
        initial_connection_ms=7.117,
        tps=7044.362862,
    )


def test_thirteen_takes_the_tps_without_connections() -> None:
    said = parse_summary(THIRTEEN)
    assert (said.tps, said.processed, said.transactions_per_client) == (525.914967, 10000, 1000)
    assert said.failed is None, "13 does not count failures, which is not the same as none"
    assert said.duration_s is None


def test_sixteen_says_the_same_as_fifteen() -> None:
    said = parse_summary(texts("pgbench16_N")[0])
    assert said.transaction_type == "<builtin: simple update>"
    assert said.failed == 0
    assert said.tps is not None
    assert said.latency_stddev_ms is not None


def test_a_rate_has_a_lag_and_a_limit_counts_the_late() -> None:
    said = parse_summary(texts("pgbench15_rate")[0])
    assert (said.schedule_lag_ms, said.schedule_lag_max_ms) == (0.083, 3.673)
    assert (said.skipped, said.late) == (0, 0)


def test_retries_and_scripts_of_fifteen() -> None:
    said = parse_summary(texts("pgbench15_retries")[0])
    assert (said.processed, said.failed, said.retries, said.max_tries) == (18762, 5078, 29125, 5)
    assert said.latency_ms == 0.640, "the whole run's, not a script's"
    assert said.scripts == (
        ScriptSummary("ser.sql", 1, 6733, 1678.262623, 1.461),
        ScriptSummary("<builtin: select only>", 1, 12029, 2998.339684, 0.180),
    )


def test_eighteen_counts_failures_apart_from_what_a_script_processed() -> None:
    said = parse_summary(texts("pgbench18_retries")[0])
    assert (said.processed, said.failed) == (22076, 217)
    assert said.scripts[0] == ScriptSummary("ser.sql", 1, 11001, 3681.390556, 1.590)
    assert sum(script.transactions or 0 for script in said.scripts) == 22075, "as pgbench 18 itself printed it"


WHOLE = sorted(path.stem for path in FOLDER.glob("pgbench1*.txt") if path.stem != "pgbench18_exitabort")


@pytest.mark.parametrize("name", WHOLE)
def test_every_sample_is_consistent(name: str) -> None:
    said = parse_summary(texts(name)[0])
    assert said.duration_s is not None
    assert said.tps is not None
    if "aborts" not in name:
        assert said.tps * said.duration_s == pytest.approx(said.processed, rel=0.01)
        assert said.latency_ms is not None
        if said.schedule_lag_ms is None and not said.failed:
            assert said.tps * said.latency_ms / 1e3 == pytest.approx(said.clients, rel=0.05), "Little's law"


def test_a_run_without_progress_has_no_deviation() -> None:
    assert parse_summary(texts("pgbench15_samp")[0]).latency_stddev_ms is None


def test_nothing_processed_has_no_tps() -> None:
    text = without(without(texts("pgbench15_N")[0], "tps"), "latency").replace("processed: 28222", "processed: 0")
    said = parse_summary(text)
    assert (said.processed, said.tps, said.latency_ms) == (0, None, None)


def test_an_exit_on_abort_leaves_no_summary() -> None:
    with pytest.raises(LoadError, match="transaction_type"):
        parse_summary(texts("pgbench18_exitabort")[0])


@pytest.mark.parametrize(
    "line", ["transaction type", "scaling", "query mode", "number of clients", "number of trans", "tps", "duration"]
)
def test_a_missing_line_is_an_error(line: str) -> None:
    with pytest.raises(LoadError, match="unrecognised format"):
        parse_summary(without(texts("pgbench15_N")[0], line))


def test_an_unknown_wording_is_not_guessed_at() -> None:
    text = texts("pgbench15_N")[0].replace("(without initial connection time)", "(in some new sense)")
    with pytest.raises(LoadError, match="no tps"):
        parse_summary(text)


def test_two_summaries_in_one_text_are_an_error() -> None:
    text = texts("pgbench15_N")[0]
    with pytest.raises(LoadError, match="twice"):
        parse_summary(text + text.replace("28222", "28223"))


@given(st.text())
def test_garbage_is_an_error(text: str) -> None:
    with pytest.raises(LoadError):
        parse_summary(text)


@given(st.integers(0, 10**9), st.floats(0.000001, 1e7), st.floats(0, 1e6))
def test_numbers_come_back(processed: int, tps: float, latency_ms: float) -> None:
    text = texts("pgbench15_N")[0].replace("processed: 28222", f"processed: {processed}")
    text = text.replace("tps = 7044.362862", f"tps = {tps:.6f}").replace(
        "average = 0.561", f"average = {latency_ms:.3f}"
    )
    said = parse_summary(text)
    wanted = replace(
        parse_summary(texts("pgbench15_N")[0]),
        processed=processed,
        tps=float(f"{tps:.6f}"),
        latency_ms=float(f"{latency_ms:.3f}"),
    )
    assert said == wanted
