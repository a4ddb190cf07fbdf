"""A machine that gets slower or faster meanwhile is taken for no gain."""

from math import log

import pytest

from benchmarks.advise import Server, placebos, space_with
from benchmarks.advise_front import TwoServer, fronted
from pgassay.advise.space import Configuration
from pgassay.advise.walk import walk
from tests.advise import test_front_walk
from tests.advise.test_walk import task

SLOWER = log(0.7) / 100
"""In a hundred trials 30 % of the speed are lost, steadily."""


class Slowing(Server):
    """Nothing else is common to a batch."""

    def measure(self, configuration: Configuration, common: float = 0.0) -> float | None:
        """One trial."""
        return super().measure(configuration, 0.0)


@pytest.mark.parametrize("seed", [1, 2])
def test_on_a_machine_that_gets_slower_no_setting_without_effect_is_advised(seed: int) -> None:
    server = Slowing(space_with(10), 0.02, seed, drift=SLOWER)
    found = walk(task(server), server)
    assert found.confirmed
    assert found.recommended is not None
    assert placebos(server, found.recommended) == 0
    assert server.truth(found.recommended) > 0.6 * server.best()


def test_where_nothing_matters_a_machine_that_gets_faster_makes_no_advice() -> None:
    for seed in (1, 2):
        server = Slowing(space_with(8), 0.01, seed, sizes=(0.0, 0.0, 0.0, 0.0), drift=-SLOWER)
        assert not walk(task(server), server).confirmed


def test_of_several_objectives_no_point_has_a_setting_without_effect() -> None:
    server = TwoServer(space_with(6), 0.02, 1, drift=2 * SLOWER)
    found = walk(test_front_walk.task(server), server)
    assert fronted(server, [each.configuration for each in found.front], []).false == 0
