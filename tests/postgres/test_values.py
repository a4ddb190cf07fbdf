"""Do two values of a setting mean the same? By PostgreSQL's own rules of units and rounding."""

import pytest

from pgassay.postgres.values import Setting, in_base_unit, same


def _setting(value: str, unit: str | None = None, kind: str = "integer") -> Setting:
    return Setting("some_setting", value, unit, kind, "configuration file", "sighup")


@pytest.mark.parametrize(
    ("typed", "unit", "number"),
    [
        ("1GB", "8kB", 131072), ("1GB", "4kB", 262144), ("16384", "8kB", 16384), ("64MB", "kB", 65536),
        ("1.5GB", "MB", 1536), ("90s", "s", 90), ("1.5min", "s", 90), ("2500us", "ms", 2.5), ("1d", "min", 1440),
        ("32MB", "B", 33554432), ("0x10", None, 16), ("-1", "8kB", -1),
    ],
)  # fmt: skip
def test_base_units(typed: str, unit: str | None, number: float) -> None:
    assert in_base_unit(typed, unit) == pytest.approx(number)


@pytest.mark.parametrize(("typed", "unit"), [("on", "8kB"), ("30s", "8kB"), ("8kB", "ms"), ("8kB", None), ("5x", "s")])
def test_other_kinds_are_no_quantity(typed: str, unit: str | None) -> None:
    assert in_base_unit(typed, unit) is None


def test_a_fraction_is_rounded_to_the_next_smaller_unit() -> None:
    assert in_base_unit("30.1GB", "kB") == 30822 * 1024, "30.1 GB is 30822.4 MB, which PostgreSQL rounds to whole MB"


@pytest.mark.parametrize(
    ("typed", "setting", "equal"),
    [
        ("64MB", _setting("8192", "8kB"), True),
        ("64MB", _setting("8193", "8kB"), False),
        ("12kB", _setting("2", "8kB"), True),
        ("true", _setting("on", None, "bool"), True),
        ("0", _setting("on", None, "bool"), False),
        ("perhaps", _setting("on", None, "bool"), False),
        ("2500us", _setting("2.5", "ms", "real"), True),
        ("0.1", _setting("0.2", None, "real"), False),
        ("yes", _setting("on", None, "enum"), True),
        ("REPLICA", _setting("replica", None, "enum"), True),
        ("on", _setting("pglz", None, "enum"), False),
        ("a, b", _setting("a, b", None, "string"), True),
        ("A", _setting("a", None, "string"), False),
        ("words", _setting("1", "s"), False),
    ],
)
def test_same(typed: str, setting: Setting, equal: bool) -> None:
    assert same(typed, setting) is equal
