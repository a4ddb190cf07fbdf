"""A row or a key that no page of this size can hold has a name of its own, whoever says it."""

import pytest

from pgassay.lab.outcomes import code_of, named


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("pgbench failed with status 1: ERROR:  row is too big: size 2424, maximum size 992", "row_too_large"),
        ('index row size 592 exceeds btree version 4 maximum 312 for index "i"', "key_too_large"),
        ("index row requires 9000 bytes, maximum size is 8191", "key_too_large"),
        ("pgbench failed with status 1: ERROR:  out of memory", "not_prepared"),
    ],
)
def test_codes(words: str, code: str) -> None:
    assert code_of(words, "not_prepared") == code


def test_a_loads_problems_are_renamed_one_by_one() -> None:
    row = "client 0 aborted: row is too big: size 3000, maximum size 2016"
    assert named({"aborted": row, "failed_transactions": "3 of 9"}) == {
        "row_too_large": row,
        "failed_transactions": "3 of 9",
    }
