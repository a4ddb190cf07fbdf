"""Rows in COPY's binary format, read back by its own rules: lengths, NULLs, numbers, texts of several lengths."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.load import bulk as binary
from tests.load.samples import binary_fields

whole = st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=20)


def numeric(field: bytes) -> str:
    """A NUMERIC as PostgreSQL reads it."""
    count, weight, sign, scale = (int.from_bytes(field[place : place + 2], "big") for place in range(0, 8, 2))
    digits = [int.from_bytes(field[place : place + 2], "big") for place in range(8, 8 + 2 * count, 2)]
    units = sum(digit * 10_000 ** (weight - place) for place, digit in enumerate(digits))
    return f"{'-' if sign else ''}{units:.{scale}f}"


@given(whole)
def test_integers_and_nulls(values: list[int]) -> None:
    null = np.array([value % 3 == 0 for value in values])
    packed = binary.pack([binary.integers(np.array(values)), binary.integers(np.array(values), null)])
    rows = binary_fields(packed)
    assert [int.from_bytes(row[0] or b"", "big", signed=True) for row in rows] == values
    assert [row[1] is None for row in rows] == list(null)


@pytest.mark.parametrize(
    ("value", "scale", "said"),
    [(0, 2, "0.00"), (-1000, 2, "-10.00"), (30_000_000, 2, "300000.00"), (999_999, 2, "9999.99"), (2000, 4, "0.2000")],
)
def test_numerics(value: int, scale: int, said: str) -> None:
    (row,) = binary_fields(binary.pack([binary.numerics(np.array([value]), scale)]))
    assert numeric(row[0] or b"") == said


def test_texts_keep_their_lengths_among_others() -> None:
    random = np.random.default_rng(1)
    fields = [
        binary.random_texts(random, 500, 3, 9),
        binary.texts(("a", "bcd"), np.arange(500) % 2),
        binary.constant("OE", 500),
        binary.random_digits(random, 500, 4),
        binary.timestamps(np.full(500, 7)),
    ]
    rows = binary_fields(binary.pack(fields))
    assert {len(row[0] or b"") for row in rows} == set(range(3, 10))
    assert all((row[0] or b"").isalnum() for row in rows)
    assert [row[1] for row in rows[:2]] == [b"a", b"bcd"]
    assert {row[2] for row in rows} == {b"OE"}
    assert all((row[3] or b"").isdigit() for row in rows)
    assert {row[4] for row in rows} == {(7).to_bytes(8, "big")}
