"""BenchBase's summaries, courses and lists of requests: numbers in their units, and what only looks like them."""

from pathlib import Path

import pytest

from pgassay.importing.files import read_files
from pgassay.importing.reader import Options, parse_roles
from tests.importing.made import benchbase, benchbase_raw

COURSE = "Time (seconds),Throughput (requests/second),Average Latency (millisecond)\n"


def test_a_summary_s_numbers_in_their_units(tmp_path: Path) -> None:
    (tmp_path / "tpcc_2026.summary.json").write_text(benchbase(100.0))
    reading, _ = read_files([tmp_path], Options(), compared=False)
    (run,) = reading.runs
    assert reading.kind == "BenchBase"
    assert {name: value for name, value in run.responses.items() if value is not None} == {
        "throughput": 100.0, "goodput": 90.0, "latency_ms": 2.0, "latency_p99_ms": 9.0,
    }  # fmt: skip
    assert (run.seconds, run.started_s) == (60.0, 1_750_000_000.0)
    assert (run.fields["clients"], run.fields["scale"], run.fields["server_version"]) == ("4", "10", "16.4")
    assert not run.problems


def test_a_folder_of_benchbase_is_one_run_with_its_course(tmp_path: Path) -> None:
    """Its results.csv ended the import with "no option says which column holds the results"."""
    (tmp_path / "tpcc_1.summary.json").write_text(benchbase(100.0))
    (tmp_path / "tpcc_1.results.csv").write_text(COURSE + "0,90.0,2\n5,110.5,2\n10,3.0,2\n")
    (tmp_path / "tpcc_1.raw.csv").write_text(benchbase_raw([(1.0, 5), (2.0, 5)]))
    reading, _ = read_files([tmp_path], Options(), compared=False)
    (run,) = reading.runs
    assert [(each.monotonic_ns // 10**9, each.value) for each in run.series] == [(0, 90.0), (5, 110.5)]


def test_a_course_alone_and_a_table_that_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a.results.csv").write_text(COURSE + "0,90.0,2\n5,110.5,2\n")
    (tmp_path / "b.summary.json").write_text(benchbase(100.0))
    reading, _ = read_files([tmp_path], Options(), compared=False)
    assert ["whose summary.json is not there" in each.reason for each in reading.left_out] == [True]
    asked = Options(roles=parse_roles(["value=Throughput (requests/second)"]))
    reading, _ = read_files([tmp_path / "a.results.csv"], asked, compared=False)
    assert [run.responses["Throughput (requests/second)"] for run in reading.runs] == [90.0, 110.5]


def test_requests_alone_are_a_run(tmp_path: Path) -> None:
    """Four requests from 1000.0 s to the end of the last at 1002.0 s."""
    (tmp_path / "a.raw.csv").write_text(
        benchbase_raw([(1000.0, 1000), (1001.1, 3000), (1001.4, 1000), (1001.5, 500_000)])
    )
    reading, _ = read_files([tmp_path], Options(), compared=False)
    (run,) = reading.runs
    assert run.responses["throughput"] == pytest.approx(2.0)
    assert run.responses["latency_max_ms"] == 500.0
    assert run.started_s == 1000.0
    assert run.seconds == pytest.approx(2.0)
    assert [each.value for each in run.series] == [2.0]


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("a.raw.csv", benchbase_raw([(1.0, 5)]), "fewer than two"),
        ("a.raw.csv", benchbase_raw([(1.0, 5), (2.0, -5)]), "below zero"),
        ("a.raw.csv", benchbase_raw([(1.0, 5)]) + "1,NewOrder,soon,5,0,1\n", "cannot be read"),
        ("a.raw.csv", benchbase_raw([(1.0, 5), (float("nan"), 5)]), "not a number"),
        ("a.summary.json", benchbase(1.0)[:-1], "cannot be read"),
    ],
)
def test_what_is_no_run_says_why(tmp_path: Path, name: str, text: str, why: str) -> None:
    (tmp_path / "whole.summary.json").write_text(benchbase(100.0))
    (tmp_path / name).write_text(text)
    reading, _ = read_files([tmp_path], Options(), compared=False)
    assert [why in each.reason for each in reading.left_out] == [True]


def test_a_summary_may_hold_anything_in_any_place(tmp_path: Path) -> None:
    more = {"Latency Distribution": [1], "Elapsed Time (nanoseconds)": "long", "terminals": {}, "Final State": "ERROR"}
    (tmp_path / "a.summary.json").write_text(benchbase(100.0, **more))
    reading, _ = read_files([tmp_path], Options(), compared=False)
    (run,) = reading.runs
    assert (run.seconds, run.responses["latency_ms"]) == (None, None)
    assert [each.detail for each in run.problems] == ["its final state is ERROR"]
