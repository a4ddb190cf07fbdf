"""A question about partitions: what the capture knows to be impossible is refused, and what it costs is told before."""

from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.capture.format import Table
from pgassay.capture.partitions import lines, require
from pgassay.capture.question import Question, document, parse
from pgassay.errors import UsageError
from pgassay.lab.arms import bind
from pgassay.lab.catalogue import every_factor
from pgassay.lab.run import write_study
from pgassay.postgres.partitioning.table import Key
from tests.capture.schemas import TABLES
from tests.capture.test_question import INDEX, SOURCE

CLAUSE = "orders BY HASH (id) INTO 8"


def asked(*clauses: str) -> Question:
    return parse([], [], None, partitions=clauses)


def orders(**more: object) -> Table:
    found = next(each for each in TABLES if each.name == "orders")
    return replace(found, **more)  # type: ignore[arg-type]


def test_partitions_are_set_against_none_and_made_after_a_change_of_the_schema(tmp_path: Path) -> None:
    question = parse([], [INDEX], None, partitions=["Orders PARTITION BY HASH (id) INTO 8", CLAUSE])
    assert question.partitions == (CLAUSE,), "the same in other words"
    assert question.named == f"{INDEX}; partition {CLAUSE}"
    study = write_study("ask", document(SOURCE, None, tmp_path / "data.dump", {}, question)).study
    assert [arm.name for arm in study.arms] == [
        f"schema.change={change}, schema.partition={partition}"
        for change in ("none", INDEX)
        for partition in ("none", CLAUSE)
    ]
    turned = document(SOURCE, None, tmp_path / "data.dump", {}, asked(CLAUSE))
    turned["fixed"]["schema.change"] = INDEX
    study = write_study("ask", turned).study
    bound = bind(study, study.arms[1], every_factor())
    assert [each.name for each in bound if each.name.startswith("schema.")] == ["schema.change", "schema.partition"]


@pytest.mark.parametrize("clause", ["none", "orders BY HASH (id) INTO 1", "orders"])
def test_what_is_no_partitioning_is_refused(clause: str) -> None:
    with pytest.raises(UsageError):
        asked(clause)


@pytest.mark.parametrize(
    ("clause", "table", "said"),
    [
        ("nowhere BY HASH (id) INTO 8", orders(), 'there is no table "nowhere"'),
        ("orders BY HASH (nothing) INTO 8", orders(), "orders has no column nothing"),
        (CLAUSE, orders(kind="m"), "orders is a materialized view"),
        (CLAUSE, orders(kind="p"), "orders is partitioned already"),
        (CLAUSE, orders(kind="r", inherits=True), "is a partition or inherits"),
        ("orders BY LIST (status)", orders(keys=(Key("orders_pkey", "PRIMARY KEY", ("id",)),)), "orders_pkey"),
    ],
)
def test_what_the_capture_knows_to_be_impossible_is_refused(clause: str, table: Table, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        require(asked(clause), [table])
    require(asked(CLAUSE), [orders()])  # of an older capture nothing is known


def test_what_it_costs_is_told() -> None:
    (line,) = lines(asked(CLAUSE), [orders(rows=1000.0, total_bytes=50 << 20)], 20 << 20, 1 << 30)
    assert "partitions of orders: 1000 rows, 50MB with indexes" in line
    assert "in 5 s at least at 20MB a second" in line
    assert "room for 100MB more" in line
    assert "1GB are free" in line
    (unknown,) = lines(asked(CLAUSE), [orders(rows=None)], 0.0, 0)
    assert "an unknown number of rows" in unknown
    assert "a second (measured" not in unknown
