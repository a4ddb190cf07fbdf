"""A server's statistics: read without values, and made into data that the server's own constraints accept."""

import pytest

from benchmarks.private_server import serving
from benchmarks.synthetic_data.__main__ import FACTOR, try_schema
from benchmarks.synthetic_data.comparison import compare
from pgassay.capture.synthetic.reading import literal, schema_strings


def test_strings_of_the_schema_are_found() -> None:
    texts = [
        "CHECK (status = ANY (ARRAY['open'::text, 'it''s paid'::text]))",
        None,
        "nextval('a_seq'::regclass)",
        "now()",
    ]
    assert schema_strings(texts) == ("open", "it's paid", "a_seq")


def test_literals_are_quoted() -> None:
    assert literal("it's") == "'it''s'"
    assert literal("a\\b'") == "E'a\\\\b'''"


def test_plans_are_compared_node_by_node() -> None:
    scan = {"Node Type": "Seq Scan", "Relation Name": "t", "Alias": "t", "Plan Rows": 100}
    assert compare("q", scan, scan | {"Plan Rows": 250}).worst_ratio == pytest.approx(2.5)
    top = {"Node Type": "Aggregate", "Plan Rows": 1, "Plans": [scan]}
    other = {"Node Type": "Aggregate", "Plan Rows": 1, "Plans": [scan | {"Node Type": "Index Scan", "Plan Rows": 50}]}
    found = compare("q", top, other)
    assert not found.equal
    assert found.worst_ratio == pytest.approx(2.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tpcc", "shop", "series"])
def test_data_from_statistics_are_planned_like_their_source(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(None, "synthetic") as bench:
        compared, sizes = try_schema(bench, name, 1, details=False)
    assert "texts of the source found in the data: 0" in capsys.readouterr().out
    close = [each for each in compared if each.equal and each.worst_ratio <= FACTOR]
    assert len(close) >= 0.9 * len(compared)
    assert [relation for relation, before, after in sizes if abs(after / before - 1) > 0.05] == []
