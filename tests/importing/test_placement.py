"""Which imported runs count, which block they get, and what becomes of seconds."""

from math import nan

import pytest

from pgassay.errors import UsageError
from pgassay.importing.imported_run import (
    BlockRule,
    Placed,
    assign_blocks,
    baseline_of,
    in_time,
    join_seconds,
    place,
    remarks_on_seconds,
    study_document,
)
from pgassay.importing.reader import ForeignRun, parse_roles
from pgassay.study.parsing import parse_recorded

ROLES = parse_roles(["treatment=t,condition=c,block=run"])


def run(t: str, tps: float | None, run: str = "", *, c: str = "x", **more: float) -> ForeignRun:
    return ForeignRun(f"{t}{run}", {"t": t, "c": c, "run": run}, {"tps": tps}, **more)  # type: ignore[arg-type]


def placed(*runs: ForeignRun) -> tuple[Placed, ...]:
    return place(runs, ROLES, "tps")


@pytest.mark.parametrize(
    ("value", "why"), [(None, "there is no tps"), (nan, "tps is nan"), (0.0, "tps is 0"), (-1.0, "tps is -1")]
)
def test_what_is_no_speed_is_no_result(value: float | None, why: str) -> None:
    (each,) = placed(run("a", value))
    assert [(reason.code, reason.detail) for reason in each.reasons] == [("no_value", why)]
    assert not each.counts


def test_a_truncated_run_is_an_outcome_although_it_has_a_value() -> None:
    first, second = placed(run("a", 100.0, seconds=1800.0), run("a", 7413.6, seconds=0.065))
    assert first.counts
    assert [(reason.code, reason.detail) for reason in second.reasons] == [
        ("short", "ran 0.065 s where similar runs took 1800 s")
    ]
    planned = placed(run("a", 100.0, seconds=1700.0, planned_s=1800.0))[0]
    assert [reason.detail for reason in planned.reasons] == ["ran 1.7e+03 s of 1800 s"]


def test_numbered_repetitions_are_blocks() -> None:
    numbers, choice = assign_blocks(
        placed(run("b", 1.0, "7"), run("a", 1.0, "3"), run("a", 1.0, "7"), run("b", 1.0, "3")), "run"
    )
    assert (numbers, choice) == ((2, 1, 2, 1), BlockRule.NUMBERED)


def test_without_numbers_the_k_th_run_of_each_is_block_k() -> None:
    runs = placed(run("a", 1.0), run("a", 2.0), run("b", 1.0), run("b", 1.0, c="y"))
    assert assign_blocks(runs, "") == ((1, 2, 1, 1), BlockRule.COUNTED)


@pytest.mark.parametrize("texts", [("1", "1"), ("1", ""), ("1", "two"), ("1", "9" * 5000)])
def test_numbers_that_are_none_are_not_used(texts: tuple[str, str]) -> None:
    assert assign_blocks(placed(*(run("a", 1.0, text) for text in texts)), "run") == ((1, 2), BlockRule.REPEATED)


def test_known_times_give_the_order() -> None:
    runs = (run("a", 1.0, started_s=20.0), run("b", 1.0, started_s=10.0))
    assert in_time(runs, ordered=False) == ((runs[1], runs[0]), True)
    unknown = (*runs, run("c", 1.0))
    assert in_time(unknown, ordered=False) == (unknown, False)


def test_seconds_become_the_run_that_they_are() -> None:
    rows = [run("a", value, "1", second=float(place)) for place, value in enumerate((100.0, None, 110.0))]
    (whole,) = join_seconds(rows, ROLES)
    assert (whole.responses["tps"], whole.seconds, len(whole.series)) == (105.0, 3.0, 3)
    assert [each.value for each in whole.series] == [100.0, None, 110.0]
    assert remarks_on_seconds(rows)[1] == "1 of the seconds have no value and do not count in it"


def second(file: str, line: int, at: float, tps: float) -> ForeignRun:
    return ForeignRun(f"{file} line {line}", {"t": "a", "c": "x", "run": ""}, {"tps": tps}, second=at)


def test_seconds_of_several_files_or_of_appended_runs_are_no_one_run() -> None:
    """Two runs of an hour, 5.52 and 4.56 a second, became one valid run of 5.04."""
    files = [second(file, at, at, tps) for file, tps in (("a.csv", 5.5), ("b.csv", 4.5)) for at in range(1, 4)]
    assert [each.responses["tps"] for each in join_seconds(files, ROLES)] == [5.5, 4.5]
    appended = [second("a.csv", line, (line - 1) % 3, 5.5 if line <= 3 else 4.5) for line in range(1, 7)]
    assert [each.responses["tps"] for each in join_seconds(appended, ROLES)] == [5.5, 4.5]
    unsorted = [second("a.csv", line, at, 1.0) for line, at in enumerate((3, 1, 2), start=1)]
    assert len(join_seconds(unsorted, ROLES)) == 1


def test_the_length_of_one_second_s_row_is_not_known() -> None:
    (only,) = join_seconds([second("a.csv", 1, 5.0, 1.0)], ROLES)
    assert only.seconds is None


def test_the_study_of_imported_runs_reads_back() -> None:
    runs = placed(run("4kB", 1.0), run("8kB", 1.0), run("8kB", 1.0, c="y"))
    made = study_document(
        runs, title="T", question="Q", primary="tps", secondary=[], baseline="t=8kB", blocks=3, resolution="2%"
    )
    study = parse_recorded("imported", made)
    assert study.design.baseline.name == "t=8kB"
    assert [arm.name for arm in study.arms] == ["t=4kB, c=x", "t=8kB, c=x", "t=4kB, c=y", "t=8kB, c=y"]
    assert study.design.blocks_max == 5


def test_baselines() -> None:
    treatments = [{"a": "1", "b": "x"}, {"a": "2", "b": "x"}]
    assert baseline_of("", treatments) == treatments[0]
    assert baseline_of("2", treatments) == baseline_of("a=2", treatments) == treatments[1]
    for wrong in ("b=x", "3", "a=3", "x"):
        with pytest.raises(UsageError, match="is not one treatment"):
            baseline_of(wrong, treatments)


def test_one_treatment_is_no_study() -> None:
    with pytest.raises(UsageError, match='of one treatment, "t=a"'):
        study_document(
            placed(run("a", 1.0)),
            title="",
            question="",
            primary="tps",
            secondary=[],
            baseline="",
            blocks=1,
            resolution="2%",
        )
