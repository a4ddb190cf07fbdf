"""How a table is partitioned is written as in CREATE TABLE, and everything else is refused with what would do."""

import pytest

from pgassay.errors import UsageError
from pgassay.postgres.partitioning.request import Method, Partitioning, parse


def test_names_are_read_as_the_server_reads_them() -> None:
    (asked,) = parse('Shop."Odd ""name" PARTITION BY hash (Id, "Day") into 8 PARTITIONS')
    assert asked == Partitioning("shop", 'Odd "name', Method.HASH, ("id", "Day"), 8)
    assert str(asked) == 'shop."Odd ""name" BY HASH (id, "Day") INTO 8'
    assert asked.clause == 'HASH ("id", "Day")'
    assert parse(str(asked)) == (asked,)


def test_a_step_is_a_number_or_an_interval() -> None:
    number, interval = parse("t BY RANGE (n) EVERY 0.5; u BY RANGE (day) EVERY '1 month'")
    assert (number.step, number.is_interval) == ("0.5", False)
    assert (interval.step, interval.is_interval) == ("1 month", True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("orders", "does not say how"),
        ("orders BY RANGE day INTO 4", "does not say how"),
        ("orders BY RANGE (day) INTO many", "does not say how"),
        ("orders BY KEY (day) INTO 4", "does not say how"),
        ("orders BY RANGE (day) INTO 4; DROP TABLE orders", "does not say how"),
        ("orders BY RANGE () INTO 4", "not by columns alone"),
        ("orders BY LIST (a b)", "not by columns alone"),
        ('orders BY RANGE (day COLLATE "C") INTO 4', "not by columns alone"),
        ("orders BY RANGE (day, id) INTO 4", "names several columns"),
        ("orders BY LIST (day, id)", "names several columns"),
        ("orders BY RANGE (day) INTO 1", "asks for 1 partitions"),
        ("orders BY HASH (id) INTO 0", "asks for 0 partitions"),
        ("orders BY HASH (id) INTO -3", "asks for -3 partitions"),
        ("orders BY HASH (id) INTO 1001", "asks for 1001 partitions"),
        ("orders BY HASH (id)", "does not say how many"),
        ("orders BY RANGE (day)", "does not say how many"),
        ("orders BY LIST (day) EVERY 10", "LIST has none"),
        ("orders BY RANGE (day) EVERY 0", "step of 0"),
        ("orders BY LIST (a); Orders BY HASH (a) INTO 2", "partitioned twice"),
    ],
)
def test_what_is_no_partitioning_is_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        parse(text)
    assert refused.value.hint
