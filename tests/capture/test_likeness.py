"""Two loads side by side: equal ones are alike in every part, others in the parts that are."""

from dataclasses import replace

import pytest

from pgassay.capture.format import Load, Logged, Moment, Statement
from pgassay.capture.likeness import ENOUGH, compare
from pgassay.capture.texts import likeness, unlike
from pgassay.record.ask import Likeness

READ = Statement(1, "SELECT", 90, 90.0, 90, blocks_hit=180, blocks_read=20)
WRITE = Statement(2, "UPDATE", 10, 60.0, 10, blocks_hit=40, wal_bytes=1000, wal_records=20)
SOURCE = Load(
    10.0, (READ, WRITE), (Moment(0.0, {"active": 2}, {"CPU": 1, "IO: WALSync": 1}),), {"updates": 10, "hot_updates": 5}
)


PLAYED = "time that is played"


def likenesses(found: Likeness) -> dict[str, float | None]:
    return {each.name: each.likeness for each in found.parts}


def test_a_load_is_like_itself_in_every_part() -> None:
    found = compare(SOURCE, SOURCE)
    assert set(likenesses(found).values()) == {1.0}
    assert found.score == 1.0


def test_each_part_says_how_far_it_is() -> None:
    here = Load(
        1.0, (READ,), (Moment(0.0, {"active": 1}, {"CPU": 1}),), {"updates": 10, "hot_updates": 10}
    )  # fmt: skip
    parts = likenesses(compare(SOURCE, here))
    assert parts["calls by statement"] == pytest.approx(0.9)
    assert parts["time by statement"] == pytest.approx(0.6)
    assert parts["WAL records a call"] == 0.0
    assert parts["blocks a call"] == pytest.approx((200 / 90) / 2.4)
    assert parts["HOT updates"] == pytest.approx(0.5)
    assert parts["wait events"] == pytest.approx(0.5)
    assert parts["temporary blocks a call"] == 1.0, "neither has any"


def test_a_statement_that_was_drawn_more_often_moves_no_mean_of_a_call() -> None:
    """It is the part of the calls that tells it: of a rare statement a short playback draws twice as many, or none."""
    write = replace(WRITE, calls=20, exec_ms=120.0, rows=20, blocks_hit=80, wal_bytes=2000, wal_records=40)
    parts = likenesses(compare(SOURCE, replace(SOURCE, statements=(READ, write))))
    assert parts["calls by statement"] == pytest.approx(0.9 * 100 / 110 + 0.1)
    alike = ("rows a call", "blocks a call", "WAL records a call", "WAL a call", "time a call")
    assert [parts[name] for name in alike] == pytest.approx([1.0] * len(alike))


def test_what_a_log_does_not_tell_is_not_compared() -> None:
    plain = tuple(Statement(each.query_id, each.text, each.calls, each.exec_ms, 0) for each in SOURCE.statements)
    by_log = Load(10.0, plain, logged=Logged(10.0, 100))
    found = compare(by_log, SOURCE)
    known = {name for name, like in likenesses(found).items() if like is not None}
    assert known == {"calls by statement", "time by statement", "time a call", PLAYED}
    assert found.score == 1.0
    untimed = replace(by_log, statements=tuple(replace(each, exec_ms=0.0) for each in plain))
    found = compare(untimed, SOURCE)
    assert {name for name, like in likenesses(found).items() if like is not None} == {
        "calls by statement",
        "calls that are played",
    }
    assert [(each.distance, each.source_ms) for each in found.statements] == [(0.0, None), (0.0, None)]


def test_what_the_machine_decides_does_not_count() -> None:
    statements = tuple(replace(each, exec_ms=each.exec_ms * 9, wal_bytes=0) for each in SOURCE.statements)
    slow = replace(SOURCE, statements=statements)
    found = compare(SOURCE, slow)
    assert found.score == 1.0
    assert likenesses(found)["time a call"] == pytest.approx(1 / 9)


def test_statements_are_set_side_by_side_and_the_worst_is_told_first() -> None:
    here = replace(SOURCE, statements=(replace(READ, exec_ms=360.0), replace(WRITE, calls=20, exec_ms=40.0)))
    first, second = compare(SOURCE, here).statements
    assert {first.text, second.text} == {"SELECT", "UPDATE"}
    read = next(each for each in (first, second) if each.text == "SELECT")
    assert [read.source_calls, read.here_calls] == pytest.approx([0.9, 90 / 110])
    assert [read.source_time, read.here_time] == pytest.approx([0.6, 0.9])
    assert (read.source_ms, read.here_ms) == (1.0, 4.0)
    said = likeness(compare(SOURCE, here))
    assert "statements that differ most, of 2: calls, time, mean of a call" in said
    assert "    90.0% → 81.8%, 60.0% → 90.0%, 1 ms → 4 ms: SELECT\n" in said


def test_a_statement_that_only_one_load_has_is_told_and_equal_ones_are_not() -> None:
    here = replace(SOURCE, statements=(READ,))
    (lost,) = (each for each in compare(SOURCE, here).statements if each.text == "UPDATE")
    assert (lost.here_calls, lost.here_ms) == (0.0, None)
    assert "6 ms → none: UPDATE" in likeness(compare(SOURCE, here))
    assert "statements that differ" not in likeness(compare(SOURCE, SOURCE))


def test_a_load_at_the_sources_pace_has_rates_and_one_as_fast_as_it_goes_has_none() -> None:
    source = replace(SOURCE, counters={**SOURCE.counters, "wal_bytes": 5000.0})
    here = replace(source, window_s=20.0, counters={**SOURCE.counters, "wal_bytes": 50_000.0})
    assert not {"calls a second", "WAL a second"} & set(likenesses(compare(source, here)))
    parts = {each.name: each for each in compare(source, here, 1.0).parts}
    calls, wal = parts["calls a second"], parts["WAL a second"]
    assert (calls.source, calls.here, calls.likeness, calls.counts) == (10.0, 5.0, 0.5, True)
    assert (wal.source, wal.here, wal.counts) == (500.0, 2500.0, False), "whole pages after a checkpoint are in it"
    twice = {each.name: each for each in compare(source, replace(here, window_s=5.0), 2.0).parts}
    assert (twice["calls a second"].source, twice["calls a second"].likeness) == (20.0, 1.0)


def test_nothing_to_compare_has_no_score() -> None:
    assert compare(Load(1.0, ()), Load(1.0, ())).score is None
    assert compare(Load(1.0, ()), Load(1.0, ()), 1.0).score is None


def test_the_table_and_the_warning_name_what_is_far() -> None:
    found = compare(SOURCE, Load(1.0, (READ,), SOURCE.moments, SOURCE.counters))
    assert "calls by statement" in likeness(found)
    assert "WAL records a call (0%)" in unlike(found)
    assert f"({ENOUGH:.0%})" not in unlike(found)


def test_a_score_is_never_above_the_share_of_the_time_that_is_played() -> None:
    few = tuple(Statement(n, f"S{n}", 100, 1.0, 100, blocks_hit=100) for n in range(60))
    source = replace(SOURCE, statements=(*few, Statement(99, "LONG", 1, 90.0, 1, blocks_hit=1)))
    found = compare(source, replace(source, statements=few))
    counted = [each.likeness for each in found.parts if each.counts and each.likeness is not None]
    assert sum(counted) / len(counted) > ENOUGH, "by the mean of the parts it would pass"
    assert found.score == pytest.approx(0.4)
    assert found.unlike
    assert f"{PLAYED} (40%)" in unlike(found)
    assert "(at most)" in likeness(found)
