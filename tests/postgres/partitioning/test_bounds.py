"""Partitions cover every value, and values that do not fill them are an error that says how many they fill."""

import pytest

from pgassay.errors import UsageError
from pgassay.postgres.partitioning.bounds import Partition, of_hash, of_list, of_range
from pgassay.postgres.partitioning.request import parse

QUARTERS = parse("t BY RANGE (n) INTO 3")[0]
PAIR = parse("t BY LIST (s) INTO 2")[0]
EACH = parse("t BY LIST (s)")[0]


def test_ranges_have_no_gap_and_no_end() -> None:
    assert of_range(QUARTERS, ["'3'", "'7'"], nullable=True) == [
        Partition("p1", "FOR VALUES FROM (MINVALUE) TO ('3')"),
        Partition("p2", "FOR VALUES FROM ('3') TO ('7')"),
        Partition("p3", "FOR VALUES FROM ('7') TO (MAXVALUE)"),
        Partition("default", "DEFAULT"),
    ]
    assert len(of_range(QUARTERS, ["'3'", "'7'"], nullable=False)) == 3


def test_each_remainder_has_a_partition() -> None:
    assert [each.values for each in of_hash(2)] == [
        "FOR VALUES WITH (MODULUS 2, REMAINDER 0)", "FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
    ]  # fmt: skip


def test_values_are_shared_out_by_their_rows() -> None:
    values = [("'a'", 50), ("'b'", 30), ("'c'", 15), ("'d'", 10)]
    assert [each.values for each in of_list(PAIR, values)] == [
        "FOR VALUES IN ('a')", "FOR VALUES IN ('b', 'c', 'd')", "DEFAULT",
    ]  # fmt: skip
    assert [each.suffix for each in of_list(EACH, values)] == ["p1", "p2", "p3", "p4", "default"]


def test_values_that_are_too_few_or_too_many_are_refused() -> None:
    with pytest.raises(UsageError, match="give 2 partitions") as refused:
        of_range(QUARTERS, ["'3'"], nullable=False)
    assert "INTO 2" in (refused.value.hint or "")
    for asked in (PAIR, EACH):
        with pytest.raises(UsageError, match="give 1 partitions"):
            of_list(asked, [("'a'", 9)])
    with pytest.raises(UsageError, match="more than 1000 partitions"):
        of_list(EACH, [(f"'{n}'", 1) for n in range(1001)])
    with pytest.raises(UsageError, match="more than 1000 partitions"):
        of_range(parse("t BY RANGE (n) EVERY 1")[0], [f"'{n}'" for n in range(1000)], nullable=False)
