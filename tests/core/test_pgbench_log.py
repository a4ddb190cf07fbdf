"""The log reader against real pgbench logs and the figures pgbench printed with them, and against a plain reader.

The samples are of pgbench 15: ``ratetx`` with --rate, ``rettx`` with --max-tries=3 --failures-detailed, ``samp`` with
--sampling-rate, ``skip`` (the first 300 lines) with --rate, --latency-limit and --max-tries.
"""

import math
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay._core import LatencySketch, PgbenchLog, PgbenchTotals, read_pgbench_logs
from tests.core.naive_log import Line, latencies_us, parse, quantile, succeeded

SAMPLES = Path(__file__).parents[1] / "samples"
RATE = sorted(SAMPLES.glob("ratetx.*"))
RETRIES = sorted(SAMPLES.glob("rettx.*"))
SAMPLED = sorted(SAMPLES.glob("samp.*"))
SKIPPED = sorted(SAMPLES.glob("skip.*"))
GOOD = "0 1 1535 0 1795229900 324444\n"


def assert_close(answer: float | None, exact: float) -> None:
    assert answer is not None
    assert abs(answer - exact) <= LatencySketch.RELATIVE_ERROR * exact


def assert_totals(totals: PgbenchTotals, lines: list[Line]) -> None:
    """All figures of ``totals`` are those of ``lines``."""
    outcomes = [line.outcome for line in lines]
    ran = [line for line in lines if line.outcome != "skipped"]
    assert totals.transactions == outcomes.count("")
    assert totals.skipped == outcomes.count("skipped")
    assert totals.serialization_failures == outcomes.count("serialization")
    assert totals.deadlock_failures == outcomes.count("deadlock")
    assert totals.other_failures == outcomes.count("other")
    assert totals.failed == len(ran) - outcomes.count("")
    assert totals.retries == sum(line.retries for line in ran)
    assert totals.retried == sum(line.retries > 0 for line in ran)
    exact = latencies_us(lines)
    assert totals.latency.count == len(exact)
    assert totals.latency.sum_us == sum(exact)
    assert (totals.latency.min_us, totals.latency.max_us) == (min(exact, default=None), max(exact, default=None))
    for q in (0.5, 0.95, 0.99, 0.999) if exact else ():
        assert_close(totals.latency.quantile(q), quantile(exact, q))


def assert_log(log: PgbenchLog, lines: list[Line], *, has_lag: bool = False) -> None:
    """Totals, scripts and every row of the series are those of ``lines``."""
    assert log.lines == len(lines)
    assert_totals(log.totals, lines)
    assert set(log.scripts) == {line.script for line in lines}
    for script, totals in log.scripts.items():
        assert_totals(totals, [line for line in lines if line.script == script])
    assert log.first_us == min((line.ended_us for line in lines), default=None)
    assert log.last_us == max((line.ended_us for line in lines), default=None)
    starts_us = np.asarray(log.series["wall_ns"]) // 1000
    assert len(starts_us) == len(log.series)
    assert (np.diff(starts_us) == log.interval_us).all()
    rows: list[list[Line]] = [[] for _ in starts_us]
    for line in lines:
        rows[(line.ended_us - int(starts_us[0])) // log.interval_us].append(line)
    for row, expected in enumerate(rows):
        assert_row(log, row, expected, has_lag=has_lag)


def assert_row(log: PgbenchLog, row: int, lines: list[Line], *, has_lag: bool) -> None:
    series, exact = log.series, latencies_us(lines)
    assert log.start_us is not None
    assert series["offset_s"][row] == pytest.approx((series["wall_ns"][row] / 1000 - log.start_us) / 1e6, abs=1e-6)
    assert_totals(log.window(row, row + 1), lines)
    totals = log.window(row, row + 1)
    for name in ("transactions", "failed", "skipped", "retried", "retries"):
        assert series[name][row] == getattr(totals, name)
    assert series["latency_sum_us"][row] == sum(exact)
    for script in log.scripts:
        mine = log.window(row, row + 1, script).transactions
        assert mine == sum(line.script == script for line in succeeded(lines))
    if not exact:
        assert math.isnan(series["latency_mean_us"][row])
        assert math.isnan(series["latency_p99_us"][row])
        return
    assert series["latency_mean_us"][row] == pytest.approx(sum(exact) / len(exact))
    assert series["latency_max_us"][row] == max(exact)
    assert_close(series["latency_p50_us"][row], quantile(exact, 0.50))
    assert_close(series["latency_p95_us"][row], quantile(exact, 0.95))
    assert_close(series["latency_p99_us"][row], quantile(exact, 0.99))
    if has_lag:
        assert series["lag_mean_us"][row] == pytest.approx(sum(x.lag_us for x in succeeded(lines)) / len(exact))


@pytest.mark.parametrize(
    ("paths", "has_lag", "has_retries"),
    [(RATE, True, False), (RETRIES, False, True), (SAMPLED, False, False), (SKIPPED, True, True)],
)
@pytest.mark.parametrize("interval_s", [1.0, 0.25])
def test_real_logs_as_a_plain_reader_has_them(
    paths: list[Path], has_lag: bool, has_retries: bool, interval_s: float
) -> None:
    assert paths
    log = read_pgbench_logs(paths, has_lag=has_lag, has_retries=has_retries, interval_s=interval_s)
    assert_log(log, parse(paths, has_lag=has_lag, has_retries=has_retries), has_lag=has_lag)
    assert ("lag_mean_us" in log.series.names) == has_lag


def test_retries_and_failures_as_pgbench_printed_them() -> None:
    """pgbench's own summary of that run: 3639 processed, 5208 failed, 7206 retried, 13129 retries, 0.993 ± 0.622 ms."""
    totals = read_pgbench_logs(RETRIES, has_retries=True).totals
    assert (totals.transactions, totals.failed, totals.serialization_failures) == (3639, 5208, 5208)
    assert (totals.retried, totals.retries) == (7206, 13129)
    assert totals.latency.mean_us == pytest.approx(993, abs=0.5)
    assert totals.latency.stddev_us == pytest.approx(622, abs=0.5)
    assert (totals.lag_mean_us, totals.lag_max_us) == (None, None)


def test_the_lag_is_that_of_the_transactions_that_ran() -> None:
    totals = read_pgbench_logs(SKIPPED, has_lag=True, has_retries=True).totals
    lags_us = [line.lag_us for line in succeeded(parse(SKIPPED, has_lag=True, has_retries=True))]
    assert totals.skipped == 227
    assert totals.lag_mean_us == pytest.approx(sum(lags_us) / len(lags_us))
    assert totals.lag_max_us == max(lags_us)


def test_a_series_from_a_given_start_reaches_from_before_it_to_the_end() -> None:
    lines = parse(SAMPLED)
    early_us = min(line.ended_us for line in lines) - 2_500_000
    log = read_pgbench_logs(SAMPLED, start_us=early_us)
    assert_log(log, lines)
    assert (log.start_us, log.series["wall_ns"][0], log.series["offset_s"][0]) == (early_us, early_us * 1000, 0.0)
    assert list(log.series["transactions"][:2]) == [0, 0]
    late = read_pgbench_logs(SAMPLED, start_us=early_us + 4_000_000)
    assert_log(late, lines)
    assert late.series["offset_s"][0] == -2.0


def test_a_window_leaves_out_the_warm_up() -> None:
    log, lines = read_pgbench_logs(RATE, has_lag=True), parse(RATE, has_lag=True)
    assert log.start_us is not None
    after_us = log.start_us + 2 * log.interval_us
    assert_totals(log.window(2, len(log.series)), [line for line in lines if line.ended_us >= after_us])
    assert log.window(1, 1).transactions == 0
    assert log.window(0, 2, script=5).transactions == 0
    for first, stop in ((2, 1), (0, len(log.series) + 1)):
        with pytest.raises(IndexError, match="not within the series"):
            log.window(first, stop)


def test_columns_are_numbers_that_numpy_views() -> None:
    series = read_pgbench_logs(SAMPLED).series
    columns = {name: np.asarray(column) for name, column in series.columns().items()}
    assert list(columns) == series.names
    assert {column.dtype.str[1:] for column in columns.values()} == {"i8", "f8"}
    assert all(len(column) == len(series) for column in columns.values())
    with pytest.raises(KeyError):
        series["nothing"]  # type: ignore[call-overload]


def test_a_stall_is_a_row_of_zeros(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(GOOD + "0 2 100 0 1795229903 0\n")
    series = read_pgbench_logs([path]).series
    assert list(series["transactions"]) == [1, 0, 0, 1]
    assert np.isnan(np.asarray(series["latency_p50_us"])).tolist() == [False, True, True, False]


def test_a_large_file_is_cut_among_threads_with_the_same_result(tmp_path: Path) -> None:
    """Nine megabytes: three pieces."""
    path = tmp_path / "log"
    ended = ((i, 1795229900 + i // 20_000, i % 1_000_000) for i in range(300_000))
    path.write_text("".join(f"{i % 8} {i} {300 + i * 7919 % 2000} 0 {second} {us}\n" for i, second, us in ended))
    assert path.stat().st_size > 9_000_000
    logs = [read_pgbench_logs([path], threads=threads) for threads in (1, 2, 3)]
    assert_totals(logs[0].totals, parse([path]))
    for log in logs[1:]:
        assert log.totals.latency == logs[0].totals.latency
        columns = zip(log.series.columns().values(), logs[0].series.columns().values(), strict=True)
        assert all(np.array_equal(np.asarray(mine), np.asarray(theirs), equal_nan=True) for mine, theirs in columns)


def test_other_threads_run_while_a_log_is_read(tmp_path: Path) -> None:
    """With a switch interval that never comes, another thread gets the interpreter only from who lets it go.

    A busy machine may give that thread no processor while a log is read once.
    """
    path = tmp_path / "log"
    path.write_text(GOOD * 1_000_000)
    gate, seen = threading.Lock(), []

    def wait_and_tell() -> None:
        with gate:
            seen.append("ran")

    gate.acquire()
    other = threading.Thread(target=wait_and_tell)
    other.start()
    interval_s = sys.getswitchinterval()
    sys.setswitchinterval(10_000)
    try:
        gate.release()
        before, turns = len(seen), 0
        while not seen and turns < 1000:
            lines, turns = read_pgbench_logs([path]).lines, turns + 1
        after = len(seen)
    finally:
        sys.setswitchinterval(interval_s)
    other.join()
    assert (before, lines, after) == (0, 1_000_000, 1)


WORDS = ("skipped", "failed", "serialization", "deadlock", "other")
LINES = st.lists(
    st.builds(
        Line,
        outcome=st.one_of(st.just(""), st.sampled_from(WORDS)),
        latency_us=st.integers(0, 100_000),
        script=st.integers(0, 2),
        ended_us=st.integers(1_795_229_900_000_000, 1_795_229_912_000_000),
        lag_us=st.integers(0, 5000),
        retries=st.integers(0, 3),
    ),
    max_size=40,
)


@given(st.lists(LINES, min_size=1, max_size=3))
def test_any_logs_as_a_plain_reader_has_them(tmp_path_factory: pytest.TempPathFactory, files: list[list[Line]]) -> None:
    folder = tmp_path_factory.mktemp("logs")
    paths = [folder / f"log.1.{index}" for index in range(len(files))]
    for path, lines in zip(paths, files, strict=True):
        path.write_text("".join(text_of(line) for line in lines))
    log = read_pgbench_logs(paths, has_lag=True, has_retries=True)
    assert_log(log, parse(paths, has_lag=True, has_retries=True), has_lag=True)


def text_of(line: Line) -> str:
    time = line.outcome or line.latency_us
    second, microsecond = divmod(line.ended_us, 1_000_000)
    return f"3 141 {time} {line.script} {second} {microsecond} {line.lag_us} {line.retries}\n"
