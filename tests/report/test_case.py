"""What the answer is made of: names that are not told twice, and numbers of three digits."""

from math import inf

import pytest

from pgassay.analysis.numbers import rounded, tenths
from pgassay.report.answer import listed, short


@pytest.mark.parametrize(
    ("name", "beside", "text"),
    [
        ("ff=75", "ff=90", "75"),
        ("drive=csd, ff=75", "drive=csd, ff=90", "ff=75"),
        ("drive=csd, ff=75", "drive=ssd, ff=90", "drive=csd, ff=75"),
        ("a=1", "b=1", "a=1"),
        ("small", "large", "small"),
        ("ff=75 at clients=1", "ff=75 at clients=8", "75 at clients=1"),
    ],
)
def test_what_was_named_before_is_not_named_again(name: str, beside: str, text: str) -> None:
    assert short(name, after=beside) == text


def test_a_list_of_treatments_names_their_factor_once() -> None:
    assert listed(["ff=90", "ff=75", "ff=50"], "or") == "ff=90, 75 or 50"
    assert listed(["a=1", "b=2"]) == "a=1 and b=2"


@pytest.mark.parametrize(
    ("value", "text"),
    [(48.64, "48.6"), (0.0, "0"), (-26.83, "-26.8"), (1234567.0, "1,230,000"), (0.012345, "0.0123"), (99.96, "100"),
     (186.6, "187"), (inf, "∞")],
)  # fmt: skip
def test_numbers_have_three_significant_digits(value: float, text: str) -> None:
    assert rounded(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.04, "0.04"),
        (0.0, "0.0"),
        (1e-13, "0.0"),
        (7.84, "7.8"),
        (86.64, "86.6"),
        (99.96, "100"),
        (186.6, "187"),
        (1234.5, "1,230"),
    ],
)
def test_per_cents_have_a_decimal_and_from_a_hundred_on_three_digits(value: float, text: str) -> None:
    assert tenths(value) == text
