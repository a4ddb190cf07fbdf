"""Numbers as a reader wants them."""

from math import inf, nan

import pytest

from pgassay.report import words
from pgassay.report.adoption import advice
from pgassay.report.hostfacts import host_rows
from pgassay.study.levels import Combination, Level
from pgassay.study.responses import Better, Response


@pytest.mark.parametrize(
    ("value", "shown"), [(1234.5, "1,234"), (123.45, "123.5"), (1.2345, "1.23"), (0.01234, "0.01234"), (None, "–"),
                         (nan, "–"), (inf, "–")],
)  # fmt: skip
def test_numbers(value: float | None, shown: str) -> None:
    assert words.number(value) == shown


def test_shares_and_bytes_by_their_unit() -> None:
    assert words.quantity(0.123, Response("x", "x", "share", Better.HIGHER)) == "12.3%"
    bytes_ = Response("x", "x", "bytes", Better.LOWER)
    assert words.quantity(52428800, bytes_) == "50.0 MB"
    assert words.quantity(10300, bytes_) == "10.1 kB"
    assert words.quantity(7312, bytes_) == "7,312"
    assert words.size(3 << 30) == "3.0 GB"


@pytest.mark.parametrize(("seconds", "shown"), [(9, "9 s"), (90, "1 min 30 s"), (600, "10 min"), (7260, "2 h 1 min")])
def test_durations(seconds: float, shown: str) -> None:
    assert words.duration(seconds) == shown


def test_advice_names_the_step_and_its_risk() -> None:
    levels = {
        "table.fillfactor": Level("75", "75"),
        "server.fsync": Level("off", "off"),
        "server.shared_buffers": Level("1GB", "1GB"),
        "server.work_mem": Level("8MB", "8MB"),
    }
    fill, fsync, buffers, memory = advice(Combination(levels))
    assert "VACUUM FULL" in fill
    assert "not crash-safe" in fsync
    assert "restart" in buffers
    assert "reload" in memory


def test_facts_become_rows() -> None:
    assert host_rows({"cpu": {"model": "x", "flags": ["a", "b"]}, "none": None, "disks": [{"name": "vda"}]}) == [
        ("cpu.model", "x"),
        ("cpu.flags", "a, b"),
        ("disks[0].name", "vda"),
    ]
