"""Values made of a column's values choose about as many rows as they are to."""

import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.capture import scripts
from pgassay.capture.format import Column
from pgassay.capture.parameters import Role
from tests.capture.schemas import EMAIL, KEY, PLACED, SKEWED, STATUS, UNKNOWN

DRAWN = 64
ATTRS = Column(
    "attrs", "jsonb", null_share=0.0, n_distinct=4.0,
    common_values=('{"a": "x", "n": {"id": 1}}', '{"a": "y", "n": {"id": 1}}', '{"b": [1, 2]}', "3"),
    common_shares=(0.6, 0.1, 0.2, 0.1),
)  # fmt: skip
TAGS = Column(
    "tags", "text[]", null_share=0.0, n_distinct=3.0,
    common_values=("{}", '{chronic,"in \\"trial\\""}', "{rare,NULL}"), common_shares=(0.5, 0.4, 0.1),
)  # fmt: skip
NAMES = Column("name", "text", n_distinct=-1.0, histogram=("aab", "aac", "abd", "b_x", "b_y", "c%1", "ca2", "da"))


@pytest.mark.parametrize(
    ("column", "place", "wanted"),
    [
        (KEY, 0.9, "901"),
        (KEY, 0.9995, "1000"),
        (PLACED, 0.5, "2025-01-14 12:00:00+00"),
        (Column("d", "date", histogram=("2025-01-01", "2025-01-11")), 0.5, "2025-01-06"),
        (Column("n", "numeric(5,2)", histogram=("0.00", "10.00", "NaN")), 0.25, "2.50"),
        (
            Column("t", "timestamp", histogram=("0044-01-01 00:00:00.5", "infinity", "12000-01-01 00:00:00")),
            0.5,
            "0044-01-01 00:00:00",
        ),
        (Column("d", "date", histogram=("0044-03-15 BC", "infinity")), 0.5, None),
        (STATUS, 1.0, "it's: done"),
        (EMAIL, 0.4, "b@x"),
        (UNKNOWN, 0.5, None),
    ],
)
def test_a_share_of_a_column_lies_below_a_threshold(column: Column, place: float, wanted: str | None) -> None:
    assert scripts.quantile(column, place) == wanted


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_thresholds_are_in_the_columns_order(one: float, other: float) -> None:
    low, high = sorted((one, other))
    found = [scripts.quantile(SKEWED, place) for place in (low, high)]
    assert None not in found
    assert int(found[0] or 0) <= int(found[1] or 0)


def test_candidates_are_those_that_are_in_as_many_rows() -> None:
    shares = {"often": 0.5, "seldom": 0.01, "rare": 0.012}
    assert set(scripts.aimed(shares, 0.01, DRAWN, Random(1))) == {"seldom", "rare"}
    assert set(scripts.aimed(shares, 0.9, DRAWN, Random(1))) == {"often"}
    assert scripts.aimed(shares, None, 1000, Random(1)).count("often") > 900
    assert scripts.aimed({}, 0.5, DRAWN, Random(1)) == []


def test_elements_of_arrays_are_read_and_written() -> None:
    assert scripts.elements_of(TAGS.common_values[1]) == ["chronic", 'in "trial"']
    assert scripts.elements(TAGS, 0.1, "", 1, Random(1)) == ['{"rare"}']
    assert set(scripts.elements(TAGS, 0.4, "element", DRAWN, Random(1))) == {"chronic", 'in "trial"'}


@given(st.lists(st.text(min_size=1, alphabet=st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"))))
def test_an_array_that_is_written_holds_its_elements(values: list[str]) -> None:
    assert scripts.elements_of(scripts.array_text(values)) == values


def test_a_pattern_is_so_long_that_as_many_values_begin_so() -> None:
    assert set(scripts.patterns(NAMES, 0.4, "{}%", DRAWN, Random(1))) == {"a%", "b%", "c%", "d%"}
    assert {"aa%", "ab%"} < set(scripts.patterns(NAMES, 0.25, "{}%", DRAWN, Random(1)))
    assert "b_x%" in scripts.patterns(NAMES, 1e-6, "{}%", DRAWN, Random(1)), "further than the sample tells"
    assert "%c_1%" in scripts.patterns(NAMES, None, "%{}%", DRAWN, Random(1)), "a wildcard of the value is a letter"
    assert "^c.1" in scripts.patterns(NAMES, None, "^{}", DRAWN, Random(1))
    assert scripts.patterns(UNKNOWN, 0.1, "{}%", DRAWN, Random(1)) == []


def test_documents_are_contained_in_those_of_as_many_rows() -> None:
    found = scripts.members(ATTRS, 0.6, 1, (), Role.PART, False, DRAWN, Random(1))
    assert {json.dumps(json.loads(each)) for each in found[1]} == {'{"a": "x"}', '{"n": {"id": 1}}'}
    found = scripts.members(ATTRS, 0.2, 1, (), Role.PART, False, DRAWN, Random(1))
    assert {'{"b": [1]}', '{"b": [2]}'} <= set(found[1])


def test_a_member_has_the_keys_that_lead_to_it() -> None:
    found = scripts.members(ATTRS, 0.1, 2, (1,), Role.MEMBER, True, 4, Random(1))
    assert found == {1: ["a"] * 4, 2: ["y"] * 4}
    deep = scripts.members(ATTRS, 0.7, 3, (1, 2), Role.MEMBER, True, 2, Random(1))
    assert deep == {1: ["n"] * 2, 2: ["id"] * 2, 3: ["1"] * 2}
    assert scripts.members(ATTRS, None, 1, (1,), Role.KEY, False, 1, Random(1)) in ({1: ["a"]}, {1: ["n"]})
    assert scripts.members(UNKNOWN, None, 1, (1,), Role.KEY, False, 1, Random(1)) == {}


def test_words_are_those_of_as_many_values() -> None:
    note = Column("note", "text", common_values=("has Fever", "has cough, no fever"), common_shares=(0.7, 0.3))
    assert scripts.words(note, KEY) == pytest.approx({"has": 1.0, "fever": 1.0, "cough": 0.3})
