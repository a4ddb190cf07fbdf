"""sysbench's words and rows: every total of real outputs, quantiles from its histogram, options in its own terms."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.errors import UsageError
from pgassay.interfaces.places import Endpoint
from pgassay.load import sysbench as output
from pgassay.load import sysbench as rows
from pgassay.load.sysbench import DISTRIBUTIONS, SysbenchOptions, run_command
from tests.load.samples import FOLDER, binary_fields

ENDPOINT = Endpoint(Path("/run/private"), 5499, "postgres", "someone")


def sample(name: str) -> str:
    return (FOLDER / f"sysbench_{name}.txt").read_text(encoding="utf-8")


def totals(name: str) -> output.Totals:
    found = output.parse_totals(sample(name))
    assert found is not None
    return found


def test_the_totals_of_a_run() -> None:
    found = totals("oltp_delete")
    assert (found.threads, found.transactions, found.tps, found.seconds) == (4, 777009, 38826.18, 20.0122)
    assert (found.read, found.write, found.other) == (0, 100684, 676325)
    assert found.histogram == ()


@pytest.mark.parametrize(
    ("scenario", "seen_mb"),
    [("oltp_insert", 4.9), ("oltp_delete", 6.6), ("oltp_update_non_index", 7.3), ("oltp_write_only", 15.6),
     ("oltp_read_only", 21.8), ("oltp_read_write", 32.6)],
)  # fmt: skip
def test_a_sessions_memory_goes_by_its_tables_and_statements(scenario: str, seen_mb: float) -> None:
    """8 MB for each, whatever the scenario, were half of what oltp_write_only took."""
    expected_mb = SysbenchOptions(scenario=scenario, tables=200).session_bytes / (1 << 20)
    assert -0.5 <= expected_mb - seen_mb <= 4
    assert SysbenchOptions(scenario=scenario, tables=1).session_bytes < 3 << 20
    assert SysbenchOptions(scenario=scenario, tables=200, protocol="simple").session_bytes < 5 << 20


def test_deletes_that_found_no_row_are_told_apart() -> None:
    found = output.of_totals(totals("oltp_delete"), "oltp_delete")
    assert found["empty_delete_share"] == pytest.approx(676325 / 777009)
    assert found["deletes_per_second"] == pytest.approx(100684 / 20.0122)
    other = output.of_totals(totals("oltp_update_index"), "oltp_update_index")
    assert other["empty_delete_share"] is None


def test_quantiles_of_the_histogram_agree_with_the_one_that_sysbench_prints() -> None:
    found = totals("hist")
    assert sum(count for _, count in found.histogram) == found.transactions == 232526
    every = output.of_totals(found, "oltp_point_select")
    assert every["latency_p99_ms"] == pytest.approx(found.latencies["latency_p99_ms"], abs=0.005)
    p50, p95, p999 = every["latency_p50_ms"], every["latency_p95_ms"], every["latency_p999_ms"]
    assert p50 is not None
    assert p95 is not None
    assert p999 is not None
    assert 0.03 < p50 < p95 < p999 < 133.86
    assert every["latency_max_ms"] == 133.86


def test_without_a_histogram_there_is_no_quantile() -> None:
    found = output.of_totals(totals("psdisable"), "oltp_read_write")
    assert found["latency_p99_ms"] is None
    assert found["tps"] == 1441.75
    assert output.quantile_ms((), 0.5) is None


def test_seconds_and_their_percentile() -> None:
    seconds = output.parse_seconds(sample("oltp_delete"))
    assert len(seconds) == 20
    assert (seconds[0].tps, seconds[0].writes, seconds[0].latency_ms) == (23621.82, 8575.60, 0.51)
    assert [each.latency_ms for each in output.parse_seconds(sample("psdisable"))] == [None] * 3


def test_a_run_that_died_has_no_totals_but_last_words() -> None:
    text = sample("segv_missing_table")
    assert output.parse_totals(text) is None
    assert 'relation "sbtest1" does not exist' in str(output.first_fatal(text))


def test_the_command_leaves_nothing_to_defaults() -> None:
    options = SysbenchOptions.from_levels(
        {"scenario": "oltp_insert", "threads": "8", "tables": "3", "rows": "500", "rate": "100"}
    )
    said = run_command(ENDPOINT, options, 0)
    assert said[:2] == ["sysbench", "oltp_insert"]
    assert said[-1] == "run"
    for word in (
        "--pgsql-host=/run/private", "--pgsql-port=5499", "--threads=8", "--tables=3", "--table_size=500",
        "--time=60", "--rate=100", "--rand-seed=1", "--histogram=on", "--db-ps-mode=auto", "--report-interval=1",
    ):  # fmt: skip
        assert word in said
    own = run_command(ENDPOINT, SysbenchOptions.from_levels({"scenario": "hot_points"}), 0)[1]
    assert Path(own).name == "hot_points.lua", "it is not among sysbench's"
    assert Path(own).is_file()
    counted = run_command(ENDPOINT, SysbenchOptions.from_levels({"transactions": "5", "threads": "4"}), 7)
    assert "--events=20" in counted
    assert "--time=0" in counted


@pytest.mark.parametrize(
    ("levels", "says"),
    [
        ({"scenario": "oltp_read"}, "oltp_read_write"),
        ({"protocol": "extended"}, "prepared"),
        ({"threads": "0"}, "at least 1"),
        ({"tables": "none"}, "whole number"),
        ({"rows": "3000000000"}, "2147483647"),
        ({"distribution": "zipf"}, "special"),
    ],
)
def test_wrong_options_are_named(levels: dict[str, str], says: str) -> None:
    with pytest.raises(UsageError) as caught:
        SysbenchOptions.from_levels(levels)
    assert says in f"{caught.value.message} {caught.value.hint}"
    assert f"load.{next(iter(levels))}" in caught.value.message


def test_rows_keep_sysbenchs_content_rules() -> None:
    data = b"".join(rows.chunks(rows.CHUNK_ROWS + 7, 3, "special"))
    every = [[field or b"" for field in row] for row in binary_fields(data)]
    assert [int.from_bytes(row[0], "big") for row in every] == list(range(1, rows.CHUNK_ROWS + 8))
    assert all(1 <= int.from_bytes(row[1], "big") <= rows.CHUNK_ROWS + 7 for row in every)
    for row in every[:50]:
        for text, groups in ((row[2], 10), (row[3], 5)):
            parts = text.decode().rstrip(" ").split("-")
            assert [len(part) for part in parts] == [11] * groups
            assert all(part.isdecimal() for part in parts)
    assert len({row[2] for row in every}) == len(every)
    assert data == b"".join(rows.chunks(rows.CHUNK_ROWS + 7, 3, "special")), "the same every time"


@given(count=st.integers(1, 300), size=st.integers(1, 1000), kind=st.sampled_from(DISTRIBUTIONS))
def test_k_is_always_in_the_table(count: int, size: int, kind: str) -> None:
    found = rows.picked(np.random.default_rng(1), count, size, kind)
    assert found.shape == (count,)
    assert found.min() >= 1
    assert found.max() <= size


def test_the_special_distribution_is_three_quarters_one_per_cent() -> None:
    found = rows.picked(np.random.default_rng(1), 40_000, 10_000, "special")
    central = np.mean((found > 4_950) & (found <= 5_051))
    assert central == pytest.approx(0.75 + 0.25 * 0.05, abs=0.02)
    assert found.std() == pytest.approx(0.5 * 10_000 / np.sqrt(12 * 12), rel=0.05)
