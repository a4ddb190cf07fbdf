"""Two loads side by side: equal ones are alike in every part, others in the parts that are."""

from dataclasses import replace

import pytest

from pgassay.capture.format import Load, Moment, Statement
from pgassay.capture.likeness import ENOUGH, Likeness, compare
from pgassay.capture.texts import likeness, unlike

READ = Statement(1, "SELECT", 90, 90.0, 90, blocks_hit=180, blocks_read=20)
WRITE = Statement(2, "UPDATE", 10, 60.0, 10, blocks_hit=40, wal_bytes=1000, wal_records=20)
SOURCE = Load(
    10.0, (READ, WRITE), (Moment(0.0, {"active": 2}, {"CPU": 1, "IO: WALSync": 1}),), {"updates": 10, "hot_updates": 5}
)


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


def test_what_the_machine_decides_does_not_count() -> None:
    statements = tuple(replace(each, exec_ms=each.exec_ms * 9, wal_bytes=0) for each in SOURCE.statements)
    slow = replace(SOURCE, statements=statements)
    found = compare(SOURCE, slow)
    assert found.score == 1.0
    assert likenesses(found)["time a call"] == pytest.approx(1 / 9)


def test_nothing_to_compare_has_no_score() -> None:
    assert compare(Load(1.0, ()), Load(1.0, ())).score is None


def test_the_table_and_the_warning_name_what_is_far() -> None:
    found = compare(SOURCE, Load(1.0, (READ,), SOURCE.moments, SOURCE.counters))
    assert "calls by statement" in likeness(found)
    assert "WAL records a call (0%)" in unlike(found)
    assert f"({ENOUGH:.0%})" not in unlike(found)
