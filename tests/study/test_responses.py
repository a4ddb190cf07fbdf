"""What a response is called for short, everywhere where one is named."""

import pytest

from pgassay.study.responses import ALIASES, full_name


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("p99_ms", "latency_p99_ms"),
        ("p99", "latency_p99_ms"),
        ("cpu", "server_cpu_us_per_transaction"),
        ("cpu_per_transaction", "server_cpu_us_per_transaction"),
        ("WAL", "wal_bytes_per_transaction"),
        ("wal_per_transaction", "wal_bytes_per_transaction"),
        ("space", "database_bytes"),
        ("physical_bytes", "physical_bytes"),
        ("tps", "tps"),
    ],
)
def test_a_response_is_named_for_short(typed: str, name: str) -> None:
    assert full_name(typed) == name


def test_what_is_really_called_so_is_meant() -> None:
    assert full_name("cpu", ["cpu", "tps"]) == "cpu"
    assert full_name("p99_ms", ["p99_ms"]) == "p99_ms"


def test_no_short_name_is_that_of_another_response() -> None:
    assert not set(ALIASES) & set(ALIASES.values())
