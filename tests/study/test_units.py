"""PostgreSQL's quantities: what it takes, what it refuses, and that canonical forms agree exactly when meanings do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.errors import UsageError
from pgassay.study.units import (
    BYTES_PER_UNIT,
    MS_PER_UNIT,
    canonical,
    format_at_most,
    format_bytes,
    format_number,
    format_size,
    parse_boolean,
    parse_memory,
    parse_time_ms,
    parse_time_s,
    split_quantity,
)


@pytest.mark.parametrize(
    ("text", "size"),
    [("8kB", 8192), ("1.5GB", 1610612736), (" 64 MB ", 67108864), ("1TB", 1024**4), ("512B", 512), (".5kB", 512)],
)
def test_memory(text: str, size: int) -> None:
    assert parse_memory(text) == size


@pytest.mark.parametrize(
    ("text", "length_ms"),
    [("30s", 30000), ("1.5h", 5400000), ("500us", 0.5), ("250 ms", 250), ("2min", 120000), ("1d", 86400000)],
)
def test_time(text: str, length_ms: float) -> None:
    assert parse_time_ms(text) == pytest.approx(length_ms)
    assert parse_time_s(text) == pytest.approx(length_ms / 1000)


@pytest.mark.parametrize(("text", "near"), [("8KB", "kB"), ("8kb", "kB"), ("8mb", "MB"), ("1gb", "GB"), ("1tB", "TB")])
def test_a_wrong_letter_case_is_named(text: str, near: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_memory(text)
    assert caught.value.hint == f"units are case-sensitive: did you mean {near}?"
    with pytest.raises(UsageError):
        canonical(text)


def test_an_unknown_unit_lists_the_valid_ones() -> None:
    with pytest.raises(UsageError, match='invalid unit "parsec"') as caught:
        parse_time_ms("3parsec")
    assert caught.value.hint == "valid units are us, ms, s, min, h, d"


@pytest.mark.parametrize("text", ["", "kB", "eight kB", "8", "1,5GB", "8kB8", "--1kB", "1 k B"])
def test_what_is_no_amount_of_memory(text: str) -> None:
    with pytest.raises(UsageError):
        parse_memory(text)


@pytest.mark.parametrize("text", ["on", "ON", "true", "t", "tr", "yes", "y", "1", " on "])
def test_true(text: str) -> None:
    assert parse_boolean(text) is True


@pytest.mark.parametrize("text", ["off", "of", "OFF", "false", "f", "no", "n", "0"])
def test_false(text: str) -> None:
    assert parse_boolean(text) is False


@pytest.mark.parametrize("text", ["o", "", "maybe", "onn", "2", "tru e"])
def test_neither(text: str) -> None:
    with pytest.raises(UsageError, match="not a boolean"):
        parse_boolean(text)


@pytest.mark.parametrize(
    "same",
    [
        ("8kB", "8192B", "8 kB", "0.0078125MB"),
        ("1min", "60s", "60000ms", "60000000us"),
        ("on", "TRUE", "yes", "true"),
        ("1", "1.0", "0x1", "+1"),
        ("0.1", ".1", "1e-1"),
    ],
)
def test_one_meaning_has_one_canonical_form(same: tuple[str, ...]) -> None:
    assert len({canonical(each) for each in same}) == 1


def test_different_meanings_stay_apart() -> None:
    texts = ["8kB", "8192", "8ms", "on", "1", "pglz", '"$user", public', "8", "-1", "0"]
    assert len({canonical(each) for each in texts}) == len(texts)


def test_other_texts_are_left_alone() -> None:
    assert [canonical(each) for each in ("pglz", "5x", "a b", "C:\\x")] == ["pglz", "5x", "a b", "C:\\x"]


@given(st.integers(0, 2**20), st.sampled_from(list(BYTES_PER_UNIT)))
def test_canonical_memory_is_stable_and_means_the_same(number: int, unit: str) -> None:
    text = f"{number}{unit}"
    assert canonical(canonical(text)) == canonical(text)
    assert parse_memory(canonical(text)) == number * BYTES_PER_UNIT[unit]


@given(st.integers(0, 10**6), st.sampled_from(list(MS_PER_UNIT)))
def test_canonical_time_is_stable_and_means_the_same(number: int, unit: str) -> None:
    text = f"{number}{unit}"
    assert canonical(canonical(text)) == canonical(text)
    assert parse_time_ms(canonical(text)) == pytest.approx(number * MS_PER_UNIT[unit])


@given(st.integers(0, 2**50))
def test_formatted_bytes_parse_back_exactly(size: int) -> None:
    text = format_bytes(size)
    assert (parse_memory(text) if size else int(text)) == size


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0B"), (512, "512B"), (8192, "8kB"), (77566361600, "72.2GB"), (119112184852934, "108.3TB")],
)
def test_sizes_for_people(size: int, text: str) -> None:
    assert format_size(size) == text


@given(st.integers(0, 1 << 50))
def test_a_limit_is_named_by_what_is_within_it(limit: int) -> None:
    assert 0.9 * limit - 1 <= parse_memory(format_at_most(limit)) <= limit


def test_numbers_and_splitting() -> None:
    assert [format_number(each) for each in (1.0, 0.5, 1e15, -3.0)] == ["1", "0.5", "1000000000000000", "-3"]
    assert split_quantity("1.5 GB") == (1.5, "GB")
    assert split_quantity("0x1F") == (31.0, "")
    assert split_quantity("GB") is None
