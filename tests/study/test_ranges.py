"""Ranges of levels: doubling, adding, counting, rising and falling; what is none stays as it was."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.errors import UsageError
from pgassay.lab.catalogue import every_factor
from pgassay.study.document import Overrides, resolve
from pgassay.study.parsing import parse
from pgassay.study.units import expand, parse_memory


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("128kB..1MB*2", ["128kB", "256kB", "512kB", "1MB"]),
        ("8GB..1GB*2", ["8GB", "4GB", "2GB", "1GB"]),
        ("1GB..3GB*1.5", ["1GB", "1536MB", "2304MB"]),
        ("100MB..1GB*4", ["100MB", "400MB"]),
        ("1GB..3GB+1GB", ["1GB", "2GB", "3GB"]),
        ("1..8", ["1", "2", "3", "4", "5", "6", "7", "8"]),
        ("3..1", ["3", "2", "1"]),
        ("10..100+30", ["10", "40", "70", "100"]),
        ("1..16*2", ["1", "2", "4", "8", "16"]),
        ("0.1..0.3+0.1", ["0.1", "0.2", "0.3"]),
        ("1s..4min*4", ["1s", "4s", "16s", "64s"]),
        ("5..5", ["5"]),
    ],
)
def test_a_range_is_its_levels(text: str, levels: list[str]) -> None:
    assert expand(text) == levels


@pytest.mark.parametrize("text", ["1GB", "on", "a.sql", "../b.sql@3", "1...3", "directory:/a..b", "", "..", "a..b"])
def test_anything_else_is_one_level(text: str) -> None:
    assert expand(text) == [text]


@pytest.mark.parametrize(
    "text",
    ["1GB..2GB", "1GB..8GB*1", "1GB..8GB*0.5", "1..5+0", "0..8*2", "1..100000", "1GB..2GB+5", "1..3*2GB", "1s..1GB*2"],
)
def test_a_range_that_leads_nowhere_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="the range"):
        expand(text)


@given(st.integers(1, 1 << 20), st.integers(0, 12), st.integers(2, 4))
def test_doubling_meets_its_end_and_falls_as_it_rises(pages: int, times: int, factor: int) -> None:
    first, last = pages * 8, pages * 8 * factor**times
    rising = expand(f"{first}kB..{last}kB*{factor}")
    assert [parse_memory(each) for each in rising] == [first * 1024 * factor**step for step in range(times + 1)]
    assert expand(f"{last}kB..{first}kB*{factor}") == rising[::-1]


def test_studies_and_the_command_line_take_them() -> None:
    document = {
        "factors": {"server.shared_buffers": "64MB..16MB*2"},
        "covariates": {"load.clients": ["1..3", "8"]},
        "load": {"driver": "pgbench", "scale": 1},
        "design": {"baseline": {"server.shared_buffers": "16MB"}},
    }
    study = parse("ranges", document, every_factor())
    assert [each.typed for each in study.factors["server.shared_buffers"]] == ["64MB", "32MB", "16MB"]
    assert [each.typed for each in study.covariates["load.clients"]] == ["1", "2", "3", "8"]
    changed = resolve("ranges", document, Overrides(levels=["server.shared_buffers=1GB..4GB*2,16GB"]))
    study = parse("ranges", changed, every_factor())
    assert [each.typed for each in study.factors["server.shared_buffers"]] == ["1GB", "2GB", "4GB", "16GB"]
    assert study.design.baseline.name == "server.shared_buffers=1GB"
