"""The simulation of hosts: it keeps its bounds, and would see it if they were broken."""

from dataclasses import replace

import pytest

from benchmarks.validity.hosts import Cell, cells, row

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize("spread", ["even", "one fast", "one noisy"])
def test_intervals_hold_for_the_kind_of_host_at_every_look(spread: str) -> None:
    found = row(Cell(4, 12, spread, 3.0), 400, 3)
    assert not found.broken
    assert found.missed_independent > 0.1
    assert replace(found, missed=0.2).broken


def test_a_fast_host_gets_more_blocks_and_every_host_some() -> None:
    for cell in cells():
        counts = [cell.order.count(host) for host in range(cell.hosts)]
        assert min(counts) > 0
        assert max(counts) == (cell.blocks // 2 if cell.spread == "one fast" else counts[0])
