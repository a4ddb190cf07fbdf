"""pgbench's stderr: progress of every second in each version's form, and who was aborted and why."""

from pgassay.load.pgbench.output import Progress, first_abort, first_error, parse_progress
from tests.load.samples import texts


def test_a_missing_last_second_stays_missing() -> None:
    told = parse_progress(texts("pgbench15_N")[1])
    assert [second.elapsed_s for second in told] == [1.0, 2.0, 3.0]
    assert told[0] == Progress(1.0, 7526.9, 0.522, 0)


def test_rate_and_limit_add_lag_and_skipped() -> None:
    assert parse_progress(texts("pgbench15_rate")[1])[4] == Progress(5.0, 491.0, 0.622, 0)


def test_retries_are_passed_over() -> None:
    assert parse_progress(texts("pgbench15_retries")[1])[0] == Progress(1.0, 4255.2, 0.748, 1170)


def test_eighteen() -> None:
    assert len(parse_progress(texts("pgbench18_tpcb")[1])) == 3


def test_thirteen_has_no_failures() -> None:
    assert parse_progress("progress: 298.0 s, 43186.8 tps, lat 1.268 ms stddev 6.577\n") == (
        Progress(298.0, 43186.8, 1.268, None),
    )


def test_a_second_without_transactions_has_no_latency() -> None:
    for word in ("NaN", "-nan", "nan"):
        told = parse_progress(f"progress: 2.0 s, 0.0 tps, lat {word} ms stddev {word}, 0 failed\n")
        assert told == (Progress(2.0, 0.0, None, 0),)


def test_a_torn_line_is_not_a_second() -> None:
    assert parse_progress("progress: 2.0 s, 71.0 tps, la") == ()


def test_the_first_client_says_why() -> None:
    why = first_abort(texts("pgbench15_aborts")[1])
    assert why == "error: client 0 script 0 aborted in command 0 query 0: ERROR:  division by zero"
    assert first_abort(texts("pgbench18_exitabort")[1]) == why.replace("client 0", "client 3")
    assert first_abort(texts("pgbench15_N")[1]) is None


def test_thirteen_calls_it_fatal() -> None:
    text = "pgbench: fatal: Run was aborted; the above results are incomplete.\n"
    assert first_abort(text) == "fatal: Run was aborted; the above results are incomplete."


def test_an_error_before_the_start() -> None:
    text = "pgbench: error: connection to server on socket failed: No such file\npgbench: error: could not create\n"
    assert first_error(text) == "error: connection to server on socket failed: No such file"
    assert first_abort(text) is None
