"""Values are drawn as the statistics say, and are written so that no reader of scripts misreads them."""

import re
from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.capture import scripts
from pgassay.capture.format import Column
from tests.capture.schemas import KEY, SKEWED, STATUS, UNKNOWN

ROWS = 1000.0


def meant(literal: str) -> str:
    """What PostgreSQL makes of the constant."""
    inside = literal.removeprefix("E'").removesuffix("'")
    return re.sub(r"\\(x..|u....|U.{8})", lambda found: chr(int(found[1][1:], 16)), inside)


@given(st.text(alphabet=st.characters(blacklist_categories=["Cs"], blacklist_characters="\0")))
def test_a_literal_means_its_value_and_holds_nothing_that_ends_it(value: str) -> None:
    written = scripts.literal(value)
    assert meant(written) == value
    assert not set(written[2:-1]) & set("':\n\r;") - {";"}


def test_each_value_comes_as_often_as_its_share_says() -> None:
    values = scripts.values_of(STATUS)
    assert values is not None
    assert Counter(values.sample(64, Random(1))) == {"open": 48, "it's: done": 16}


def test_a_histogram_shares_what_the_common_values_leave() -> None:
    values = scripts.values_of(SKEWED)
    assert values is not None
    shares = dict(zip(values.values, values.shares, strict=True))
    assert shares["7"] == pytest.approx(0.5)
    assert shares["60"] == pytest.approx(0.3 / 6)


def test_nothing_is_drawn_of_a_column_without_statistics() -> None:
    assert not scripts.values_of(UNKNOWN)
    assert not scripts.values_of(Column("b", "boolean", null_share=1.0))


def test_only_whole_numbers_close_together_are_drawn_between_the_bounds() -> None:
    sparse = replace(KEY, n_distinct=-0.01)
    assert scripts.dense_range(KEY, ROWS) == (1, 1001)
    assert scripts.dense_range(SKEWED, ROWS) == (1, 100)
    assert scripts.dense_range(sparse, ROWS) is None
    assert scripts.dense_range(STATUS, ROWS) is None


def test_an_even_key_is_one_range_and_a_skewed_one_has_buckets_and_common_values() -> None:
    assert scripts.integer_lines("p1", KEY) == ["\\set p1 random(1, 1001)"]
    buckets, chosen, uniform, common = scripts.integer_lines("p2", SKEWED)
    assert buckets == "\\set p2_b random(0, 4)"
    assert chosen.startswith("\\set p2 CASE WHEN :p2_b = 0 THEN random(1, 2) ")
    assert chosen.endswith("ELSE random(60, 100) END")
    assert uniform == "\\set p2_u random(1, 1000000)"
    assert common == "\\set p2 CASE WHEN :p2_u <= 500000 THEN 7 WHEN :p2_u <= 700000 THEN 8 ELSE :p2 END"


def test_a_new_key_is_above_all_others_and_fits_its_type() -> None:
    found = scripts.StatementValues()
    scripts.draw_fresh(1, KEY, found, "")
    full = Column("id", "smallint", histogram=("1", "32767"))
    scripts.draw_fresh(2, full, found, "")
    assert found.lines == ["\\set p1 random(1002, 1000001001)", "\\set p2 random(32767, 32767)"]
