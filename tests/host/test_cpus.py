"""Which CPUs a level of `host.cores` means, on machines with and without siblings."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.host import cpus
from pgassay.interfaces.hosting import parse_list, show_list
from tests.host.made import put

FOUR_CORES = [(0, 4), (1, 5), (2, 6), (3, 7)]


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("1", (0,)),
        ("2", (0, 1)),
        ("4", (0, 1, 2, 3)),
        ("5:apart", (0, 1, 2, 3, 4)),
        ("2:together", (0, 4)),
        ("3:together", (0, 1, 4)),
        ("8", tuple(range(8))),
        ("all", tuple(range(8))),
        ("0-1,6", (0, 1, 6)),
        ("cpu:3", (3,)),
    ],
)
def test_a_number_uses_siblings_last_unless_together(text: str, chosen: tuple[int, ...]) -> None:
    selection = cpus.parse_selection(text)
    assert selection is not None
    assert cpus.choose(selection, FOUR_CORES) == chosen
    assert cpus.parse_selection(str(selection)) == selection, "the canonical form means the same"


@pytest.mark.parametrize("text", ["", "0", "-1", "3-1", "two", "1,", "4:sideways", "cpu:", "1.5", "node:0"])
def test_anything_else_is_refused(text: str) -> None:
    assert cpus.parse_selection(text) is None


@given(st.sets(st.integers(0, 200), min_size=1))
def test_lists_are_read_as_they_are_shown(found: set[int]) -> None:
    assert set(parse_list(show_list(found))) == found


def test_cores_come_from_the_kernels_topology(tmp_path: Path) -> None:
    for cpu, siblings in ((0, "0,2"), (1, "1,3"), (2, "0,2"), (3, "1,3")):
        put(tmp_path, f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list", f"{siblings}\n")
    assert cpus.cores({0, 1, 2, 3}, tmp_path) == [(0, 2), (1, 3)]
    assert cpus.cores({1, 2, 3}, tmp_path) == [(1, 3), (2,)]
    assert cpus.cores({8, 9}, tmp_path) == [(8,), (9,)], "a kernel that does not tell has no siblings"
